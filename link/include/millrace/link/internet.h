// SPDX-License-Identifier: Apache-2.0
// Numbers as the Internet protocols have them, most significant byte first, and their checksum in
// its plain form, for who has time: the device's stack has a faster one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

inline uint16_t load_be16(const uint8_t* p) {
  return static_cast<uint16_t>((static_cast<uint32_t>(p[0]) << 8) | p[1]);
}
inline uint32_t load_be32(const uint8_t* p) {
  return (static_cast<uint32_t>(p[0]) << 24) | (static_cast<uint32_t>(p[1]) << 16) |
         (static_cast<uint32_t>(p[2]) << 8) | p[3];
}
inline void store_be16(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 8);
  p[1] = static_cast<uint8_t>(v);
}
inline void store_be32(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 24);
  p[1] = static_cast<uint8_t>(v >> 16);
  p[2] = static_cast<uint8_t>(v >> 8);
  p[3] = static_cast<uint8_t>(v);
}

// RFC 1071: 16-bit words added in ones' complement; an odd last byte is a high one. Begin with 0
// and give every part but the last an even size; the checksum is the complement of the last sum,
// and 0 for bytes that hold their own.
inline uint32_t internet_sum(uint32_t sum, const uint8_t* data, size_t size) {
  for (size_t i = 0; i < size; i += 2) {
    sum += static_cast<uint32_t>(data[i]) << 8 | (i + 1 < size ? data[i + 1] : 0u);
    sum = (sum & 0xffffu) + (sum >> 16);
  }
  return sum;
}
inline uint16_t internet_checksum(uint32_t sum) { return static_cast<uint16_t>(~sum); }

}  // namespace millrace::link
