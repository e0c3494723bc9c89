// SPDX-License-Identifier: Apache-2.0
// Loads at any alignment in the byte order that a file has.
#pragma once

#include <cstdint>

#include "millrace/link/bytes.h"

namespace millrace::capture {

struct ByteOrder {
  bool is_big = false;

  uint16_t u16(const uint8_t* p) const {
    const uint16_t v = link::load_le16(p);
    return is_big ? __builtin_bswap16(v) : v;
  }
  uint32_t u32(const uint8_t* p) const {
    const uint32_t v = link::load_le32(p);
    return is_big ? __builtin_bswap32(v) : v;
  }
  uint64_t u64(const uint8_t* p) const {
    const uint64_t v = link::load_le64(p);
    return is_big ? __builtin_bswap64(v) : v;
  }
};

inline constexpr ByteOrder kLittle{false};
inline constexpr ByteOrder kBig{true};

}  // namespace millrace::capture
