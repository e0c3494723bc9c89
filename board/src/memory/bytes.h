// SPDX-License-Identifier: Apache-2.0
// Little-endian access to 1 to 4 bytes of a memory.
#pragma once

#include <cstdint>

namespace millrace::board {

inline uint32_t load_le(const uint8_t* p, unsigned size) {
  switch (size) {
    case 4:
      return uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
    case 2:
      return uint32_t{p[0]} | uint32_t{p[1]} << 8;
    case 1:
      return p[0];
    default:  // a piece of an unaligned word
      return uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16;
  }
}

inline void store_le(uint8_t* p, unsigned size, uint32_t value) {
  p[0] = static_cast<uint8_t>(value);
  if (size == 1) return;
  p[1] = static_cast<uint8_t>(value >> 8);
  if (size == 2) return;
  p[2] = static_cast<uint8_t>(value >> 16);
  if (size == 3) return;
  p[3] = static_cast<uint8_t>(value >> 24);
}

}  // namespace millrace::board
