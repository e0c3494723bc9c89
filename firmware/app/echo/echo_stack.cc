// SPDX-License-Identifier: Apache-2.0
// The way of an echo is short: headers are checked where the frame lies, the datagram is copied
// once, into the transfer that leaves, and its checksum is kept, since neither the swap of ports
// nor that of addresses changes it (RFC 768: a sum knows no order).
#include "firmware/app/echo/echo_stack.h"

#include <string.h>

#include "firmware/app/echo/checksum.h"
#include "firmware/app/echo/dhcp_server.h"
#include "firmware/app/echo/mdns_responder.h"

namespace millrace::firmware {
namespace {

using Counter = link::EchoCounter;

constexpr uint8_t kTimeToLive = 64;
constexpr uint8_t kMdnsTimeToLive = 255;  // RFC 6762, 11
constexpr uint8_t kIcmpEchoReply = 0, kIcmpUnreachable = 3, kIcmpEchoRequest = 8;
constexpr uint8_t kPortUnreachable = 3;
constexpr uint32_t kEverybody = 0xffffffff;
// "Any payload" for a UDP answer whose size is not known when room is asked for.
constexpr size_t kSmallAnswer = 512;
static_assert(kSmallAnswer >= kDhcpReplyBytes && kSmallAnswer >= kMdnsMaxBytes);
static_assert(kSmallAnswer >= link::kEchoCountersReplyBytes);

bool same_mac(const uint8_t* a, const uint8_t* b) { return memcmp(a, b, kMacBytes) == 0; }
bool is_broadcast(const uint8_t* mac) {
  return (mac[0] & mac[1] & mac[2] & mac[3] & mac[4] & mac[5]) == 0xff;
}
const uint8_t* source_mac(const uint8_t* frame) { return frame + kMacBytes; }
uint32_t source_address(const uint8_t* frame) { return load_be32(frame + kEthernetBytes + 12); }

}  // namespace

EchoStack::EchoStack(FramePort& port, const NetworkConfig& config, Load load)
    : port_(port), config_(config), load_(load) {}

bool EchoStack::poll(unsigned max_frames) {
  if (port_.take_link_up()) announce();
  unsigned taken = 0;
  Frame frame;
  while (taken < max_frames && port_.can_send() && port_.receive(&frame)) {
    on_frame(frame.data, frame.size);
    ++taken;
  }
  port_.flush();
  return taken > 0;
}

uint8_t* EchoStack::reserve(size_t bytes) {
  uint8_t* out = port_.reserve(bytes);
  if (out == nullptr) count(Counter::dropped_no_room);
  return out;
}

void EchoStack::announce() {
  uint8_t* out = reserve(kUdpPayload + kMdnsMaxBytes);
  if (out == nullptr) return;
  const size_t size = write_mdns_announcement(config_, out + kUdpPayload);
  send_udp(out, kMdnsMac, kMdnsGroup, kMdnsPort, kMdnsPort, size);
}

void EchoStack::on_frame(const uint8_t* frame, size_t size) {
  count(Counter::frames_received);
  if (size < kEthernetBytes) return count(Counter::dropped_short);
  if (!same_mac(frame, config_.mac) && !is_broadcast(frame) && !same_mac(frame, kMdnsMac)) {
    return count(Counter::dropped_other_station);
  }
  const uint16_t type = load_be16(frame + 12);
  if (type == kTypeIpv4) return on_ipv4(frame, size);
  if (type == kTypeArp) return on_arp(frame, size);
  count(Counter::dropped_ethertype);
}

// RFC 826: Ethernet and IPv4, a request for our address.
void EchoStack::on_arp(const uint8_t* frame, size_t size) {
  constexpr uint8_t kRequest[8] = {0, 1, 8, 0, 6, 4, 0, 1};
  if (size < kEthernetBytes + kArpBytes) return count(Counter::dropped_short);
  const uint8_t* arp = frame + kEthernetBytes;
  if (memcmp(arp, kRequest, sizeof(kRequest)) != 0) return count(Counter::dropped_protocol);
  if (load_be32(arp + 24) != config_.address) return count(Counter::dropped_other_address);
  count(Counter::arp_requests);
  uint8_t* out = reserve(kEthernetBytes + kArpBytes);
  if (out == nullptr) return;
  memcpy(out, arp + 8, kMacBytes);
  memcpy(out + kMacBytes, config_.mac, kMacBytes);
  store_be16(out + 12, kTypeArp);
  uint8_t* answer = out + kEthernetBytes;
  memcpy(answer, kRequest, sizeof(kRequest));
  answer[7] = 2;
  memcpy(answer + 8, config_.mac, kMacBytes);
  store_be32(answer + 14, config_.address);
  memcpy(answer + 18, arp + 8, kMacBytes + 4);
  port_.commit(kEthernetBytes + kArpBytes);
  count(Counter::frames_sent);
}

void EchoStack::on_ipv4(const uint8_t* frame, size_t size) {
  const uint8_t* ip = frame + kEthernetBytes;
  const size_t room = size - kEthernetBytes;
  if (room < kIpBytes) return count(Counter::dropped_short);
  const size_t header = size_t{ip[0] & 0xfu} * 4;
  const size_t total = load_be16(ip + 2);
  // What is behind `total` is padding of the link.
  if (ip[0] >> 4 != 4 || header < kIpBytes || total < header || total > room ||
      total > kMaxFrameBytes - kEthernetBytes) {
    return count(Counter::dropped_ip_header);
  }
  if (checksum_add(0, ip, header) != 0xffff) return count(Counter::dropped_ip_checksum);
  const uint32_t destination = load_be32(ip + 16);
  const bool to_us = destination == config_.address && !is_broadcast(frame);
  const bool to_all = destination == kEverybody || destination == (config_.address | ~config_.mask);
  if (!to_us && !to_all && destination != kMdnsGroup) return count(Counter::dropped_other_address);
  // More fragments, or not the first.
  if ((load_be16(ip + 6) & 0x3fff) != 0) return count(Counter::dropped_fragment);

  if (ip[9] == kProtocolUdp) return on_udp(frame, ip + header, total - header, to_us);
  if (ip[9] == kProtocolIcmp && to_us) return on_icmp(frame, ip + header, total - header);
  count(Counter::dropped_protocol);
}

void EchoStack::on_icmp(const uint8_t* frame, const uint8_t* message, size_t size) {
  if (size < kIcmpBytes || checksum_add(0, message, size) != 0xffff) {
    return count(Counter::dropped_icmp);
  }
  if (message[0] != kIcmpEchoRequest || message[1] != 0) return count(Counter::dropped_icmp);
  count(Counter::icmp_requests);
  uint8_t* out = reserve(kEthernetBytes + kIpBytes + size);
  if (out == nullptr) return;
  uint8_t* answer = out + kEthernetBytes + kIpBytes;
  memcpy(answer, message, size);
  answer[0] = kIcmpEchoReply;
  answer[2] = answer[3] = 0;
  store_checksum(answer + 2, checksum_add(0, answer, size));
  write_headers(out, source_mac(frame), source_address(frame), kProtocolIcmp, size);
  port_.commit(kEthernetBytes + kIpBytes + size);
  count(Counter::frames_sent);
  count(Counter::icmp_replies);
}

void EchoStack::on_udp(const uint8_t* frame, const uint8_t* datagram, size_t size, bool to_us) {
  if (size < kUdpBytes) return count(Counter::dropped_udp_length);
  const size_t length = load_be16(datagram + 4);
  if (length < kUdpBytes || length > size) return count(Counter::dropped_udp_length);
  const bool has_checksum = (datagram[6] | datagram[7]) != 0;
  if (has_checksum) {
    const uint8_t* addresses = frame + kEthernetBytes + 12;
    const uint32_t sum = checksum_add(udp_pseudo_sum(addresses, length), datagram, length);
    if (sum != 0xffff) return count(Counter::dropped_udp_checksum);
  }
  const uint16_t port = load_be16(datagram + 2);
  if (port == kMdnsPort) return on_mdns(frame, datagram, length);
  if (port == kDhcpServerPort) return on_dhcp(datagram + kUdpBytes, length - kUdpBytes);
  if (!to_us) return count(Counter::dropped_closed_port);
  on_udp_to_us(frame, datagram, length);
}

void EchoStack::on_udp_to_us(const uint8_t* frame, const uint8_t* datagram, size_t size) {
  // Whom an answer could not reach, or who would answer it in turn.
  const uint32_t source = source_address(frame);
  const bool unicast = source != 0 && source >> 28 < 0xe;
  const uint16_t source_port = load_be16(datagram);
  if (!unicast || source == config_.address || source_port == 0 || source_port == link::kEchoPort) {
    return count(Counter::dropped_source);
  }
  switch (load_be16(datagram + 2)) {
    case link::kEchoPort:
    case link::kEchoSamplePort:
      return echo(frame, datagram, size);
    case link::kEchoCountersPort:
      return send_counters(frame, datagram, size);
    case link::kSamplerPort:
      if (sampler_ != nullptr) return answer_sampler(frame, datagram, size);
      [[fallthrough]];
    default:
      count(Counter::dropped_closed_port);
      return send_unreachable(frame);
  }
}

void EchoStack::echo(const uint8_t* frame, const uint8_t* datagram, size_t size) {
  count(Counter::echo_requests);
  if (load_ != nullptr) {
    counters_[Counter::load_result] = load_(datagram + kUdpBytes, size - kUdpBytes);
    count(Counter::load_runs);
  }
  uint8_t* out = reserve(kEthernetBytes + kIpBytes + size);
  if (out == nullptr) return;
  uint8_t* answer = out + kEthernetBytes + kIpBytes;
  memcpy(answer, datagram, size);
  memcpy(answer, datagram + 2, 2);
  memcpy(answer + 2, datagram, 2);
  store_be16(answer + 4, static_cast<uint32_t>(size));
  write_headers(out, source_mac(frame), source_address(frame), kProtocolUdp, size);
  port_.commit(kEthernetBytes + kIpBytes + size);
  count(Counter::frames_sent);
  count(Counter::echo_replies);
}

void EchoStack::send_counters(const uint8_t* frame, const uint8_t* datagram, size_t size) {
  uint32_t tag;
  if (!link::decode_counters_request(datagram + kUdpBytes, size - kUdpBytes, &tag)) {
    return count(Counter::dropped_udp_length);
  }
  count(Counter::counter_requests);
  uint8_t* out = reserve(kUdpPayload + link::kEchoCountersReplyBytes);
  if (out == nullptr) return;
  link::encode_counters_reply(tag, counters(), out + kUdpPayload);
  send_udp(out, source_mac(frame), source_address(frame), link::kEchoCountersPort,
           load_be16(datagram), link::kEchoCountersReplyBytes);
}

void EchoStack::answer_sampler(const uint8_t* frame, const uint8_t* datagram, size_t size) {
  // Before the request is acted upon: what cannot be answered must not happen.
  uint8_t* out = reserve(kUdpPayload + link::kSamplerReplyBytes);
  if (out == nullptr) return;
  const size_t bytes = sampler_->answer(datagram + kUdpBytes, size - kUdpBytes, out + kUdpPayload,
                                        link::kSamplerReplyBytes);
  if (bytes == 0) return count(Counter::dropped_udp_length);
  send_udp(out, source_mac(frame), source_address(frame), link::kSamplerPort, load_be16(datagram),
           bytes);
}

// RFC 792: the header of what could not be delivered, and 8 bytes.
void EchoStack::send_unreachable(const uint8_t* frame) {
  const uint8_t* ip = frame + kEthernetBytes;
  const size_t quoted = size_t{ip[0] & 0xfu} * 4 + 8;
  const size_t size = kIcmpBytes + quoted;
  uint8_t* out = reserve(kEthernetBytes + kIpBytes + size);
  if (out == nullptr) return;
  uint8_t* message = out + kEthernetBytes + kIpBytes;
  memset(message, 0, kIcmpBytes);
  message[0] = kIcmpUnreachable;
  message[1] = kPortUnreachable;
  memcpy(message + kIcmpBytes, ip, quoted);
  store_checksum(message + 2, checksum_add(0, message, size));
  write_headers(out, source_mac(frame), source_address(frame), kProtocolIcmp, size);
  port_.commit(kEthernetBytes + kIpBytes + size);
  count(Counter::frames_sent);
  count(Counter::unreachable_sent);
}

void EchoStack::on_dhcp(const uint8_t* payload, size_t size) {
  count(Counter::dhcp_requests);
  uint8_t* out = reserve(kUdpPayload + kDhcpReplyBytes);
  if (out == nullptr) return;
  const DhcpReply reply = answer_dhcp(config_, payload, size, out + kUdpPayload);
  if (reply.size == 0) return;
  send_udp(out, reply.mac, reply.destination, kDhcpServerPort, kDhcpClientPort, reply.size);
  count(Counter::dhcp_replies);
}

void EchoStack::on_mdns(const uint8_t* frame, const uint8_t* datagram, size_t size) {
  count(Counter::mdns_queries);
  uint8_t* out = reserve(kUdpPayload + kMdnsMaxBytes);
  if (out == nullptr) return;
  const uint16_t source_port = load_be16(datagram);
  const MdnsReply reply =
      answer_mdns(config_, datagram + kUdpBytes, size - kUdpBytes, source_port, out + kUdpPayload);
  if (reply.size == 0) return;
  if (reply.unicast) {
    send_udp(out, source_mac(frame), source_address(frame), kMdnsPort, source_port, reply.size);
  } else {
    send_udp(out, kMdnsMac, kMdnsGroup, kMdnsPort, kMdnsPort, reply.size);
  }
  count(Counter::mdns_replies);
}

// Ethernet and IPv4 in front of `payload` bytes.
void EchoStack::write_headers(uint8_t* out, const uint8_t* mac, uint32_t destination,
                              uint8_t protocol, size_t payload) {
  memcpy(out, mac, kMacBytes);
  memcpy(out + kMacBytes, config_.mac, kMacBytes);
  store_be16(out + 12, kTypeIpv4);
  uint8_t* ip = out + kEthernetBytes;
  ip[0] = 0x45;
  ip[1] = 0;
  store_be16(ip + 2, static_cast<uint32_t>(kIpBytes + payload));
  store_be16(ip + 4, next_id_++);
  store_be16(ip + 6, 0);
  ip[8] = destination == kMdnsGroup ? kMdnsTimeToLive : kTimeToLive;
  ip[9] = protocol;
  ip[10] = ip[11] = 0;
  store_be32(ip + 12, config_.address);
  store_be32(ip + 16, destination);
  store_checksum(ip + 10, checksum_add(0, ip, kIpBytes));
}

// The payload stands at out + kUdpPayload.
void EchoStack::send_udp(uint8_t* out, const uint8_t* mac, uint32_t destination,
                         uint16_t source_port, uint16_t destination_port, size_t payload) {
  const size_t size = kUdpBytes + payload;
  uint8_t* udp = out + kEthernetBytes + kIpBytes;
  store_be16(udp, source_port);
  store_be16(udp + 2, destination_port);
  store_be16(udp + 4, static_cast<uint32_t>(size));
  udp[6] = udp[7] = 0;
  write_headers(out, mac, destination, kProtocolUdp, size);
  const uint8_t* addresses = out + kEthernetBytes + 12;
  uint32_t sum = checksum_add(udp_pseudo_sum(addresses, size), udp, size);
  if (sum == 0xffff) sum = 0;  // 0 would say that there is none
  store_checksum(udp + 6, sum);
  port_.commit(kUdpPayload + payload);
  count(Counter::frames_sent);
}

link::EchoCounters EchoStack::counters() const {
  link::EchoCounters all = counters_;
  const FramePortCounters& port = port_.counters();
  all[Counter::rx_transfers] = port.rx_transfers;
  all[Counter::rx_bad_transfers] = port.rx_bad_transfers;
  all[Counter::rx_failed_transfers] = port.rx_failed_transfers;
  all[Counter::rx_missing_transfers] = port.rx_missing_transfers;
  all[Counter::rx_frames_max] = port.rx_frames_max;
  all[Counter::rx_buffers] = port.rx_buffers;
  all[Counter::rx_buffers_low] = port.rx_buffers_low;
  all[Counter::tx_transfers] = port.tx_transfers;
  all[Counter::tx_failed_transfers] = port.tx_failed_transfers;
  all[Counter::tx_frames_max] = port.tx_frames_max;
  all[Counter::tx_buffers] = port.tx_buffers;
  all[Counter::tx_buffers_low] = port.tx_buffers_low;
  all[Counter::tx_waits] = port.tx_waits;
  all[Counter::link_ups] = port.link_ups;
  return all;
}

}  // namespace millrace::firmware
