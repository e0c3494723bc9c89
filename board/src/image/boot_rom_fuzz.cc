// SPDX-License-Identifier: Apache-2.0
// Any bytes as boot header: the first 32 are the start of the configuration block, the next 64
// stand at the image vector table, the rest at 0x60002000.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "millrace/board/boot_rom.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::board;
  Image image;
  image.path = "fuzz";
  const auto add = [&](uint32_t address, size_t from, size_t count) {
    if (from >= size) return;
    const uint8_t* const first = data + from;
    image.segments.push_back({address, {first, first + std::min(count, size - from)}});
  };
  add(0x60000000, 0, 32);
  add(0x60001000, 32, 64);
  add(0x60002000, 96, 0x1000);
  const BootPlan plan = plan_boot(image);
  if (plan.error.empty() != (plan.start != StartKind::none)) std::abort();
  if (plan.error.find('\n') != std::string::npos || (plan.pc & 1) != 0) std::abort();
  for (const std::string& note : plan.notes) {
    if (note.empty() || note.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
