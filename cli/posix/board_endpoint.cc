// SPDX-License-Identifier: Apache-2.0
// The board is made with the endpoint and outlives every open and close, as a board does that stays
// plugged in. Time passes only inside calls: a read runs the board until there is data or its
// deadline, so that one run is like the next to the cycle.
#include "cli/posix/board_endpoint.h"

#include <optional>
#include <utility>

#include "cli/posix/board_machine.h"

namespace millrace::cli {

using host::Endpoint;
using host::Error;
using host::ErrorCode;
using host::IoKind;
using host::IoResult;
using host::OpenOptions;
using host::Result;
using host::Status;
using host::Transport;

namespace {

constexpr int64_t kEnumerationNs = 5'000'000'000;  // from power-on to a serial port

class BoardTransport final : public Transport {
 public:
  BoardTransport(std::shared_ptr<BoardMachine> machine, const OpenOptions& options)
      : machine_(std::move(machine)) {
    const board::UsbSerialInfo info = machine_->usb().info();
    identity_.path = machine_->name();
    identity_.description = info.product;
    identity_.manufacturer = info.manufacturer;
    identity_.serial_number = info.serial;
    identity_.driver = "virtual cdc-acm";
    identity_.vid = info.vendor_id;
    identity_.pid = info.product_id;
    identity_.usb_speed_mbit = info.high_speed ? 480 : 12;
    identity_.is_usb = true;
    lines_.dtr = options.dtr.value_or(true);  // as Linux leaves them after open()
    lines_.rts = options.rts.value_or(true);
    machine_->usb().open();
    machine_->usb().set_lines(lines_.dtr, lines_.rts);
  }
  ~BoardTransport() override {
    machine_->usb().close();
    machine_->run(machine_->now_ns() + 1'000'000);  // what close() sends goes out
  }

  IoResult read(std::span<uint8_t> into, int64_t deadline_ns) override {
    for (;;) {
      const size_t size = machine_->usb().read(into);
      if (size != 0) return {IoKind::done, size, {}};
      if (!machine_->usb().is_ready()) return {IoKind::gone, 0, machine_->gone()};
      if (machine_->now_ns() >= deadline_ns) return {};
      if (!machine_->run(deadline_ns)) return {IoKind::gone, 0, machine_->gone()};
    }
  }

  IoResult write(std::span<const uint8_t> from, int64_t deadline_ns) override {
    size_t done = 0;
    for (;;) {
      done += machine_->usb().write(from.subspan(done));
      if (done == from.size()) return {IoKind::done, done, {}};
      if (!machine_->usb().is_ready()) return {IoKind::gone, done, machine_->gone()};
      if (machine_->now_ns() >= deadline_ns) return {IoKind::nothing_yet, done, {}};
      if (!machine_->run(deadline_ns)) return {IoKind::gone, done, machine_->gone()};
    }
  }

  host::Clock& clock() override { return *machine_; }
  const host::PortIdentity& identity() const override { return identity_; }
  Result<host::ModemLines> modem_lines() override { return lines_; }
  Status set_modem_lines(std::optional<bool> dtr, std::optional<bool> rts) override {
    lines_.dtr = dtr.value_or(lines_.dtr);
    lines_.rts = rts.value_or(lines_.rts);
    machine_->usb().set_lines(lines_.dtr, lines_.rts);
    return Status();
  }
  std::string settings() const override { return "virtual time, predicted"; }

 private:
  std::shared_ptr<BoardMachine> machine_;
  host::PortIdentity identity_;
  host::ModemLines lines_;
};

class BoardEndpoint final : public Endpoint {
 public:
  explicit BoardEndpoint(std::shared_ptr<BoardMachine> machine) : machine_(std::move(machine)) {}
  const std::string& name() const override { return machine_->name(); }
  host::Clock& clock() override { return *machine_; }

  Result<std::unique_ptr<Transport>> open(const OpenOptions& options) override {
    return wait_and_open(options, machine_->now_ns() + kEnumerationNs, ErrorCode::not_found);
  }
  Result<std::unique_ptr<Transport>> reopen(const OpenOptions& options,
                                            int64_t deadline_ns) override {
    return wait_and_open(options, deadline_ns, ErrorCode::gone);
  }
  Status finish() override { return machine_->finish(); }

 private:
  Result<std::unique_ptr<Transport>> wait_and_open(const OpenOptions& options, int64_t deadline_ns,
                                                   ErrorCode late) {
    while (!machine_->usb().is_ready()) {
      if (machine_->now_ns() >= deadline_ns || !machine_->run(deadline_ns)) {
        return Error{late, machine_->name() + ": " + machine_->diagnosis("USB serial port")};
      }
    }
    return std::unique_ptr<Transport>(std::make_unique<BoardTransport>(machine_, options));
  }

  std::shared_ptr<BoardMachine> machine_;
};

}  // namespace

Result<std::unique_ptr<Endpoint>> make_board_endpoint(const std::string& rest) {
  Result<std::shared_ptr<BoardMachine>> machine = make_board_machine(rest);
  if (!machine) return machine.error();
  return std::unique_ptr<Endpoint>(std::make_unique<BoardEndpoint>(std::move(*machine)));
}

}  // namespace millrace::cli
