// SPDX-License-Identifier: Apache-2.0
// The board is made with the endpoint and outlives every open and close, as a board does that stays
// plugged in. Time passes only inside calls: a read runs the board until there is data or its
// deadline, so that one run is like the next to the cycle.
#include "cli/posix/board_endpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cli/output_file.h"
#include "cli/posix/board_image.h"
#include "cli/posix/board_options.h"
#include "cli/posix/output_stream.h"
#include "cli/posix/usb_options.h"
#include "cli/print.h"
#include "cli/values.h"
#include "millrace/board/board.h"

namespace millrace::cli {

using board::Board;
using board::StopInfo;
using board::StopReason;
using board::UsbSerialPort;
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
constexpr uint64_t kSliceNs = 10'000'000;

// Files to write what happens on the bus to; null: none.
struct Captures {
  std::unique_ptr<OutputStream> urbs, packets;
};

// The board with its host, shared by endpoint, clock and transports.
class Machine final : public host::Clock {
 public:
  Machine(std::string name, Captures captures)
      : name_(std::move(name)), captures_(std::move(captures)) {}
  ~Machine() override {
    usb_ = nullptr;
    board_.reset();  // the captures' last bytes come before their files are closed
  }

  // The first failure of a capture; both are closed.
  Status finish() {
    usb_ = nullptr;
    board_.reset();
    Status first;
    for (OutputStream* const capture : {captures_.urbs.get(), captures_.packets.get()}) {
      const Status closed = capture == nullptr ? Status() : capture->close();
      if (!closed && first) first = closed;
    }
    return first;
  }

  Status start(const board::Image& image, const board::BoardOptions& options,
               board::UsbHostOptions usb) {
    board::ImageError error;
    board_ = Board::create(image, options, &error);
    if (board_ == nullptr) {
      return Error{error.bad_option ? ErrorCode::usage : ErrorCode::protocol, error.message};
    }
    if (captures_.urbs != nullptr) {
      usb.capture = [this](std::span<const uint8_t> bytes) { captures_.urbs->write(bytes); };
    }
    if (captures_.packets != nullptr) {
      usb.packet_capture = [this](std::span<const uint8_t> bytes) {
        captures_.packets->write(bytes);
      };
    }
    std::string problem;
    usb_ = board_->connect_usb(usb, &problem);
    if (usb_ == nullptr) return Error{ErrorCode::usage, name_ + ": " + problem};
    usb_->set_changed([this] { board_->request_stop(); });
    usb_->plug_in();
    return Status();
  }

  // Runs to `deadline_ns`, or until something about USB changed. False: the board stopped for good.
  bool run(int64_t deadline_ns) {
    if (!trouble_.empty()) return false;
    const uint64_t now = board_->ns();
    const uint64_t until =
        std::min(static_cast<uint64_t>(std::max<int64_t>(deadline_ns, 0)), now + kSliceNs);
    if (until <= now) return true;
    const StopInfo stop = board_->run_until_ns(until);
    switch (stop.reason) {
      case StopReason::cycles:
      case StopReason::requested:
        return true;
      case StopReason::locked_up:
        trouble_ = "the core locked up: " + stop.detail.substr(0, stop.detail.find('\n'));
        return false;
      case StopReason::fault_loop:
        trouble_ = "does nothing but fault: " + stop.detail.substr(0, stop.detail.find('\n'));
        return false;
      case StopReason::reset_loop:
        trouble_ = "does nothing but reset itself: " + stop.detail;
        return false;
      case StopReason::exited:
        trouble_ = stop.detail.empty() ? "the firmware ended"
                                       : "does not start again after a reset: " + stop.detail;
        return false;
      case StopReason::asleep:
        trouble_ = "the firmware has no USB serial port, and sleeps with nothing to wake it";
        return false;
      default:
        trouble_ = "the firmware ended";
        return false;
    }
  }

  int64_t now_ns() override { return static_cast<int64_t>(board_->ns()); }
  void sleep_until(int64_t deadline_ns) override {
    while (now_ns() < deadline_ns && run(deadline_ns)) {
    }
  }
  bool is_virtual() const override { return true; }

  const std::string& name() const { return name_; }
  UsbSerialPort& usb() { return *usb_; }
  Error gone() const {
    const std::string why = !trouble_.empty()          ? trouble_
                            : !usb_->problem().empty() ? usb_->problem()
                                                       : "the device left the bus";
    return Error{ErrorCode::gone, name_ + ": " + why};
  }
  // What the firmware does when it does not enumerate.
  std::string diagnosis() {
    if (!trouble_.empty()) return trouble_;
    if (!usb_->problem().empty()) return usb_->problem();
    const std::string fault = board_->fault_state();
    if (!fault.empty()) return "is in a fault handler: " + fault.substr(0, fault.find('\n'));
    return "the firmware has no USB serial port after 5 s (try `millrace board run` with it)";
  }

