// SPDX-License-Identifier: Apache-2.0
// The check sums of packets (USB 2.0 8.3.5), as they stand in the last byte or bytes.
#pragma once

#include <cstdint>
#include <span>

namespace millrace::board {

// The 16 bits behind the PID of a token: 11 bits of address and endpoint, or frame number, and the
// CRC5 above them. x^5 + x^2 + 1, ones before, complemented behind, least significant bit first.
constexpr uint16_t usb_token_bits(uint32_t eleven_bits) {
  uint32_t crc = 0x1F;
  for (unsigned i = 0; i < 11; ++i) {
    const uint32_t bit = (eleven_bits >> i ^ crc) & 1;
    crc = crc >> 1 ^ (bit != 0 ? 0x14u : 0u);  // 00101 reversed
  }
  return static_cast<uint16_t>((eleven_bits & 0x7FF) | (crc ^ 0x1F) << 11);
}

// x^16 + x^15 + x^2 + 1, the same way; sent low byte first.
constexpr uint16_t usb_crc16(std::span<const uint8_t> data) {
  uint32_t crc = 0xFFFF;
  for (const uint8_t byte : data) {
    crc ^= byte;
    for (unsigned i = 0; i < 8; ++i) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xA001u : 0u);
  }
  return static_cast<uint16_t>(crc ^ 0xFFFF);
}

}  // namespace millrace::board
