// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/board_machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/output_file.h"
#include "cli/posix/board_image.h"
#include "cli/posix/board_options.h"
#include "cli/posix/usb_options.h"
#include "cli/print.h"
#include "millrace/board/usb_host_check.h"

namespace millrace::cli {

using board::Board;
using board::StopInfo;
using board::StopReason;
using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

constexpr uint64_t kSliceNs = 10'000'000;
const char* const kAsleep = "the firmware sleeps with nothing to wake it";

struct Options {
  BoardChoices board;
  board::UsbHostOptions usb;
  std::string host_file, pcap, pcap_packets, trace;
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
  } else if (key == "trace") {
    options->trace = value;
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
  const std::pair<const char*, std::string> files[] = {
      {"the firmware ", image},
      {"host=", options.host_file},
      {"timing=", options.board.timing_file},
      {"adc=", adc_file(options.board.board.adc_signal)},
      {"pcap=", options.pcap},
      {"pcap_packets=", options.pcap_packets},
      {"trace=", options.trace}};
  for (size_t i = std::size(files) - 3; i < std::size(files); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const auto& [what, path] = files[k];
      if (files[i].second.empty() || path.empty() || !same_output(files[i].second, path)) continue;
      return Error{ErrorCode::usage, fmt::format("{} would write over {}{} (name another file)",
                                                 files[i].first, what, path)};
    }
  }
  return Status();
}

Status open_captures(const Options& options, BusCaptures* captures) {
  if (!options.pcap.empty()) {
    captures->urbs = std::make_unique<OutputStream>();
    Status opened = captures->urbs->open("pcap=", options.pcap);
    if (!opened) return opened;
  }
  if (!options.trace.empty()) {
    captures->trace = std::make_unique<OutputStream>();
    Status opened = captures->trace->open("trace=", options.trace);
    if (!opened) return opened;
  }
  if (options.pcap_packets.empty()) return Status();
  captures->packets = std::make_unique<OutputStream>();
  return captures->packets->open("pcap_packets=", options.pcap_packets);
}

}  // namespace

BoardMachine::BoardMachine(std::string name, BusCaptures captures)
    : name_(std::move(name)), captures_(std::move(captures)) {}

BoardMachine::~BoardMachine() {
  usb_ = nullptr;
  board_.reset();  // the captures' last bytes come before their files are closed
}

Status BoardMachine::finish() {
  usb_ = nullptr;
  board_.reset();
  Status first;
  if (trace_ != nullptr) trace_->finish();
  trace_.reset();
  for (OutputStream* const capture :
       {captures_.urbs.get(), captures_.packets.get(), captures_.trace.get()}) {
    const Status closed = capture == nullptr ? Status() : capture->close();
    if (!closed && first) first = closed;
  }
  return first;
}

Status BoardMachine::start(const board::Image& image, const board::BoardOptions& options,
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
  if (captures_.trace != nullptr) {
    trace_ = std::make_unique<board::TraceWriter>(
        trace_header(image, *board_),
        [this](std::span<const uint8_t> bytes) { captures_.trace->write(bytes); });
    board_->start_trace(trace_.get());
  }
  std::string problem;
  usb_ = board_->connect_usb(usb, &problem);
  if (usb_ == nullptr) return Error{ErrorCode::usage, name_ + ": " + problem};
  usb_->set_changed([this] { board_->request_stop(); });
  usb_->plug_in();
  return Status();
}

bool BoardMachine::run(int64_t deadline_ns) {
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
      trouble_ = kAsleep;
      return false;
    default:
      trouble_ = "the firmware ended";
      return false;
  }
}

void BoardMachine::sleep_until(int64_t deadline_ns) {
  while (now_ns() < deadline_ns && run(deadline_ns)) {
  }
}

Error BoardMachine::gone() const {
  const std::string why = !trouble_.empty()          ? trouble_
                          : !usb_->problem().empty() ? usb_->problem()
                                                     : "the device left the bus";
  return Error{ErrorCode::gone, name_ + ": " + why};
}

std::string BoardMachine::fault() {
  const std::string state = board_->fault_state();
  return state.empty() ? state : "is in a fault handler: " + state.substr(0, state.find('\n'));
}

std::string BoardMachine::diagnosis(const std::string& what) {
  if (trouble_ == kAsleep) return fmt::format("the firmware has no {}, and sleeps for ever", what);
  if (!trouble_.empty()) return trouble_;
  if (!usb_->problem().empty()) return usb_->problem();
  const std::string state = fault();
  if (!state.empty()) return state;
  return fmt::format("the firmware has no {} after 5 s (try `millrace board run` with it)", what);
}

namespace {

// All that can be known without the image; *path gets its name.
Status read_name(const std::string& rest, Options* options, std::string* path) {
  const std::string name = "board:" + rest;
  const size_t mark = rest.find('?');
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
    const Status taken = take_option(item.substr(0, equals), item.substr(equals + 1), options);
    if (!taken) {
      return Error{ErrorCode::usage,
                   fmt::format("port {}: {}", printable(name), taken.error().message)};
    }
  }
  if (mark == 0 || rest.empty()) {
    return Error{ErrorCode::usage,
                 "port board: names no image (put the firmware's file behind board:, as in "
                 "board:firmware.elf?host=ideal)"};
  }
  *path = rest.substr(0, mark);
  Status status = check_captures_apart(*path, *options);
  if (status) status = load_timing_profile("timing=", &options->board);
  if (status) return status;
  return Error{status.error().code,
               fmt::format("port {}: {}", printable(name), status.error().message)};
}

}  // namespace

Status check_board_machine(const std::string& rest) {
  Options options;
  std::string path;
  if (Status read = read_name(rest, &options, &path); !read) return read;
  const std::string problem = board::usb_host_problem(options.usb);
  if (problem.empty()) return Status();
  return Error{ErrorCode::usage, fmt::format("port board:{}: {}", printable(rest), problem)};
}

Result<std::shared_ptr<BoardMachine>> make_board_machine(const std::string& rest) {
  const std::string name = "board:" + rest;
  Options options;
  std::string path;
  if (const Status read = read_name(rest, &options, &path); !read) return read.error();
  Result<board::Image> image = load_image(ImageOptions{path, {}});
  if (!image) {
    return Error{image.error().code,
                 fmt::format("port {}: {}", printable(name), image.error().message)};
  }
  BusCaptures captures;
  if (const Status opened = open_captures(options, &captures); !opened) return opened.error();
  auto machine = std::make_shared<BoardMachine>(name, std::move(captures));
  const Status started = machine->start(*image, options.board.board, std::move(options.usb));
  if (!started) return started.error();
  return machine;
}

}  // namespace millrace::cli
