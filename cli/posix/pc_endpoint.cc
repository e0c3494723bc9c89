// SPDX-License-Identifier: Apache-2.0
// The device is made once, with the endpoint, and outlives every open and close, as a board does
// that stays powered. After a replug it has another PTY; reopen() waits for that.
#include "cli/pc_endpoint.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cli/posix/board_endpoint.h"
#include "firmware/ports/pc/pty_device.h"
#include "millrace/host/clock.h"

namespace millrace::cli {

using host::Endpoint;
using host::Error;
using host::ErrorCode;
using host::OpenOptions;
using host::Result;
using host::Transport;

namespace {

constexpr int64_t kPollNs = 5000000;

class PcEndpoint final : public Endpoint {
 public:
  PcEndpoint(std::string name, std::unique_ptr<firmware::PtyDevice> device)
      : name_(std::move(name)), device_(std::move(device)) {}
  const std::string& name() const override { return name_; }
  host::Clock& clock() override { return host::system_clock(); }

  Result<std::unique_ptr<Transport>> open(const OpenOptions& options) override {
    const std::string path = device_->path();
    if (path.empty()) {
      return Error{ErrorCode::not_found,
                   name_ + ": the device is unplugged at the moment (try again)"};
    }
    Result<std::unique_ptr<Endpoint>> port = host::make_endpoint(path, {});
    if (!port) return port.error();
    return (*port)->open(options);
  }

  Result<std::unique_ptr<Transport>> reopen(const OpenOptions& options,
                                            int64_t deadline_ns) override {
    for (;;) {
      Result<std::unique_ptr<Transport>> transport = open(options);
      if (transport) return transport;
      if (clock().now_ns() >= deadline_ns) {
        return Error{ErrorCode::gone, name_ + ": the device did not come back in time"};
      }
      clock().sleep_until(std::min(deadline_ns, clock().now_ns() + kPollNs));
    }
  }

 private:
  std::string name_;
  std::unique_ptr<firmware::PtyDevice> device_;
};

Result<std::unique_ptr<Endpoint>> make_pc(const std::string& rest) {
  const std::string name = "pc:" + rest;
  const Result<std::string> query = fault_query(name);
  if (!query) return query.error();
  firmware::ParsedFaultPlan plan = firmware::parse_fault_plan(*query);
  if (!plan.error.empty()) return Error{ErrorCode::usage, name + ": " + plan.error};
  firmware::PtyDeviceOptions options;
  options.faults = std::move(plan.plan);
  options.link = speaks_link(name);
  firmware::PtyDeviceResult made = firmware::PtyDevice::create(options);
  if (made.device == nullptr) return Error{ErrorCode::io, name + ": " + made.error};
  return std::unique_ptr<Endpoint>(std::make_unique<PcEndpoint>(name, std::move(made.device)));
}

}  // namespace

const char* const kPortsWithoutHardware =
    "without hardware: pc: (a device on this machine), board:IMAGE (firmware on the virtual "
    "board)\n";

std::vector<host::EndpointScheme> endpoint_schemes() {
  return {{"pc", make_pc}, {"board", make_board_endpoint}};
}

}  // namespace millrace::cli
