// SPDX-License-Identifier: Apache-2.0
// Writes a pcap of what the echo device's network stack answers: echo_packets_driver FILE
//
// Each request (firmware/app/echo/fake_frame_port.h) is followed by its answer.
#include <cstdio>
#include <fstream>
#include <string>

#include "firmware/app/echo/echo_stack.h"
#include "firmware/app/echo/fake_frame_port.h"
#include "firmware/app/echo/mdns_responder.h"
#include "millrace/link/bytes.h"
#include "millrace/link/echo_counters.h"

namespace {

using namespace millrace::firmware;
namespace link = millrace::link;

class Pcap {
 public:
  explicit Pcap(const std::string& path) : file_(path, std::ios::binary) {
    // Microseconds, version 2.4, link type 1: Ethernet.
    for (uint32_t v : {0xa1b2c3d4u, 4u << 16 | 2u, 0u, 0u, 65535u, 1u}) word(v);
  }
  void frame(const Bytes& bytes) {
    for (uint32_t v : {0u, number_++, static_cast<uint32_t>(bytes.size()),
                       static_cast<uint32_t>(bytes.size())}) {
      word(v);
    }
    file_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
  }
  bool good() { return file_.flush().good(); }

 private:
  void word(uint32_t value) {
    uint8_t bytes[4];
    link::store_le32(bytes, value);
    file_.write(reinterpret_cast<const char*>(bytes), sizeof bytes);
  }
  std::ofstream file_;
  uint32_t number_ = 0;
};

Bytes name(std::initializer_list<std::string> labels) {
  Bytes out;
  for (const std::string& label : labels) {
    out = out + Bytes{static_cast<uint8_t>(label.size())} + text(label);
  }
  return out + Bytes{0};
}

Bytes dns_query(uint16_t id, const Bytes& asked, uint16_t type) {
  return be16(id) + be16(0) + be16(1) + Bytes(6) + asked + be16(type) + be16(1);
}

Bytes dhcp(const Bytes& options) {
  return Bytes{1, 1, 6, 0, 1, 2, 3, 4} + Bytes(20) + kHostMac + Bytes(10) + Bytes(192) +
         be32(0x63825363) + options + Bytes{255};
}

Bytes broadcast(const Bytes& message) {
  return ethernet(Bytes(6, 0xff), kHostMac, 0x0800,
                  ip_packet(0, 0xffffffff, 17, udp_datagram(0, 0xffffffff, 68, 67, message)));
}

Bytes to_group(const Bytes& query) {
  return ethernet(
      Bytes(kMdnsMac, kMdnsMac + 6), kHostMac, 0x0800,
      ip_packet(kHostIp, kMdnsGroup, 17, udp_datagram(kHostIp, kMdnsGroup, 5353, 5353, query)));
}

std::vector<Bytes> requests() {
  const Bytes own = name({"millrace", "local"});
  const Bytes reverse = name({"1", "7", "168", "192", "in-addr", "arpa"});
  uint8_t counters[link::kEchoCountersRequestBytes];
  link::encode_counters_request(1, counters);
  Bytes ping = Bytes{8, 0, 0, 0, 0x12, 0x34, 0, 1} + Bytes(56, 0xa5);
  const uint16_t sum = plain_checksum(ping);
  ping[2] = static_cast<uint8_t>(sum >> 8);
  ping[3] = static_cast<uint8_t>(sum);
  return {ethernet(Bytes(6, 0xff), kHostMac, 0x0806,
                   Bytes{0, 1, 8, 0, 6, 4, 0, 1} + kHostMac + be32(kHostIp) + Bytes(6) +
                       be32(kDeviceIp)),
          broadcast(dhcp({53, 1, 1})),
          broadcast(dhcp({53, 1, 3, 50, 4, 192, 168, 7, 2, 54, 4, 192, 168, 7, 1})),
          broadcast(dhcp({53, 1, 3, 50, 4, 10, 0, 0, 9})),
          ethernet(kDeviceMac, kHostMac, 0x0800, ip_packet(kHostIp, kDeviceIp, 1, ping)),
          udp_frame(50000, 7, {}),
          udp_frame(50000, 7, Bytes(31, 1)),
          udp_frame(50000, 4242, Bytes(1472, 2)),
          udp_frame(50000, 9, Bytes(32, 3)),
          udp_frame(50000, link::kEchoCountersPort, Bytes(counters, counters + sizeof counters)),
          to_group(dns_query(0, own, 1)),
          to_group(dns_query(0, own, 28)),
          to_group(dns_query(0, reverse, 12)),
          udp_frame(40000, 5353, dns_query(0x1234, own, 1))};
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  NetworkConfig config;
  std::memcpy(config.mac, kDeviceMac.data(), kMacBytes);
  FakeFramePort port;
  EchoStack stack(port, config);
  Pcap pcap(words[1]);
  port.link_up = true;
  stack.poll();
  pcap.frame(port.sent.at(0));  // the announcement
  for (const Bytes& request : requests()) {
    port.sent.clear();
    stack.on_frame(request.data(), request.size());
    pcap.frame(request);
    for (const Bytes& answer : port.sent) pcap.frame(answer);
  }
  return pcap.good() ? 0 : 1;
}
