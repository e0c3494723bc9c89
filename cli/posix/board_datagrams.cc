// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/board_datagrams.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>
#include <vector>

#include "cli/posix/board_machine.h"
#include "cli/print.h"
#include "millrace/board/net_host.h"

namespace millrace::cli {

using board::Ipv4Address;
using board::NetHost;
using board::UdpEndpoint;
using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;
using udp::Arrival;

namespace {

constexpr int64_t kNetworkWaitNs = 5'000'000'000;
constexpr int64_t kDhcpNs = 15'000'000'000;  // three attempts
constexpr int64_t kArpNs = 3'000'000'000;
constexpr int64_t kLookNs = 100'000'000;  // silence after which the firmware is looked at
constexpr int64_t kPingNs = 1'000'000'000;
constexpr int64_t kPingIntervalNs = 10'000'000;
constexpr uint16_t kOurPort = 40'000, kAskPort = 40'001, kPingId = 0x4d52;

class BoardDatagrams final : public udp::DatagramPort {
 public:
  explicit BoardDatagrams(std::shared_ptr<BoardMachine> machine)
      : machine_(std::move(machine)), ethernet_(machine_->usb().ethernet()) {
    info_.name = machine_->name();
  }

  Status open(const BoardNetwork& network) {
    if (!run_until(kNetworkWaitNs, [this] { return ethernet_.has_carrier(); })) {
      const std::string why = ethernet_.problem();
      return not_found(why.empty() ? machine_->diagnosis("USB network interface") : why);
    }
    host_ = std::make_unique<NetHost>(ethernet_);
    host_->set_on_udp([this](const board::UdpArrival& a) { take_udp(a); });
    host_->set_on_echo([this](const board::EchoArrival& a) {
      if (a.id == kPingId) ++pongs_;
    });
    if (Status addressed = choose_addresses(network); !addressed) return addressed;
    const auto is_known = [this] { return host_->neighbour(device_.address).has_value(); };
    host_->ping(device_.address, kPingId, 0, {});
    if (!run_until(kArpNs, is_known)) {
      return unanswered(fmt::format("nobody has the address {} (--device-address)",
                                    board::format_ipv4(device_.address)));
    }
    info_.mtu = ethernet_.info().mtu;
    info_.interface = std::string(to_string(ethernet_.info().kind));
    info_.description = ethernet_.info().description;
    info_.has_kernel_stamps = true;
    start_ = ethernet_.counts();
    look_ns_ = machine_->now_ns() + kLookNs;
    return Status();
  }

  host::Clock& clock() override { return *machine_; }

  size_t send(std::span<const std::span<const uint8_t>> datagrams) override {
    for (size_t i = 0; i < datagrams.size(); ++i) {
      if (!host_->send_udp(device_, kOurPort, datagrams[i])) return i;
    }
    return datagrams.size();
  }

  size_t receive(int64_t deadline_ns, const std::function<void(const Arrival&)>& take) override {
    while (waiting_.empty()) {
      if (machine_->now_ns() >= deadline_ns || !machine_->run(deadline_ns)) return 0;
    }
    // What is taken may send, and so add to what waits.
    std::vector<Waiting> now;
    now.swap(waiting_);
    for (const Waiting& each : now) take({each.ns, each.bytes});
    return now.size();
  }

  std::optional<Error> trouble() override {
    if (machine_->is_dead() || !ethernet_.is_configured()) return machine_->gone();
    // A fault handler may be left again: only one that is seen twice, with nothing answered before
    // and between, is the end.
    if (machine_->now_ns() >= look_ns_) {
      look_ns_ = machine_->now_ns() + kLookNs;
      const bool was_in_fault = !fault_.empty();
      fault_ = machine_->fault();
      is_crashed_ = was_in_fault && !fault_.empty();
    }
    if (!is_crashed_) return std::nullopt;
    return Error{ErrorCode::gone, fmt::format("{}: {}", printable(info_.name), fault_)};
  }

  // What the interface does not take since the device does not: the same as a full queue.
  udp::HostDrops host_drops() override {
    return {0, 0, ethernet_.counts().dropped_out - start_.dropped_out};
  }

  udp::PingCount ping(uint32_t count) override {
    udp::PingCount result;
    pongs_ = 0;
    for (uint32_t i = 0; i < count && !machine_->is_dead(); ++i) {
      if (host_->ping(device_.address, kPingId, static_cast<uint16_t>(i + 1), {})) ++result.sent;
      const int64_t until = machine_->now_ns() + kPingIntervalNs;
      while (machine_->now_ns() < until && machine_->run(until)) {
      }
    }
    run_until(kPingNs, [&] { return pongs_ >= result.sent; });
    result.answered = pongs_;
    waiting_.clear();
    return result;
  }

