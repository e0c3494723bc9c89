// SPDX-License-Identifier: Apache-2.0
// Where things are in Ethernet, ARP, IPv4, ICMP and UDP headers (RFC 894, 826, 791, 792, 768), and
// the bytes of the network, most significant first. Addresses and ports are numbers here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::firmware {

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

constexpr uint32_t ipv4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

inline constexpr size_t kMacBytes = 6;
inline constexpr size_t kEthernetBytes = 14;
inline constexpr size_t kMaxFrameBytes = 1514;
inline constexpr uint16_t kTypeIpv4 = 0x0800, kTypeArp = 0x0806;

inline constexpr size_t kArpBytes = 28;

inline constexpr size_t kIpBytes = 20;  // without options
inline constexpr uint8_t kProtocolIcmp = 1, kProtocolUdp = 17;
inline constexpr size_t kUdpBytes = 8;
inline constexpr size_t kIcmpBytes = 8;
// Of the payload of a UDP datagram in a frame that this stack builds.
inline constexpr size_t kUdpPayload = kEthernetBytes + kIpBytes + kUdpBytes;

// Who this end is, and who the host is to be.
struct NetworkConfig {
  uint8_t mac[kMacBytes] = {};
  uint32_t address = ipv4(192, 168, 7, 1);
  uint32_t mask = ipv4(255, 255, 255, 0);
  uint32_t host_address = ipv4(192, 168, 7, 2);  // what DHCP gives
  const char* name = "millrace";                 // NAME.local; one label of at most 63 bytes
};

}  // namespace millrace::firmware
