// SPDX-License-Identifier: Apache-2.0
#include "cli/record_target.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <utility>

#include "cli/posix/board_datagrams.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/values.h"
#include "millrace/sampling/udp_channel.h"
#include "millrace/udp/socket_port.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

const std::string kBoardPrefix = "board:", kUdp = "udp:";

class NetworkTarget final : public RecordTarget {
 public:
  NetworkTarget(std::unique_ptr<udp::DatagramPort> port, const RecordLoad& load, bool has_load,
                std::string elf)
      : port_(std::move(port)),
        channel_(*port_),
        has_load_(has_load),
        load_(*port_, plan_of(load), session_id()),
        elf_(std::move(elf)) {}

  sampling::SamplerChannel& channel() override { return channel_; }
  sampling::Workload workload() override {
    return has_load_ ? load_.workload() : sampling::waiting(port_->clock());
  }
  std::string load_line() const override {
    if (!has_load_) return {};
    const auto& figures = load_.figures();
    std::string line =
        fmt::format("echoes: {} of {} requests answered, {} a second", grouped(figures.answered),
                    grouped(figures.sent), grouped(static_cast<uint64_t>(figures.answered_per_s)));
    if (figures.fault != udp::HostFault::none) {
      line += fmt::format(" (this host did not keep the pace: {})", udp::name_of(figures.fault));
    }
    return line;
  }
  Json load_json() const override {
    if (!has_load_) return nullptr;
    const auto& figures = load_.figures();
    return {{"kind", "udp"},
            {"sent", figures.sent},
            {"answered", figures.answered},
            {"answered_per_s", figures.answered_per_s},
            {"host_fault", udp::name_of(figures.fault)}};
  }
  bool is_virtual() const override { return port_->clock().is_virtual(); }
  std::string elf() const override { return elf_; }
  Status finish() override { return port_->finish(); }

 private:
  static udp::StepPlan plan_of(const RecordLoad& load) {
    udp::StepPlan plan;
    plan.bytes = load.bytes;
    plan.rate_per_s = load.rate_per_s;
    plan.in_flight = load.rate_per_s > 0 ? 0 : load.in_flight;
    return plan;
  }
  uint32_t session_id() const { return port_->clock().is_virtual() ? 1 : std::random_device()(); }

  std::unique_ptr<udp::DatagramPort> port_;
  sampling::UdpSamplerChannel channel_;
  bool has_load_;
  sampling::UdpLoad load_;
  std::string elf_;
};

// ADDRESS or ADDRESS:PORT with an IPv4 address.
bool is_ipv4_name(const std::string& name) {
  return !name.empty() && std::count(name.begin(), name.end(), '.') == 3 &&
         name.find_first_not_of("0123456789.:") == std::string::npos;
}

}  // namespace

Result<std::unique_ptr<RecordTarget>> open_network_target(const std::string& name,
                                                          const RecordLoad& load) {
  if (load.kind == LoadKind::serial) {
    return Error{ErrorCode::usage,
                 fmt::format("{}: a network target takes no load {} (udp:32@1500, "
                             "udp:32x8, none)",
                             printable(name), load.text)};
  }
  if (name.rfind(kBoardPrefix, 0) == 0) {
    const std::string rest = name.substr(kBoardPrefix.size());
    Result<std::unique_ptr<udp::DatagramPort>> port =
        make_board_datagrams(rest, {load.host_address, load.device_address, load.port});
    if (!port) return port.error();
    return std::unique_ptr<RecordTarget>(std::make_unique<NetworkTarget>(
        std::move(*port), load, load.kind != LoadKind::none, board_image(name)));
  }
  udp::SocketOptions options;
  options.target = name.rfind(kUdp, 0) == 0 ? name.substr(kUdp.size()) : name;
  options.bytes = load.bytes;
  const bool has_load = load.kind == LoadKind::udp;
  if (!has_load) options.probe_ms = 0;  // need not echo
  Result<std::unique_ptr<udp::DatagramPort>> port = udp::open_socket_port(options);
  if (!port) return port.error();
  return std::unique_ptr<RecordTarget>(
      std::make_unique<NetworkTarget>(std::move(*port), load, has_load, std::string()));
}

Result<std::unique_ptr<RecordTarget>> open_record_target(const std::string& name,
                                                         const RecordLoad& load) {
  if (name.rfind(kUdp, 0) == 0 || is_ipv4_name(name)) return open_network_target(name, load);
  if (name.rfind(kBoardPrefix, 0) != 0 || load.kind == LoadKind::serial) {
    return open_serial_target(name, load);
  }
  // Which function the firmware has is known when it is enumerated.
  Result<std::unique_ptr<RecordTarget>> network = open_network_target(name, load);
  if (network || network.error().code != ErrorCode::not_found || load.kind == LoadKind::udp) {
    return network;
  }
  Result<std::unique_ptr<RecordTarget>> serial = open_serial_target(name, load);
  return serial;
}

}  // namespace millrace::cli
