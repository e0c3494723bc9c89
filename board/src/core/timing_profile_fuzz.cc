// SPDX-License-Identifier: Apache-2.0
// Any bytes as a timing profile: a sentence or an accepted profile, never a half-applied one.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/timing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millrace::board::Timing;
  Timing timing;
  const std::string error = millrace::board::apply_profile(
      std::string_view(reinterpret_cast<const char*>(data), size), &timing);
  const Timing defaults;
  for (const auto& parameter : millrace::board::timing_parameters()) {
    const uint32_t value = timing.*(parameter.member);
    if (!error.empty() && value != defaults.*(parameter.member)) std::abort();
    if (value < parameter.minimum || value > millrace::board::kMaxTimingValue) std::abort();
  }
  if (error.find('\n') != std::string::npos) std::abort();
  return 0;
}
