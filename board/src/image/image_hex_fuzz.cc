// SPDX-License-Identifier: Apache-2.0
// Any text as an Intel HEX file: an image that keeps its promises, or one sentence.
#include <cstdlib>
#include <string>

#include "image/hex_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::board;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Image image;
  const std::string error = parse_hex("fuzz", text, &image);
  if (error.find('\n') != std::string::npos) std::abort();
  if (!error.empty()) return 0;
  if (!is_hex(text) || image.segments.empty()) std::abort();
  uint64_t end = 0;
  for (const Segment& segment : image.segments) {
    if (segment.bytes.empty() || (segment.address <= end && end != 0)) std::abort();
    end = uint64_t{segment.address} + segment.bytes.size();
  }
  if (end > uint64_t{1} << 32) std::abort();
  return 0;
}
