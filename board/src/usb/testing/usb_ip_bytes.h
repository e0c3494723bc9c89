// SPDX-License-Identifier: Apache-2.0
// Messages of a USB/IP client, and what a server answers taken apart.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::board::testing {

inline void put_be(std::vector<uint8_t>* out, uint32_t value, unsigned size) {
  for (unsigned i = size; i-- > 0;) out->push_back(static_cast<uint8_t>(value >> 8 * i));
}

inline uint32_t get_be(std::span<const uint8_t> bytes, size_t at, unsigned size = 4) {
  uint32_t value = 0;
  for (unsigned i = 0; i < size; ++i) value = value << 8 | bytes[at + i];
  return value;
}

inline std::vector<uint8_t> ip_devlist() { return {0x01, 0x11, 0x80, 0x05, 0, 0, 0, 0}; }

inline std::vector<uint8_t> ip_import(std::string_view bus_id) {
  std::vector<uint8_t> bytes = {0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0};
  for (const char c : bus_id) bytes.push_back(static_cast<uint8_t>(c));
  bytes.resize(40);
  return bytes;
}

struct IpSubmit {
  uint32_t sequence = 1;
  uint32_t device = 0x00010001;
  bool in = false;
  uint32_t endpoint = 0;
  uint32_t flags = 0;
  uint32_t length = 0;  // of IN; that of OUT is data.size()
  uint32_t packets = 0xFFFFFFFF;
  std::array<uint8_t, 8> setup{};
  std::vector<uint8_t> data;

  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out;
    const uint32_t size = in ? length : static_cast<uint32_t>(data.size());
    for (const uint32_t v :
         {1u, sequence, device, in ? 1u : 0u, endpoint, flags, size, 0u, packets, 0u}) {
      put_be(&out, v, 4);
    }
    out.insert(out.end(), setup.begin(), setup.end());
    out.insert(out.end(), data.begin(), data.end());
    return out;
  }
};

inline std::vector<uint8_t> ip_unlink(uint32_t sequence, uint32_t victim) {
  std::vector<uint8_t> out;
  for (const uint32_t v : {2u, sequence, 0x00010001u, 0u, 0u, victim}) put_be(&out, v, 4);
  out.resize(48);
  return out;
}

}  // namespace millrace::board::testing
