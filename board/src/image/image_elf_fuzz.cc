// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ELF file: an image that keeps its promises, or one sentence.
#include <cstdlib>
#include <string>

#include "image/elf_image.h"
#include "millrace/board/boot_rom.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::board;
  Image image;
  const std::string error = parse_elf("fuzz", {data, size}, &image);
  if (error.find('\n') != std::string::npos) std::abort();
  if (!error.empty()) return 0;
  uint64_t end = 0;
  for (const Segment& segment : image.segments) {
    if (segment.bytes.empty() || segment.address < end) std::abort();
    end = uint64_t{segment.address} + segment.bytes.size();
  }
  if (image.segments.empty() || end > uint64_t{1} << 32) std::abort();
  for (size_t i = 1; i < image.symbols.size(); ++i) {
    if (image.symbols[i].address < image.symbols[i - 1].address) std::abort();
  }
  const BootPlan plan = plan_boot(image);
  if (plan.error.empty() != (plan.start != StartKind::none)) std::abort();
  return 0;
}
