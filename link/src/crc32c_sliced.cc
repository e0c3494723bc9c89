// SPDX-License-Identifier: Apache-2.0
// Slicing-by-8 (Kounavis and Berry, 2005): eight tables give the effect of eight bytes at once, so
// that a step is two loads of data, eight of tables and no chain from byte to byte.

#include "millrace/link/bytes.h"
#include "millrace/link/crc32c.h"

namespace millrace::link {
namespace {

struct Tables {
  uint32_t entry[8][256];
};

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1)));
    tables.entry[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (int k = 1; k < 8; ++k) {
      const uint32_t before = tables.entry[k - 1][i];
      tables.entry[k][i] = (before >> 8) ^ tables.entry[0][before & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32c_sliced(const uint8_t* data, size_t size, uint32_t crc) {
  const auto& t = kTables.entry;
  crc = ~crc;
  while (size >= 8) {
    const uint32_t a = load_le32(data) ^ crc;
    const uint32_t b = load_le32(data + 4);
    crc = t[7][a & 255] ^ t[6][a >> 8 & 255] ^ t[5][a >> 16 & 255] ^ t[4][a >> 24] ^ t[3][b & 255] ^
          t[2][b >> 8 & 255] ^ t[1][b >> 16 & 255] ^ t[0][b >> 24];
    data += 8;
    size -= 8;
  }
  for (; size > 0; --size) crc = (crc >> 8) ^ t[0][(crc ^ *data++) & 255];
  return ~crc;
}

}  // namespace millrace::link
