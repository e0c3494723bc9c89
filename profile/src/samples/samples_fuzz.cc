// SPDX-License-Identifier: Apache-2.0
// The first byte chooses the format, the rest is the file: samples, or one sentence; and what was
// read from any format is written as a sample file that reads the same.
#include <cstdlib>

#include "millrace/profile/samples.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::profile;
  if (size == 0) return 0;
  ReadOptions options;
  options.format = static_cast<SampleFormat>(data[0] % 10);
  options.accept_partial = (data[0] & 0x80) != 0;
  SampleSet set;
  const Failure failure = parse_samples("fuzz", {data + 1, size - 1}, options, &set);
  if (failure) {
    if (failure->message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (set.samples.empty()) return 0;
  SampleSet again;
  if (parse_samples("again", sample_file(set), {}, &again)) std::abort();
  if (again.samples.size() != set.samples.size()) std::abort();
  for (size_t i = 0; i < set.samples.size(); ++i) {
    if (again.samples[i].pc != set.samples[i].pc ||
        again.samples[i].weight != set.samples[i].weight) {
      std::abort();
    }
  }
  return 0;
}
