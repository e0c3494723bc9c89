// SPDX-License-Identifier: Apache-2.0
// A frame port in memory, and packets made the plain way: for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "firmware/port/frame_port.h"
#include "millrace/link/internet.h"

namespace millrace::firmware {

using Bytes = std::vector<uint8_t>;

struct FakeFramePort final : FramePort {
  bool take_link_up() override {
    const bool up = link_up;
    link_up = false;
    return up;
  }
  bool receive(Frame* out) override {
    if (incoming.empty()) return false;
    current = incoming.front();
    incoming.pop_front();
    *out = {current.data(), current.size()};
    return true;
  }
  bool can_send() override { return sent.size() < room; }
  uint8_t* reserve(size_t max_bytes) override {
    if (sent.size() >= room) return nullptr;
    buffer.assign(max_bytes, 0xee);  // exact, so that a sanitizer sees a byte too many
    return buffer.data();
  }
  void commit(size_t bytes) override {
    sent.emplace_back(buffer.begin(), buffer.begin() + static_cast<long>(bytes));
  }
  void flush() override { ++flushes; }
  const FramePortCounters& counters() const override { return count; }

  bool link_up = false;
  size_t room = SIZE_MAX;
  unsigned flushes = 0;
  std::deque<Bytes> incoming;
  std::vector<Bytes> sent;
  FramePortCounters count;
  Bytes current, buffer;
};

inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Bytes be16(size_t v) { return {static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)}; }
inline Bytes be32(uint32_t v) { return be16(v >> 16) + be16(v & 0xffff); }
inline Bytes text(const std::string& s) { return Bytes(s.begin(), s.end()); }

inline uint16_t plain_checksum(const Bytes& data) {
  return link::internet_checksum(link::internet_sum(0, data.data(), data.size()));
}

inline const Bytes kDeviceMac = {0x06, 0xe9, 0xe5, 0x12, 0x34, 0x56};
inline const Bytes kHostMac = {0x0e, 0xe9, 0xe5, 0x12, 0x34, 0x56};
inline constexpr uint32_t kDeviceIp = 0xc0a80701, kHostIp = 0xc0a80702;  // 192.168.7.1 and .2

inline Bytes ethernet(const Bytes& to, const Bytes& from, uint16_t type, const Bytes& payload) {
  return to + from + be16(type) + payload;
}
inline Bytes ip_packet(uint32_t from, uint32_t to, uint8_t protocol, const Bytes& payload,
                       uint16_t id = 0, uint16_t fragment = 0, const Bytes& options = {}) {
  Bytes header = Bytes{static_cast<uint8_t>(0x45 + options.size() / 4), 0} +
                 be16(20 + options.size() + payload.size()) + be16(id) + be16(fragment) +
                 Bytes{64, protocol, 0, 0} + be32(from) + be32(to) + options;
  const uint16_t sum = plain_checksum(header);
  header[10] = static_cast<uint8_t>(sum >> 8);
  header[11] = static_cast<uint8_t>(sum);
  return header + payload;
}
inline Bytes udp_datagram(uint32_t from, uint32_t to, uint16_t from_port, uint16_t to_port,
                          const Bytes& payload) {
  Bytes datagram = be16(from_port) + be16(to_port) + be16(8 + payload.size()) + be16(0) + payload;
  const Bytes pseudo = be32(from) + be32(to) + Bytes{0, 17} + be16(datagram.size());
  uint16_t sum = plain_checksum(pseudo + datagram);
  if (sum == 0) sum = 0xffff;
  datagram[6] = static_cast<uint8_t>(sum >> 8);
  datagram[7] = static_cast<uint8_t>(sum);
  return datagram;
}
// From the host to the device.
inline Bytes udp_frame(uint16_t from_port, uint16_t to_port, const Bytes& payload,
                       uint32_t to = kDeviceIp, uint32_t from = kHostIp) {
  return ethernet(kDeviceMac, kHostMac, 0x0800,
                  ip_packet(from, to, 17, udp_datagram(from, to, from_port, to_port, payload)));
}

}  // namespace millrace::firmware
