// SPDX-License-Identifier: Apache-2.0
// A tty read that costs one system call and no timer.
//
// VMIN 1, VTIME 0 lets read() sleep until a byte is there, for ever if need be. Two ways to bound
// it were rejected: poll() before each read halves the rate (0.47 to 0.69 of a loop of plain read()
// calls), and VMIN 0 with VTIME arms and cancels a kernel timer whenever a read sleeps, which is
// once per 4 KB of a PTY: 0.2 to 0.4 ns a byte. So the reading thread leaves its deadline in memory
// (three stores), and another thread looks there every 75 ms, and at the deadline itself once it
// has seen it.
//
// The end of a read is O_NONBLOCK, then a signal. Either alone can come too late: the flag between
// the kernel's look at it and its sleep, the signal before read() has begun. Together they cannot:
// a read that has yet to begin sees the flag, a sleeping one is woken and sees it then. It is set
// for the blocking descriptor only, and the next read takes it away. SIGURG, because its default
// is to be ignored: a handler that does nothing makes it interrupt system calls instead, in the one
// thread it is sent to. By number and not by pthread_t, which may not outlive its thread.
//
// Another program may change VMIN and VTIME (a modem probe, `stty min 4`). A read that two looks
// find asleep makes the guard ask for them, put them back, and end the read, which would go by the
// old ones. What else was changed shows in the data and is the verdict's business.
#include "linux/read_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "linux/tty_settings.h"

namespace millrace::host {
namespace {

constexpr int64_t kGuardLookNs = 75'000'000;
static_assert(kGuardLookNs < ReadGuard::kNearestDeadlineNs);
constexpr int64_t kAgainNs = 5'000'000;  // a read that was told to end and goes on
constexpr int kWakeUp = SIGURG;

void take_wake_up_signal() {
  struct sigaction action {};
  action.sa_handler = [](int) {};  // without SA_RESTART: system calls end with EINTR
  ::sigaction(kWakeUp, &action, nullptr);
}

// The number of the calling thread, which the signal can reach from now on.
pid_t reachable_thread() {
  thread_local const pid_t number = [] {
    sigset_t wake_up;
    ::sigemptyset(&wake_up);
    ::sigaddset(&wake_up, kWakeUp);
    ::pthread_sigmask(SIG_UNBLOCK, &wake_up, nullptr);
    return static_cast<pid_t>(::syscall(SYS_gettid));
  }();
  return number;
}

}  // namespace

ReadGuard::ReadGuard(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL) & ~O_NONBLOCK) {
  static const bool once = [] {
    take_wake_up_signal();
    return true;
  }();
  (void)once;
  thread_ = std::thread([this] { watch(); });
}

ReadGuard::~ReadGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  over_.notify_one();
  thread_.join();
}

ssize_t ReadGuard::read(std::span<uint8_t> into, int64_t deadline_ns) {
  deadline_ns_.store(deadline_ns, std::memory_order_relaxed);
  reader_.store(reachable_thread(), std::memory_order_relaxed);
  const uint64_t number = reads_.load(std::memory_order_relaxed);
  reads_.store(number + 1, std::memory_order_release);
  const ssize_t got = ::read(fd_, into.data(), into.size());
  reads_.store(number + 2, std::memory_order_release);
  if (got < 0 && errno == EAGAIN) {
    ::fcntl(fd_, F_SETFL, flags_);
    errno = EAGAIN;
  }
  return got;
}

void ReadGuard::watch() {
  uint64_t before = 0;
  int64_t wait_ns = kGuardLookNs;
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, std::chrono::nanoseconds(wait_ns), [this] { return stopping_; })) {
    wait_ns = kGuardLookNs;
    const uint64_t read = reads_.load(std::memory_order_acquire);
    const bool is_old = read == std::exchange(before, read);
    if ((read & 1) == 0) continue;
    const int64_t left = deadline_ns_.load(std::memory_order_relaxed) - system_clock().now_ns();
    const bool restored = is_old && restore_settings();
    if (left <= 0 || restored) {
      end_read();
      wait_ns = kAgainNs;
    } else {
      wait_ns = std::min(left, kGuardLookNs);
    }
  }
}

void ReadGuard::end_read() {
  ::fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
  ::syscall(SYS_tgkill, ::getpid(), reader_.load(std::memory_order_relaxed), kWakeUp);
}

bool ReadGuard::restore_settings() const {
  termios settings{};
  if (::tcgetattr(fd_, &settings) != 0) return false;  // hung up: the read ends by that
  if (has_raw_read_limits(settings)) return false;
  set_raw_read_limits(&settings);
  ::tcsetattr(fd_, TCSANOW, &settings);
  return true;
}

}  // namespace millrace::host
