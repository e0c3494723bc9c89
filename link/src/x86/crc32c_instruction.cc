// SPDX-License-Identifier: Apache-2.0
// SSE4.2 has CRC-32C.
#include <nmmintrin.h>

#include "crc32c_lanes.h"

namespace millrace::link {
namespace {

struct Sse42 {
  using Register = uint64_t;
  static Register step(Register crc, uint64_t data) { return _mm_crc32_u64(crc, data); }
  static Register step(Register crc, uint8_t data) {
    return _mm_crc32_u8(static_cast<uint32_t>(crc), data);
  }
};

}  // namespace

uint32_t crc32c_by_instruction(const uint8_t* data, size_t size, uint32_t crc) {
  return Crc32cLanes<Sse42>::run(data, size, crc);
}

}  // namespace millrace::link
