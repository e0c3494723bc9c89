// SPDX-License-Identifier: Apache-2.0
// A small IPv4 host on the virtual board's network interface, in the board's time: ARP, ICMP echo,
// UDP, a DHCP client. For tests and benchmarks that must repeat to the nanosecond; for anything
// else there is a TAP and a real kernel.
//
//   NetHost host(board->connect_usb(options, &error)->ethernet());
//   host.set_address(*parse_ipv4("192.168.7.2"), 24);
//   host.set_on_udp([&](const UdpArrival& a) { ... a.ns ... });
//   host.at(1'000'000'000, [&] { host.send_udp({device, 7}, 40000, payload); });
//   board->run_until_ns(2'000'000'000);
//
// Everything is called from within Board::run_until(), or between two calls of it; then the present
// time is that of the bus, EthernetPort::ns(). Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/board/ethernet_port.h"

namespace millrace::board {

using Ipv4Address = uint32_t;  // 192.168.7.1 is 0xC0A80701

std::optional<Ipv4Address> parse_ipv4(std::string_view text);  // four decimal numbers
std::string format_ipv4(Ipv4Address address);

struct UdpEndpoint {
  Ipv4Address address = 0;
  uint16_t port = 0;
  friend bool operator==(const UdpEndpoint&, const UdpEndpoint&) = default;
};

struct UdpArrival {
  uint64_t ns = 0;  // when the USB transfer that held it was complete at the driver
  UdpEndpoint source, destination;
  std::span<const uint8_t> payload;  // valid during the call
};

struct EchoArrival {
  uint64_t ns = 0;
  Ipv4Address source = 0;
  uint16_t id = 0, sequence = 0;
  std::span<const uint8_t> payload;
};

struct DhcpLease {
  Ipv4Address address = 0, server = 0;
  unsigned prefix = 24;
  std::optional<Ipv4Address> router;
  uint32_t seconds = 0;
};

struct NetHostCounts {
  uint64_t frames_in = 0, frames_out = 0;
  uint64_t not_for_us = 0;     // another address, or a protocol that is not here (IPv6, ...)
  uint64_t malformed = 0;      // cut short, wrong lengths
  uint64_t bad_checksums = 0;  // of IPv4, ICMP or UDP
  uint64_t fragments = 0;      // not put together
  uint64_t unresolved = 0;     // datagrams dropped because nobody answered ARP
  uint64_t refused = 0;        // frames that the interface did not take
  uint64_t udp_in = 0, udp_out = 0, echoes_in = 0, echoes_out = 0;
};

class NetHost {
 public:
  static constexpr size_t kMaxUdpPayload = 1472;  // of a frame: no fragments are made
  static constexpr size_t kMaxTimed = 1'000'000;  // calls that at() may hold

  // Becomes the client of `port`, which outlives this.
  explicit NetHost(EthernetPort& port);
  ~NetHost();
  NetHost(const NetHost&) = delete;
  NetHost& operator=(const NetHost&) = delete;

  // Instead of what DHCP gave. REQUIRES: prefix <= 30.
  void set_address(Ipv4Address address, unsigned prefix);
  // Asks for an address as soon as there is a carrier, again after 4, 8, 16, 32, 64, 64 ... s
  // without an answer (RFC 2131 4.1, without its random part), and renews it in time.
  void start_dhcp();
  std::optional<Ipv4Address> address() const;  // nothing yet, or lost with the lease
  std::optional<DhcpLease> lease() const;
  bool has_carrier() const;

  void set_on_udp(std::function<void(const UdpArrival&)> on_udp);     // to any port of ours
  void set_on_echo(std::function<void(const EchoArrival&)> on_echo);  // replies
  void set_on_changed(std::function<void()> on_changed);              // carrier or address

  // Sends at the present time; waits for ARP, three seconds at most, if it must. False: no carrier,
  // no address, no route (there is no router but the subnet), or longer than kMaxUdpPayload.
  bool send_udp(UdpEndpoint to, uint16_t from_port, std::span<const uint8_t> payload);
  bool ping(Ipv4Address to, uint16_t id, uint16_t sequence, std::span<const uint8_t> payload);
  // The address of a neighbour, if ARP has told it.
  std::optional<MacAddress> neighbour(Ipv4Address address) const;

  // Calls `call` at `ns`, or at once if that is past; calls of one time in order. False: kMaxTimed
  // wait already.
  bool at(uint64_t ns, std::function<void()> call);
  uint64_t ns() const;
  const NetHostCounts& counts() const;

 private:
  class Stack;
  std::unique_ptr<Stack> stack_;
};

}  // namespace millrace::board
