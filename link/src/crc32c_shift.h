// SPDX-License-Identifier: Apache-2.0
// The CRC register after a fixed number of zero bytes: what joins the CRCs of adjacent blocks that
// were computed side by side.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

struct Crc32cShift {
  uint32_t entry[4][256];
  uint32_t operator()(uint32_t crc) const {
    return entry[0][crc & 255] ^ entry[1][crc >> 8 & 255] ^ entry[2][crc >> 16 & 255] ^
           entry[3][crc >> 24];
  }
};

// Linear in the register: the images of its 32 bits decide. Each zero bit is one step.
constexpr Crc32cShift make_crc32c_shift(size_t zero_bytes) {
  // image[i]: bit i after `zero_bytes`. One byte first, then squared and multiplied.
  uint32_t result[32] = {};
  uint32_t power[32] = {};
  for (int i = 0; i < 32; ++i) {
    uint32_t crc = uint32_t{1} << i;
    result[i] = crc;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1)));
    power[i] = crc;
  }
  for (size_t n = zero_bytes; n > 0; n >>= 1) {
    uint32_t next[32] = {};
    for (int i = 0; (n & 1) != 0 && i < 32; ++i) {
      uint32_t sum = 0;
      for (int k = 0; k < 32; ++k) sum ^= power[k] & (0u - (result[i] >> k & 1));
      next[i] = sum;
    }
    for (int i = 0; (n & 1) != 0 && i < 32; ++i) result[i] = next[i];
    for (int i = 0; i < 32; ++i) {
      uint32_t sum = 0;
      for (int k = 0; k < 32; ++k) sum ^= power[k] & (0u - (power[i] >> k & 1));
      next[i] = sum;
    }
    for (int i = 0; i < 32; ++i) power[i] = next[i];
  }
  Crc32cShift shift{};
  for (int byte = 0; byte < 4; ++byte) {
    for (uint32_t value = 0; value < 256; ++value) {
      uint32_t sum = 0;
      for (int k = 0; k < 8; ++k) sum ^= result[8 * byte + k] & (0u - (value >> k & 1));
      shift.entry[byte][value] = sum;
    }
  }
  return shift;
}

}  // namespace millrace::link
