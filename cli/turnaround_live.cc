// SPDX-License-Identifier: Apache-2.0
#include "cli/turnaround_live.h"

#include <fmt/core.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/print.h"
#include "cli/values.h"

namespace millrace::cli {

using capture::ByteSource;
using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

constexpr uint32_t kMostPings = 1'000'000;
constexpr double kMostLiveSeconds = 1e6;

ValueParser seconds_into(double* target) {
  return [target](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_good = !text.empty() && *end == '\0' && std::isfinite(value) && value > 0;
    if (!is_good || value > kMostLiveSeconds) {
      return Status(Error{ErrorCode::usage, "give seconds, such as 10"});
    }
    *target = value;
    return Status();
  };
}

}  // namespace

LiveRun::~LiveRun() {
  stop_pings_ = true;
  if (thread_.joinable()) thread_.join();
}

void LiveRun::add_options(Command& command) {
  command.option("--seconds", "S", "Capture for S seconds (until Ctrl-C, or the last ping)",
                 ValueKind::text, seconds_into(&seconds_));
  command.option("--ping", "N",
                 "Send N pings while capturing, without root; 300 is the published "
                 "figure's number",
                 ValueKind::text, number_into(&count_, Scale::count, 1, kMostPings));
  command.text("--to", "ADDRESS", "Where the pings go: the device's IPv4 address", ValueKind::text,
               &target_);
  command.option("--ping-interval-ms", "MS", "Time from ping to ping (10)", ValueKind::text,
                 number_into(&interval_ms_, Scale::count, 1, 60'000));
  command.text("--save", "FILE", "Keep what is captured, as pcapng", ValueKind::output, &save_);
}

Status LiveRun::check(const std::string& name) const {
  if (!is_live(name) && (seconds_ > 0 || count_ != 0 || !target_.empty() || !save_.empty())) {
    return Error{ErrorCode::usage,
                 "--seconds, --ping, --to and --save need a capture that is made now (name a bus, "
                 "such as usbmon1)"};
  }
  if ((count_ != 0) != !target_.empty()) {
    return Error{ErrorCode::usage, "--ping and --to go together (--ping 300 --to 192.168.7.1)"};
  }
  if (save_ == "-") {
    return Error{ErrorCode::usage, "--save -: the report goes to stdout (name a file)"};
  }
  return Status();
}

Status LiveRun::check_save() const { return save_.empty() ? Status() : check_output(save_); }

bool LiveRun::keep_going() {
  if (interrupted()) {
    stop_pings_ = true;
    return false;
  }
  if (pings_over_ && seconds_ <= 0) return false;
  const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begun_;
  return seconds_ <= 0 || gone.count() < seconds_;
}

Result<std::unique_ptr<ByteSource>> LiveRun::open(const std::string& name) {
  if (count_ != 0) {
    capture::PingOptions options;
    options.address = target_;
    options.count = count_;
    options.interval_ms = interval_ms_;
    Result<std::unique_ptr<capture::Pinger>> pinger = capture::open_pinger(options);
    if (!pinger) return pinger.error();
    pinger_ = std::move(*pinger);
  }
  capture::LiveOptions options;
  options.name = name;
  options.keep_going = [this] { return keep_going(); };
  if (!save_.empty()) {
    options.copy = [this](const uint8_t* bytes, size_t size) {
      if (copy_ == nullptr || copy_error_ != 0) return;
      // Flushed, so that the file can be followed; there are few pieces when there is much.
      if (std::fwrite(bytes, 1, size, copy_.get()) != size || std::fflush(copy_.get()) != 0) {
        copy_error_ = errno;
      }
    };
    copy_.reset(std::fopen(save_.c_str(), "wb"));
    if (copy_ == nullptr) {
      return Error{ErrorCode::usage, fmt::format("--save: open {}: {} (choose another file)",
                                                 printable(save_), std::strerror(errno))};
    }
  }
  begun_ = std::chrono::steady_clock::now();
  Result<std::unique_ptr<ByteSource>> source = capture::open_usbmon(options);
  if (!source || pinger_ == nullptr) return source;
  thread_ = std::thread([this] {
    result_ = pinger_->run(stop_pings_);
    pings_over_ = true;
  });
  return source;
}

Status LiveRun::close() {
  stop_pings_ = true;
  if (thread_.joinable()) thread_.join();
  if (copy_ == nullptr) return Status();
  if (std::fclose(copy_.release()) != 0 && copy_error_ == 0) copy_error_ = errno;
  if (copy_error_ == 0) return Status();
  return Error{ErrorCode::no_space,
               fmt::format("--save: write {}: {} (free some space; what is there is valid)",
                           printable(save_), std::strerror(copy_error_))};
}

}  // namespace millrace::cli
