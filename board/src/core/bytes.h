// SPDX-License-Identifier: Apache-2.0
// Little-endian access to 1 to 4 bytes of a memory; compilers make one instruction of each.
#pragma once

#include <cstdint>

namespace millrace::board {

inline uint32_t load_le16(const uint8_t* p) { return uint32_t{p[0]} | uint32_t{p[1]} << 8; }
inline uint32_t load_le32(const uint8_t* p) {
  return load_le16(p) | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24;
}
inline void store_le16(uint8_t* p, uint32_t value) {
  p[0] = static_cast<uint8_t>(value);
  p[1] = static_cast<uint8_t>(value >> 8);
}
inline void store_le32(uint8_t* p, uint32_t value) {
  p[0] = static_cast<uint8_t>(value);
  p[1] = static_cast<uint8_t>(value >> 8);
  p[2] = static_cast<uint8_t>(value >> 16);
  p[3] = static_cast<uint8_t>(value >> 24);
}

// `size` 1 to 4; 3 is a piece of an unaligned word.
inline uint32_t load_le(const uint8_t* p, unsigned size) {
  switch (size) {
    case 4:
      return load_le32(p);
    case 2:
      return load_le16(p);
    case 1:
      return p[0];
    default:
      return load_le16(p) | uint32_t{p[2]} << 16;
  }
}

inline void store_le(uint8_t* p, unsigned size, uint32_t value) {
  if (size == 4) return store_le32(p, value);
  p[0] = static_cast<uint8_t>(value);
  if (size >= 2) p[1] = static_cast<uint8_t>(value >> 8);
  if (size == 3) p[2] = static_cast<uint8_t>(value >> 16);
}

}  // namespace millrace::board
