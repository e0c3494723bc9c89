// SPDX-License-Identifier: Apache-2.0
// Table-driven CRC for processors without an instruction for it, made for the Cortex-M7 with its
// tables in DTCM. Slicing-by-8 (Kounavis and Berry, 2005) takes 8 look-ups for 8 bytes and 2.9
// cycles a byte there. Here 32 bits take three look-ups of 11, 11 and 10 bits (20 KB of tables),
// and two halves of a block are computed side by side, so that one waits for no load of the
// other: 1.9 cycles (firmware/ports/rt1062/programs/link_cycles.cc on the virtual board).
#include "crc32c_shift.h"
#include "millrace/link/bytes.h"
#include "millrace/link/crc32c.h"

namespace millrace::link {
namespace {

template <size_t kSize>
struct Table {
  uint32_t entry[kSize];
};

// entry[v]: the register after 32 bits of zeros when it held v << shift before.
template <size_t kSize>
constexpr Table<kSize> make_table(int shift) {
  Table<kSize> table{};
  for (uint32_t v = 0; v < kSize; ++v) {
    uint32_t crc = v << shift;
    for (int bit = 0; bit < 32; ++bit) crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1)));
    table.entry[v] = crc;
  }
  return table;
}

constexpr Table<2048> kLow = make_table<2048>(0);
constexpr Table<2048> kMiddle = make_table<2048>(11);
constexpr Table<1024> kHigh = make_table<1024>(22);

constexpr size_t kHalf = 512;
constexpr Crc32cShift kShiftHalf = make_crc32c_shift(kHalf);

inline uint32_t step(uint32_t x, const uint32_t* low, const uint32_t* middle,
                     const uint32_t* high) {
  return low[x & 2047] ^ middle[(x >> 11) & 2047] ^ high[x >> 22];
}

}  // namespace

uint32_t crc32c_wide(const uint8_t* data, size_t size, uint32_t crc) {
  const uint32_t* low = kLow.entry;
  const uint32_t* middle = kMiddle.entry;
  const uint32_t* high = kHigh.entry;
  crc = ~crc;
  for (; size >= 2 * kHalf; size -= 2 * kHalf) {
    uint32_t second = 0;
    for (const uint8_t* end = data + kHalf; data != end; data += 8) {
      crc = step(crc ^ load_le32(data), low, middle, high);
      second = step(second ^ load_le32(data + kHalf), low, middle, high);
      crc = step(crc ^ load_le32(data + 4), low, middle, high);
      second = step(second ^ load_le32(data + kHalf + 4), low, middle, high);
    }
    crc = kShiftHalf(crc) ^ second;
    data += kHalf;
  }
  for (; size >= 4; size -= 4, data += 4) {
    crc = step(crc ^ load_le32(data), low, middle, high);
  }
  return crc32c(data, size, ~crc);
}

}  // namespace millrace::link
