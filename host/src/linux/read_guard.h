// SPDX-License-Identifier: Apache-2.0
// Ends a read() of a tty that would not end by itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace millrace::host {

// Watches the blocking reads of one tty from a thread of its own.
class ReadGuard {
 public:
  // `fd`: an open tty without O_NONBLOCK whose reads are to end after 100 ms by VTIME. Must outlive
  // the guard.
  explicit ReadGuard(int fd);
  ~ReadGuard();
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;

  // Around each blocking read(); one thread. A read that goes on for 150 to 225 ms is ended with
  // EAGAIN (or with what it has got) and VMIN 0, VTIME 1 are set again. A read behind it may find
  // O_NONBLOCK still set: after EAGAIN call block_again().
  void enter() { count(); }
  void leave() { count(); }
  void block_again() const;

 private:
  void count() {
    reads_.store(reads_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void watch();
  void end_read() const;

  const int fd_;
  const int flags_;
  std::atomic<uint64_t> reads_{0};  // odd: one is under way
  std::mutex mutex_;
  std::condition_variable over_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace::host
