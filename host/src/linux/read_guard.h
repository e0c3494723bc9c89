// SPDX-License-Identifier: Apache-2.0
// A blocking read() of a tty that ends at a deadline.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>

#include "millrace/host/clock.h"

namespace millrace::host {

// Makes the blocking reads of one tty, and watches them from a thread of its own.
class ReadGuard {
 public:
  // A deadline nearer than this may be seen too late: read without blocking instead.
  static constexpr int64_t kNearestDeadlineNs = 95'000'000;

  // `fd`: an open tty, VMIN 1, VTIME 0, without O_NONBLOCK. Must outlive the guard. Takes SIGURG of
  // the process (read_guard.cc).
  explicit ReadGuard(int fd);
  ~ReadGuard();
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;

  // read(2): 1 byte or more, 0 (hung up, or somebody changed the settings), or -1. Once
  // `deadline_ns` of system_clock() has passed it ends with EAGAIN or EINTR, or with what it has
  // got; the same may happen earlier. From one thread at a time.
  ssize_t read(std::span<uint8_t> into, int64_t deadline_ns);
  // From any thread: the read that is under way, or the next one, ends as at its deadline.
  void end_read();
  // Sets VMIN 1, VTIME 0 again, nothing else of the settings. True: they had been changed.
  bool restore_settings() const;

 private:
  void watch();

  const int fd_;
  const int flags_;
  std::atomic<int64_t> deadline_ns_{0};
  std::atomic<pid_t> reader_{0};
  std::atomic<uint64_t> reads_{0};  // odd: one is under way; the two above are set by then
  std::mutex mutex_;
  std::condition_variable over_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace::host
