// SPDX-License-Identifier: Apache-2.0
// A blocking read() of a tty ends by VTIME, a setting that any program may change (a modem probe,
// Python's tty.setraw() with VMIN 1): the next read then waits for bytes that need not come. poll()
// before each read would be the usual way out, at half the rate: 0.47 to 0.69 of a loop of plain
// read() calls where read() alone reaches 0.62 to 1.18 (bench/serial_clients, a busy machine). So
// another thread looks every 75 ms whether the same read is still under way; the reading one pays
// two stores for that.
//
// A read that sleeps in n_tty_read() looks at O_NONBLOCK whenever it is woken, and every change of
// the tty's settings wakes it: no signal is needed. Of the settings only VMIN and VTIME are put
// back; what else was changed shows in the data and is the verdict's business.
#include "linux/read_guard.h"

#include <fcntl.h>
#include <termios.h>

#include <chrono>

namespace millrace::host {
namespace {

constexpr std::chrono::milliseconds kLook{75};
constexpr int kLooks = 3;  // at the same read: it is at least two intervals old

}  // namespace

ReadGuard::ReadGuard(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL) & ~O_NONBLOCK) {
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

void ReadGuard::watch() {
  uint64_t before = 0;
  int looks = 0;
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kLook, [this] { return stopping_; })) {
    const uint64_t now = reads_.load();
    looks = now == before ? looks + 1 : 1;
    before = now;
    if ((now & 1) == 0 || looks < kLooks) continue;
    end_read();
    looks = 0;
  }
}

void ReadGuard::end_read() const {
  ::fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
  termios settings{};
  if (::tcgetattr(fd_, &settings) != 0) return;  // hung up: the read ends by that
  settings.c_cc[VMIN] = 0;
  settings.c_cc[VTIME] = 1;
  ::tcsetattr(fd_, TCSANOW, &settings);
}

void ReadGuard::block_again() const { ::fcntl(fd_, F_SETFL, flags_); }

}  // namespace millrace::host
