// SPDX-License-Identifier: Apache-2.0
// `millrace turnaround usbmonN`: the capture that is made while it is analysed, and its pings.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "cli/command_line.h"
#include "millrace/capture/live.h"
#include "millrace/capture/pinger.h"

namespace millrace::cli {

class LiveRun {
 public:
  ~LiveRun();
  void add_options(Command& command);
  static bool is_live(const std::string& name) { return capture::is_usbmon_name(name); }
  // Options that go together, and with a bus only. Errors: usage.
  host::Status check(const std::string& name) const;
  // Whether the capture can be kept where it should be; errors of outputs.
  host::Status check_save() const;
  // Begins to capture and to ping. Everything that may fail has been tried before.
  host::Result<std::unique_ptr<capture::ByteSource>> open(const std::string& name);
  // Waits for the pings and closes the copy. Errors: no_space.
  host::Status close();
  const std::optional<capture::PingResult>& pings() const { return result_; }

 private:
  bool keep_going();

  double seconds_ = 0;  // 0: until Ctrl-C, or until the pings are over
  uint32_t count_ = 0, interval_ms_ = 10;
  std::string target_, save_;
  std::chrono::steady_clock::time_point begun_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> copy_{nullptr, &std::fclose};
  int copy_error_ = 0;
  std::unique_ptr<capture::Pinger> pinger_;
  std::thread thread_;
  std::atomic<bool> pings_over_{false};
  std::atomic<bool> stop_pings_{false};
  std::optional<capture::PingResult> result_;
};

}  // namespace millrace::cli
