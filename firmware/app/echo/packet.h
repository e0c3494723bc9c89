// SPDX-License-Identifier: Apache-2.0
// Where things are in Ethernet, ARP, IPv4, ICMP and UDP headers (RFC 894, 826, 791, 792, 768).
// Addresses and ports are numbers here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/internet.h"

namespace millrace::firmware {

using link::load_be16;
using link::load_be32;
using link::store_be16;
using link::store_be32;

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
