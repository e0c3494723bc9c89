// SPDX-License-Identifier: Apache-2.0
// ARMv8.1 has CRC-32C, and most of ARMv8.0 do.
#include <arm_acle.h>

#include "crc32c_lanes.h"

namespace millrace::link {
namespace {

struct Armv8Crc {
  using Register = uint32_t;
  static Register step(Register crc, uint64_t data) { return __crc32cd(crc, data); }
  static Register step(Register crc, uint8_t data) { return __crc32cb(crc, data); }
};

}  // namespace

uint32_t crc32c_by_instruction(const uint8_t* data, size_t size, uint32_t crc) {
  return Crc32cLanes<Armv8Crc>::run(data, size, crc);
}

}  // namespace millrace::link