 private:
  const std::string name_;
  Captures captures_;
  std::unique_ptr<Board> board_;
  UsbSerialPort* usb_ = nullptr;
  std::string trouble_;
};

class BoardTransport final : public Transport {
 public:
  BoardTransport(std::shared_ptr<Machine> machine, const OpenOptions& options)
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
  std::shared_ptr<Machine> machine_;
  host::PortIdentity identity_;
  host::ModemLines lines_;
};

class BoardEndpoint final : public Endpoint {
 public:
  explicit BoardEndpoint(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}
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
        return Error{late, machine_->name() + ": " + machine_->diagnosis()};
      }
    }
    return std::unique_ptr<Transport>(std::make_unique<BoardTransport>(machine_, options));
  }

  std::shared_ptr<Machine> machine_;
};

struct Options {
  BoardChoices board;
  board::UsbHostOptions usb;
  std::string host_file, pcap, pcap_packets;
};

Status take_option(const std::string& key, const std::string& value, Options* options) {
  Status status;
  if (key == "host") {
    status = choose_usb_host(value, &options->usb);
    if (options->usb.profile_name != value) options->host_file = value;
  } else if (key == "pcap") {
    options->pcap = value;
  } else if (key == "pcap_packets") {
    options->pcap_packets = value;
  } else if (key == "pcap_sof") {
    options->usb.capture_sof = value == "on";
    if (value != "on" && value != "off") status = Error{ErrorCode::usage, "give on or off"};
  } else if (!take_board_option(key, value, &options->board, &status)) {
    // The profile knows its parameters.
    options->usb.profile_texts.push_back({"", key + " = " + value});
  }
  if (status) return status;
  return Error{ErrorCode::usage, fmt::format("{}={}: {}", key, value, status.error().message)};
}

// What is written is no file that is read, least of all the firmware, and no other capture.
Status check_captures_apart(const std::string& image, const Options& options) {
  if (options.pcap_packets.empty() && options.usb.capture_sof) {
    return Error{ErrorCode::usage, "pcap_sof=on needs pcap_packets=FILE"};
  }
  const std::pair<const char*, std::string> files[] = {{"the firmware ", image},
                                                       {"host=", options.host_file},
                                                       {"timing=", options.board.timing_file},
                                                       {"adc=", adc_file(options.board)},
                                                       {"pcap=", options.pcap},
                                                       {"pcap_packets=", options.pcap_packets}};
  for (size_t i = std::size(files) - 2; i < std::size(files); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const auto& [what, path] = files[k];
      if (files[i].second.empty() || path.empty() || !same_output(files[i].second, path)) continue;
      return Error{ErrorCode::usage, fmt::format("{} would write over {}{} (name another file)",
                                                 files[i].first, what, path)};
    }
  }
  return Status();
}

Status open_captures(const Options& options, Captures* captures) {
  if (!options.pcap.empty()) {
    captures->urbs = std::make_unique<OutputStream>();
    const Status opened = captures->urbs->open("pcap=", options.pcap);
    if (!opened) return opened;
  }
  if (options.pcap_packets.empty()) return Status();
  captures->packets = std::make_unique<OutputStream>();
  return captures->packets->open("pcap_packets=", options.pcap_packets);
}

}  // namespace

Result<std::unique_ptr<Endpoint>> make_board_endpoint(const std::string& rest) {
  const std::string name = "board:" + rest;
  const size_t mark = rest.find('?');
  Options options;
  std::string query = mark == std::string::npos ? "" : rest.substr(mark + 1);
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string item = query.substr(0, end);
    query = end == std::string::npos ? "" : query.substr(end + 1);
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::usage,
                   fmt::format("port {}: write IMAGE?KEY=VALUE&KEY=VALUE", printable(name))};
    }
    const Status taken = take_option(item.substr(0, equals), item.substr(equals + 1), &options);
    if (!taken) {
      return Error{ErrorCode::usage,
                   fmt::format("port {}: {}", printable(name), taken.error().message)};
    }
  }
  if (mark == 0 || rest.empty()) {
    return Error{ErrorCode::usage, "port board: names no image (board:IMAGE?KEY=VALUE&...)"};
  }
  const std::string path = rest.substr(0, mark);
  const auto failure = [&name](const Error& error) {
    return Error{error.code, fmt::format("port {}: {}", printable(name), error.message)};
  };
  if (const Status apart = check_captures_apart(path, options); !apart) {
    return failure(apart.error());
  }
  if (const Status loaded = load_timing_profile("timing=", &options.board); !loaded) {
    return failure(loaded.error());
  }
  Result<board::Image> image = load_image(ImageOptions{path, {}});
  if (!image) return failure(image.error());
  Captures captures;
  if (const Status opened = open_captures(options, &captures); !opened) return opened.error();
  auto machine = std::make_shared<Machine>(name, std::move(captures));
  const Status started = machine->start(*image, options.board.board, std::move(options.usb));
  if (!started) return started.error();
  return std::unique_ptr<Endpoint>(std::make_unique<BoardEndpoint>(std::move(machine)));
}

}  // namespace millrace::cli
