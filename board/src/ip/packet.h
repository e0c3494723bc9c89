// SPDX-License-Identifier: Apache-2.0
// Ethernet (RFC 894), ARP (RFC 826), IPv4 (RFC 791), ICMP echo (RFC 792), UDP (RFC 768) by bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "millrace/board/net_host.h"
#include "millrace/link/internet.h"

namespace millrace::board {

using Bytes = std::vector<uint8_t>;

inline constexpr uint16_t kEtherIpv4 = 0x0800, kEtherArp = 0x0806;
inline constexpr uint8_t kProtocolIcmp = 1, kProtocolUdp = 17;
inline constexpr size_t kIpv4HeaderBytes = 20, kUdpHeaderBytes = 8, kIcmpHeaderBytes = 8;
inline constexpr MacAddress kBroadcastMac = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
inline constexpr Ipv4Address kBroadcastIp = 0xFFFFFFFF;

using link::load_be16;
using link::load_be32;

inline void put_be16(Bytes* out, uint32_t value) {
  out->push_back(static_cast<uint8_t>(value >> 8));
  out->push_back(static_cast<uint8_t>(value));
}
inline void put_be32(Bytes* out, uint32_t value) {
  put_be16(out, value >> 16);
  put_be16(out, value);
}

uint16_t checksum_of(std::span<const uint8_t> bytes);
uint16_t udp_checksum(Ipv4Address from, Ipv4Address to, std::span<const uint8_t> datagram);

Bytes make_frame(const MacAddress& to, const MacAddress& from, uint16_t type,
                 std::span<const uint8_t> payload);

struct Arp {
  bool is_request = true;
  MacAddress sender_mac{}, target_mac{};
  Ipv4Address sender = 0, target = 0;
};
Bytes make_arp(const Arp& arp);
std::optional<Arp> parse_arp(std::span<const uint8_t> bytes);

struct Ipv4Packet {
  Ipv4Address source = 0, destination = 0;
  uint8_t protocol = 0;
  bool is_fragment = false;
  std::span<const uint8_t> payload;
};
enum class Ipv4Status : uint8_t { ok, malformed, bad_checksum };
// Bytes behind the total length are padding.
Ipv4Status parse_ipv4_packet(std::span<const uint8_t> bytes, Ipv4Packet* packet);
Bytes make_ipv4(Ipv4Address from, Ipv4Address to, uint8_t protocol, uint16_t id,
                std::span<const uint8_t> payload);

Bytes make_udp(const UdpEndpoint& from, const UdpEndpoint& to, std::span<const uint8_t> payload);
Bytes make_echo(bool is_reply, uint16_t id, uint16_t sequence, std::span<const uint8_t> payload);

}  // namespace millrace::board
