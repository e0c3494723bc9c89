// SPDX-License-Identifier: Apache-2.0
// One alarm of the port serves all timers, which are a map by time. Tables are bounded, since what
// fills them comes from the device: a full neighbour table is emptied, as a cache may be.
#include "millrace/board/net_host.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "ip/dhcp_client.h"
#include "ip/packet.h"

namespace millrace::board {
namespace {

constexpr uint64_t kArpRetryNs = 1'000'000'000;
constexpr unsigned kArpAttempts = 3;
constexpr size_t kMostNeighbours = 1024, kMostUnresolved = 64, kMostWaiting = 64;
constexpr uint8_t kEchoRequest = 8, kEchoReply = 0;

}  // namespace

class NetHost::Stack final : private EthernetClient {
 public:
  explicit Stack(EthernetPort& p)
      : port(p),
        dhcp({.send = [this](std::optional<Ipv4Address> to,
                             const Bytes& message) { send_dhcp(to, message); },
              .at = [this](uint64_t ns, std::function<void()> call) { at(ns, std::move(call)); },
              .ns = [this] { return port.ns(); },
              .changed = [this] { lease_changed(); }}) {
    port.set_client(this);
    had_carrier = port.has_carrier();
  }
  ~Stack() {
    port.wake_at(UINT64_MAX);
    port.set_client(nullptr);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void set_address(Ipv4Address a, unsigned bits) {
    wants_dhcp = false;
    dhcp.stop();
    use(a, bits);
  }
  void start_dhcp() {
    wants_dhcp = true;
    use(0, 24);
    if (port.has_carrier()) dhcp.start(port.info().mac);
  }
  bool send_udp(const UdpEndpoint& to, uint16_t from_port, std::span<const uint8_t> payload) {
    if (payload.size() > kMaxUdpPayload || !can_send(to.address)) return false;
    ++counts.udp_out;
    send_ip(to.address, kProtocolUdp, make_udp({address, from_port}, to, payload));
    return true;
  }
  bool ping(Ipv4Address to, uint16_t id, uint16_t sequence, std::span<const uint8_t> payload) {
    if (payload.size() > kMaxUdpPayload || !can_send(to)) return false;
    ++counts.echoes_out;
    send_ip(to, kProtocolIcmp, make_echo(false, id, sequence, payload));
    return true;
  }
  bool at(uint64_t ns, std::function<void()> call) {
    if (calls.size() >= kMaxTimed) return false;
    calls.emplace(ns, std::move(call));
    set_alarm();
    return true;
  }

  EthernetPort& port;
  DhcpClient dhcp;
  Ipv4Address address = 0;  // 0: none
  unsigned prefix = 24;
  NetHostCounts counts;
  std::map<Ipv4Address, MacAddress> neighbours;
  std::function<void(const UdpArrival&)> on_udp;
  std::function<void(const EchoArrival&)> on_echo;
  std::function<void()> on_changed;

 private:
  struct Unresolved {
    std::deque<Bytes> packets;
    unsigned attempts = 0;
  };

  void changed() {
    if (on_changed) on_changed();
  }
  void use(Ipv4Address a, unsigned bits) {
    address = a;
    prefix = std::min(bits, 30u);
    neighbours.clear();
    unresolved.clear();
    changed();
  }
  void lease_changed() {
    const std::optional<DhcpLease>& lease = dhcp.lease();
    if (lease && lease->address == address && lease->prefix == prefix) return;  // renewed
    if (wants_dhcp) use(lease ? lease->address : 0, lease ? lease->prefix : 24);
  }
  void set_alarm() { port.wake_at(calls.empty() ? UINT64_MAX : calls.begin()->first); }

  // EthernetClient.
  void link_changed() override {
    const bool carrier = port.has_carrier();
    if (std::exchange(had_carrier, carrier) == carrier) return;
    neighbours.clear();
    unresolved.clear();
    if (wants_dhcp && carrier) dhcp.start(port.info().mac);
    if (wants_dhcp && !carrier) dhcp.stop();
    changed();
  }
  void woken(uint64_t ns) override {
    while (!calls.empty() && calls.begin()->first <= ns) {
      const auto call = std::move(calls.begin()->second);
      calls.erase(calls.begin());
      call();
    }
    set_alarm();
  }
  void received(std::span<const uint8_t> frame, uint64_t ns) override {
    ++counts.frames_in;
    MacAddress to{};
    std::copy_n(frame.begin(), to.size(), to.begin());
    if (to != port.info().mac && to != kBroadcastMac) {
      ++counts.not_for_us;
      return;
    }
    const std::span<const uint8_t> payload = frame.subspan(kEthernetHeaderBytes);
    switch (load_be16(&frame[12])) {
      case kEtherArp:
        return take_arp(payload);
      case kEtherIpv4:
        return take_ip(payload, ns);
      default:
        ++counts.not_for_us;
    }
  }

  bool is_in_subnet(Ipv4Address a) const {
    return ((a ^ address) >> (32 - std::max(prefix, 1u))) == 0 || prefix == 0;
  }
  bool is_broadcast(Ipv4Address a) const {
    const uint32_t host_bits = prefix == 0 ? UINT32_MAX : (uint32_t{1} << (32 - prefix)) - 1;
    return a == kBroadcastIp || (address != 0 && is_in_subnet(a) && (a & host_bits) == host_bits);
  }
  bool can_send(Ipv4Address to) const {
    return port.has_carrier() && address != 0 && (is_in_subnet(to) || to == kBroadcastIp);
  }

  void transmit(const MacAddress& to, uint16_t type, const Bytes& payload) {
    if (port.send(make_frame(to, port.info().mac, type, payload))) {
      ++counts.frames_out;
    } else {
      ++counts.refused;
    }
  }
  void send_ip(Ipv4Address to, uint8_t protocol, const Bytes& payload) {
    Bytes packet = make_ipv4(address, to, protocol, next_id++, payload);
    if (is_broadcast(to)) return transmit(kBroadcastMac, kEtherIpv4, packet);
    if (const auto found = neighbours.find(to); found != neighbours.end()) {
      return transmit(found->second, kEtherIpv4, packet);
    }
    const bool is_new = unresolved.count(to) == 0;
    if (is_new && unresolved.size() >= kMostUnresolved) {
      ++counts.unresolved;
      return;
    }
    Unresolved& waiting = unresolved[to];
    if (waiting.packets.size() >= kMostWaiting) {  // the newest are worth more, as in Linux
      waiting.packets.pop_front();
      ++counts.unresolved;
    }
    waiting.packets.push_back(std::move(packet));
    if (is_new) resolve(to);
  }
  void resolve(Ipv4Address to) {
    const auto found = unresolved.find(to);
    if (found == unresolved.end()) return;
    if (found->second.attempts++ == kArpAttempts) {
      counts.unresolved += found->second.packets.size();
      unresolved.erase(found);
      return;
    }
    transmit(kBroadcastMac, kEtherArp,
             make_arp({true, port.info().mac, MacAddress{}, address, to}));
    at(port.ns() + kArpRetryNs, [this, to] { resolve(to); });
  }
  void learn(Ipv4Address a, const MacAddress& mac) {
    if (neighbours.size() >= kMostNeighbours) neighbours.clear();
    neighbours[a] = mac;
    const auto waiting = unresolved.extract(a);
    if (waiting.empty()) return;
    for (const Bytes& packet : waiting.mapped().packets) transmit(mac, kEtherIpv4, packet);
  }
  void take_arp(std::span<const uint8_t> bytes) {
    const std::optional<Arp> arp = parse_arp(bytes);
    if (!arp) {
      ++counts.malformed;
      return;
    }
    if (address == 0 || arp->sender == 0 || arp->sender == address) return;
    const bool is_for_us = arp->target == address;
    if (is_for_us || neighbours.count(arp->sender) != 0) learn(arp->sender, arp->sender_mac);
    if (!is_for_us || !arp->is_request) return;
    transmit(arp->sender_mac, kEtherArp,
             make_arp({false, port.info().mac, arp->sender_mac, address, arp->sender}));
  }

  void take_ip(std::span<const uint8_t> bytes, uint64_t ns) {
    Ipv4Packet packet;
    switch (parse_ipv4_packet(bytes, &packet)) {
      case Ipv4Status::malformed:
        ++counts.malformed;
        return;
      case Ipv4Status::bad_checksum:
        ++counts.bad_checksums;
        return;
      case Ipv4Status::ok:
        break;
    }
    // While DHCP is at work the offered address is ours without our knowing (RFC 2131 4.1).
    const bool is_ours = packet.destination == address || is_broadcast(packet.destination) ||
                         (address == 0 && dhcp.is_started());
    if (!is_ours) {
      ++counts.not_for_us;
      return;
    }
    if (packet.is_fragment) {
      ++counts.fragments;
      return;
    }
    if (packet.protocol == kProtocolUdp) return take_udp(packet, ns);
    if (packet.protocol == kProtocolIcmp) return take_icmp(packet, ns);
    ++counts.not_for_us;
  }
  void take_udp(const Ipv4Packet& packet, uint64_t ns) {
    const std::span<const uint8_t> b = packet.payload;
    const size_t length = b.size() < kUdpHeaderBytes ? 0 : load_be16(&b[4]);
    if (length < kUdpHeaderBytes || length > b.size()) {
      ++counts.malformed;
      return;
    }
    const std::span<const uint8_t> datagram = b.first(length);
    if (load_be16(&b[6]) != 0 && udp_checksum(packet.source, packet.destination, datagram) != 0) {
      ++counts.bad_checksums;
      return;
    }
    UdpArrival arrival;
    arrival.ns = ns;
    arrival.source = {packet.source, load_be16(&b[0])};
    arrival.destination = {packet.destination, load_be16(&b[2])};
    arrival.payload = datagram.subspan(kUdpHeaderBytes);
    ++counts.udp_in;
    if (arrival.destination.port == kDhcpClientPort && dhcp.is_started()) {
      return dhcp.receive(arrival.payload);
    }
    if (on_udp) on_udp(arrival);
  }
  void take_icmp(const Ipv4Packet& packet, uint64_t ns) {
    const std::span<const uint8_t> b = packet.payload;
    if (b.size() < kIcmpHeaderBytes) {
      ++counts.malformed;
      return;
    }
    if (checksum_of(b) != 0) {
      ++counts.bad_checksums;
      return;
    }
    const EchoArrival echo = {ns, packet.source, load_be16(&b[4]), load_be16(&b[6]),
                              b.subspan(kIcmpHeaderBytes)};
    if (b[0] == kEchoReply) {
      ++counts.echoes_in;
      if (on_echo) on_echo(echo);
    } else if (b[0] == kEchoRequest && can_send(packet.source)) {
      send_ip(packet.source, kProtocolIcmp, make_echo(true, echo.id, echo.sequence, echo.payload));
    }
  }
  void send_dhcp(std::optional<Ipv4Address> to, const Bytes& message) {
    if (!port.has_carrier()) return;
    const UdpEndpoint server = {to.value_or(kBroadcastIp), kDhcpServerPort};
    const Bytes datagram = make_udp({address, kDhcpClientPort}, server, message);
    if (to && is_in_subnet(*to)) return send_ip(*to, kProtocolUdp, datagram);
    transmit(kBroadcastMac, kEtherIpv4,
             make_ipv4(address, server.address, kProtocolUdp, next_id++, datagram));
  }

  bool wants_dhcp = false;
  bool had_carrier = false;
  uint16_t next_id = 1;
  std::map<Ipv4Address, Unresolved> unresolved;
  std::multimap<uint64_t, std::function<void()>> calls;
};

NetHost::NetHost(EthernetPort& port) : stack_(std::make_unique<Stack>(port)) {}
NetHost::~NetHost() = default;

void NetHost::set_address(Ipv4Address address, unsigned prefix) {
  stack_->set_address(address, prefix);
}
void NetHost::start_dhcp() { stack_->start_dhcp(); }
std::optional<Ipv4Address> NetHost::address() const {
  return stack_->address != 0 ? std::optional(stack_->address) : std::nullopt;
}
std::optional<DhcpLease> NetHost::lease() const { return stack_->dhcp.lease(); }
bool NetHost::has_carrier() const { return stack_->port.has_carrier(); }
void NetHost::set_on_udp(std::function<void(const UdpArrival&)> on_udp) {
  stack_->on_udp = std::move(on_udp);
}
void NetHost::set_on_echo(std::function<void(const EchoArrival&)> on_echo) {
  stack_->on_echo = std::move(on_echo);
}
void NetHost::set_on_changed(std::function<void()> on_changed) {
  stack_->on_changed = std::move(on_changed);
}
bool NetHost::send_udp(UdpEndpoint to, uint16_t from_port, std::span<const uint8_t> payload) {
  return stack_->send_udp(to, from_port, payload);
}
bool NetHost::ping(Ipv4Address to, uint16_t id, uint16_t sequence,
                   std::span<const uint8_t> payload) {
  return stack_->ping(to, id, sequence, payload);
}
std::optional<MacAddress> NetHost::neighbour(Ipv4Address address) const {
  const auto found = stack_->neighbours.find(address);
  return found == stack_->neighbours.end() ? std::nullopt : std::optional(found->second);
}
bool NetHost::at(uint64_t ns, std::function<void()> call) {
  return stack_->at(ns, std::move(call));
}
uint64_t NetHost::ns() const { return stack_->port.ns(); }
const NetHostCounts& NetHost::counts() const { return stack_->counts; }

}  // namespace millrace::board
