// SPDX-License-Identifier: Apache-2.0
// Four bytes a step: a capture of packets at full speed is 53 MB of data a second.
#include <array>

#include "packet_assembler.h"

namespace millrace::capture {
namespace {

constexpr uint16_t kPolynomial16 = 0xa001;  // x^16 + x^15 + x^2 + 1, mirrored
constexpr uint8_t kPolynomial5 = 0x14;      // x^5 + x^2 + 1, mirrored

using Tables = std::array<std::array<uint16_t, 256>, 4>;

constexpr Tables make_tables() {
  Tables tables{};
  for (unsigned value = 0; value < 256; ++value) {
    unsigned crc = value;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ kPolynomial16 : crc >> 1;
    tables[0][value] = static_cast<uint16_t>(crc);
  }
  for (size_t step = 1; step < tables.size(); ++step) {
    for (size_t value = 0; value < 256; ++value) {
      const uint16_t before = tables[step - 1][value];
      tables[step][value] = static_cast<uint16_t>(before >> 8 ^ tables[0][before & 0xff]);
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

uint16_t usb_crc16(const uint8_t* data, size_t size) {
  unsigned crc = 0xffff;
  for (; size >= 4; size -= 4, data += 4) {
    const unsigned low = crc ^ (data[0] | static_cast<unsigned>(data[1]) << 8);
    crc = static_cast<unsigned>(kTables[3][low & 0xff] ^ kTables[2][low >> 8] ^
                                kTables[1][data[2]] ^ kTables[0][data[3]]);
  }
  for (; size != 0; --size, ++data) crc = crc >> 8 ^ kTables[0][(crc ^ *data) & 0xff];
  return static_cast<uint16_t>(crc);
}

bool token_is_good(uint16_t bits) {
  unsigned crc = 0x1f;
  for (unsigned i = 0; i < 11; ++i) {
    crc = ((crc ^ bits >> i) & 1) != 0 ? crc >> 1 ^ kPolynomial5 : crc >> 1;
  }
  return (crc ^ 0x1f) == unsigned{bits} >> 11;
}

}  // namespace millrace::capture
