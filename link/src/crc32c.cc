// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/crc32c.h"

namespace millrace::link {
namespace {

// Only control messages pass through here (at most 252 bytes, a few a second), so the table is
// one of 16 entries that costs 64 bytes of flash, not one of 256.
constexpr uint32_t kNibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

}  // namespace

uint32_t crc32c(const uint8_t* data, size_t size, uint32_t crc) {
  crc = ~crc;
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    crc = (crc >> 4) ^ kNibble[crc & 15];
    crc = (crc >> 4) ^ kNibble[crc & 15];
  }
  return ~crc;
}

}  // namespace millrace::link
