// SPDX-License-Identifier: Apache-2.0
#include "ip/packet.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace millrace::board {
namespace {

constexpr size_t kArpBytes = 28;
constexpr uint8_t kIcmpEchoRequest = 8, kIcmpEchoReply = 0;
constexpr uint8_t kTimeToLive = 64;

void append(Bytes* out, std::span<const uint8_t> bytes) {
  out->insert(out->end(), bytes.begin(), bytes.end());
}

}  // namespace

std::optional<Ipv4Address> parse_ipv4(std::string_view text) {
  Ipv4Address address = 0;
  for (int i = 0; i < 4; ++i) {
    const size_t end = i < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos || end == 0 || end > 3) return std::nullopt;
    unsigned value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || value > 255) return std::nullopt;
    address = address << 8 | value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return address;
}

std::string format_ipv4(Ipv4Address a) {
  return fmt::format("{}.{}.{}.{}", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
}

uint16_t checksum_of(std::span<const uint8_t> bytes) {
  return link::internet_checksum(link::internet_sum(0, bytes.data(), bytes.size()));
}

uint16_t udp_checksum(Ipv4Address from, Ipv4Address to, std::span<const uint8_t> datagram) {
  Bytes pseudo;
  put_be32(&pseudo, from);
  put_be32(&pseudo, to);
  put_be16(&pseudo, kProtocolUdp);
  put_be16(&pseudo, static_cast<uint32_t>(datagram.size()));
  append(&pseudo, datagram);
  return checksum_of(pseudo);
}

Bytes make_frame(const MacAddress& to, const MacAddress& from, uint16_t type,
                 std::span<const uint8_t> payload) {
  Bytes frame;
  append(&frame, to);
  append(&frame, from);
  put_be16(&frame, type);
  append(&frame, payload);
  return frame;
}

Bytes make_arp(const Arp& arp) {
  Bytes bytes;
  put_be16(&bytes, 1);  // Ethernet
  put_be16(&bytes, kEtherIpv4);
  put_be16(&bytes, 0x0604);
  put_be16(&bytes, arp.is_request ? 1 : 2);
  append(&bytes, arp.sender_mac);
  put_be32(&bytes, arp.sender);
  append(&bytes, arp.target_mac);
  put_be32(&bytes, arp.target);
  return bytes;
}

std::optional<Arp> parse_arp(std::span<const uint8_t> b) {
  if (b.size() < kArpBytes) return std::nullopt;
  const uint16_t operation = load_be16(&b[6]);
  if (load_be16(&b[0]) != 1 || load_be16(&b[2]) != kEtherIpv4 || load_be16(&b[4]) != 0x0604 ||
      (operation != 1 && operation != 2)) {
    return std::nullopt;
  }
  Arp arp;
  arp.is_request = operation == 1;
  std::copy_n(&b[8], 6, arp.sender_mac.begin());
  arp.sender = load_be32(&b[14]);
  std::copy_n(&b[18], 6, arp.target_mac.begin());
  arp.target = load_be32(&b[24]);
  return arp;
}

Ipv4Status parse_ipv4_packet(std::span<const uint8_t> b, Ipv4Packet* packet) {
  if (b.size() < kIpv4HeaderBytes) return Ipv4Status::malformed;
  const size_t header = size_t{b[0] & 15u} * 4, total = load_be16(&b[2]);
  if (b[0] >> 4 != 4 || header < kIpv4HeaderBytes || total < header || total > b.size()) {
    return Ipv4Status::malformed;
  }
  if (checksum_of(b.first(header)) != 0) return Ipv4Status::bad_checksum;
  packet->is_fragment = (load_be16(&b[6]) & 0x3FFF) != 0;  // MF, or an offset
  packet->protocol = b[9];
  packet->source = load_be32(&b[12]);
  packet->destination = load_be32(&b[16]);
  packet->payload = b.subspan(header, total - header);
  return Ipv4Status::ok;
}

Bytes make_ipv4(Ipv4Address from, Ipv4Address to, uint8_t protocol, uint16_t id,
                std::span<const uint8_t> payload) {
  Bytes bytes;
  put_be16(&bytes, 0x4500);
  put_be16(&bytes, static_cast<uint32_t>(kIpv4HeaderBytes + payload.size()));
  put_be16(&bytes, id);
  put_be16(&bytes, 0x4000);  // do not fragment
  put_be16(&bytes, static_cast<uint32_t>(kTimeToLive << 8 | protocol));
  put_be16(&bytes, 0);
  put_be32(&bytes, from);
  put_be32(&bytes, to);
  link::store_be16(&bytes[10], checksum_of(bytes));
  append(&bytes, payload);
  return bytes;
}

Bytes make_udp(const UdpEndpoint& from, const UdpEndpoint& to, std::span<const uint8_t> payload) {
  Bytes bytes;
  put_be16(&bytes, from.port);
  put_be16(&bytes, to.port);
  put_be16(&bytes, static_cast<uint32_t>(kUdpHeaderBytes + payload.size()));
  put_be16(&bytes, 0);
  append(&bytes, payload);
  const uint16_t sum = udp_checksum(from.address, to.address, bytes);
  link::store_be16(&bytes[6], sum == 0 ? 0xFFFF : sum);  // 0 would say that there is none
  return bytes;
}

Bytes make_echo(bool is_reply, uint16_t id, uint16_t sequence, std::span<const uint8_t> payload) {
  Bytes bytes = {is_reply ? kIcmpEchoReply : kIcmpEchoRequest, 0, 0, 0};
  put_be16(&bytes, id);
  put_be16(&bytes, sequence);
  append(&bytes, payload);
  link::store_be16(&bytes[2], checksum_of(bytes));
  return bytes;
}

}  // namespace millrace::board