  std::vector<uint8_t> ask(uint16_t port, std::span<const uint8_t> request,
                           int64_t patience_ns) override {
    answer_.clear();
    if (!host_->send_udp({device_.address, port}, kAskPort, request)) return {};
    run_until(patience_ns, [this] { return !answer_.empty(); });
    return answer_;
  }

  std::optional<udp::TransferCounts> transfers() override {
    const board::EthernetCounts& now = ethernet_.counts();
    return udp::TransferCounts{
        now.frames_in - start_.frames_in, now.transfers_in - start_.transfers_in,
        now.frames_out - start_.frames_out, now.transfers_out - start_.transfers_out};
  }

  const udp::PortInfo& info() const override { return info_; }

  Status finish() override {
    host_.reset();  // before the board that it belongs to
    return machine_->finish();
  }

 private:
  struct Waiting {
    int64_t ns;
    std::vector<uint8_t> bytes;
  };

  Error not_found(const std::string& why) const {
    return {ErrorCode::not_found, fmt::format("{}: {}", printable(info_.name), why)};
  }

  // The firmware may have crashed over what it was asked.
  Error unanswered(const std::string& why) const {
    const std::string fault = machine_->fault();
    return not_found(fault.empty() ? why : fault);
  }

  template <class F>
  bool run_until(int64_t ns, F is_done) {
    const int64_t until = machine_->now_ns() + ns;
    while (!is_done()) {
      if (machine_->now_ns() >= until || !machine_->run(until)) return false;
    }
    return true;
  }

  Status choose_addresses(const BoardNetwork& network) {
    device_.port = network.port;
    if (network.host.empty()) {
      host_->start_dhcp();
      if (!run_until(kDhcpNs, [this] { return host_->address().has_value(); })) {
        return unanswered(
            "its device gives no address by DHCP (--host-address and --device-address say both)");
      }
      device_.address = host_->lease()->server;
    } else {
      const size_t slash = network.host.find('/');
      const std::string bits = slash == std::string::npos ? "24" : network.host.substr(slash + 1);
      unsigned prefix = 0;
      const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), prefix);
      const auto address = board::parse_ipv4(network.host.substr(0, slash));
      if (!address || error != std::errc() || end != bits.data() + bits.size() || prefix < 1 ||
          prefix > 30) {
        return Error{ErrorCode::usage, "--host-address: give an address, such as 192.0.2.2/24"};
      }
      if (network.device.empty()) {
        return Error{ErrorCode::usage, "--host-address needs --device-address"};
      }
      host_->set_address(*address, prefix);
      prefix_ = prefix;
    }
    if (network.device.empty()) return Status();
    const auto device = board::parse_ipv4(network.device);
    if (!device) {
      return Error{ErrorCode::usage, "--device-address: give an address, such as 192.0.2.1"};
    }
    if (host_->lease()) prefix_ = host_->lease()->prefix;
    if ((*device ^ *host_->address()) >> (32 - prefix_) != 0) {
      return Error{
          ErrorCode::usage,
          fmt::format("{} is not in the network of {}/{} (--host-address)",
                      board::format_ipv4(*device), board::format_ipv4(*host_->address()), prefix_)};
    }
    device_.address = *device;
    return Status();
  }

  void take_udp(const board::UdpArrival& arrival) {
    look_ns_ = static_cast<int64_t>(arrival.ns) + kLookNs;
    fault_.clear();
    if (arrival.destination.port == kAskPort) {
      answer_.assign(arrival.payload.begin(), arrival.payload.end());
      machine_->stop();
      return;
    }
    if (arrival.source != device_ || arrival.destination.port != kOurPort) return;
    waiting_.push_back(
        {static_cast<int64_t>(arrival.ns), {arrival.payload.begin(), arrival.payload.end()}});
    machine_->stop();
  }

  std::shared_ptr<BoardMachine> machine_;
  board::EthernetPort& ethernet_;
  std::unique_ptr<NetHost> host_;
  UdpEndpoint device_;
  unsigned prefix_ = 24;
  board::EthernetCounts start_;
  std::vector<Waiting> waiting_;
  std::vector<uint8_t> answer_;
  uint32_t pongs_ = 0;
  int64_t look_ns_ = 0;
  std::string fault_;  // at the last look
  bool is_crashed_ = false;
  udp::PortInfo info_;
};

}  // namespace

Result<std::unique_ptr<udp::DatagramPort>> make_board_datagrams(const std::string& rest,
                                                                const BoardNetwork& network) {
  Result<std::shared_ptr<BoardMachine>> machine = make_board_machine(rest);
  if (!machine) return machine.error();
  auto port = std::make_unique<BoardDatagrams>(std::move(*machine));
  if (const Status opened = port->open(network); !opened) return opened.error();
  return std::unique_ptr<udp::DatagramPort>(std::move(port));
}

}  // namespace millrace::cli
