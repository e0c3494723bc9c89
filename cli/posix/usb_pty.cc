// SPDX-License-Identifier: Apache-2.0
// Whether a program has the slave open is seen from POLLHUP at the master, which Linux reports
// while nobody has; so the slave is not held open here, as the UARTs do it. It is opened once to
// make it raw, which also makes the master see that it was closed. A program that closes and opens
// again between two looks is known from inotify; where there is none, it is missed. One that does
// so during a write() here, a few microseconds, may still get up to 4 KB of what it left behind.
//
// As with the tty of a USB device: open() raises DTR, the last close() drops it after the bytes
// under way have gone (closing_wait, 30 s), and what nobody read is forgotten then.
#include "cli/posix/usb_pty.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "cli/print.h"
#include "firmware/ports/pc/pty_link.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

namespace {

constexpr uint64_t kClosingWaitNs = 30'000'000'000;
// What open() and close() tell the device is with it before anything else happens, as in Linux,
// where both wait for it.
constexpr uint64_t kLinesNs = 1'000'000;
constexpr size_t kPiece = 65536;
constexpr size_t kOutputPiece = 4096;

// What a PTY begins with is cooked and echoes.
bool make_raw(const char* path) {
  const int slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (slave < 0) return false;
  termios modes{};
  bool is_good = tcgetattr(slave, &modes) == 0;
  cfmakeraw(&modes);
  is_good = is_good && tcsetattr(slave, TCSANOW, &modes) == 0;
  close(slave);
  return is_good;
}

}  // namespace

UsbPty::~UsbPty() {
  if (master_ >= 0) vanish();
}

Status UsbPty::check() const {
  if (link_.empty()) return Status();
  const std::string start = fmt::format("--usb: link {}: ", printable(link_));
  const std::string problem = firmware::pty_link_problem(link_, "");
  if (!problem.empty()) return Error{ErrorCode::usage, start + printable(problem)};
  unlink(link_.c_str());
  // By another name: who waits for the port would take this for it.
  const std::string trial = fmt::format("{}.{}", link_, getpid());
  if (symlink("/dev/null", trial.c_str()) != 0) {
    return Error{ErrorCode::usage, start + std::strerror(errno) + " (choose another place)"};
  }
  unlink(trial.c_str());
  return Status();
}

void UsbPty::appear() {
  std::array<char, 128> name{};
  master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0 ||
      ptsname_r(master_, name.data(), name.size()) != 0 || !make_raw(name.data())) {
    is_broken_ = true;
    write_now(report_, fmt::format("millrace: --usb: open a PTY: {} (close some terminals)\n",
                                   std::strerror(errno)));
    if (master_ >= 0) close(master_);
    master_ = -1;
    return;
  }
  path_ = name.data();
  users_ = 0;
  watch_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch_ >= 0) inotify_add_watch(watch_, path_.c_str(), IN_OPEN | IN_CLOSE);
  // What somebody else has put there meanwhile stays.
  if (!link_.empty() && firmware::pty_link_problem(link_, path_).empty()) {
    unlink(link_.c_str());
    if (symlink(path_.c_str(), link_.c_str()) != 0) {
      write_now(report_, fmt::format("millrace: --usb: link {}: {} (choose another place)\n",
                                     printable(link_), std::strerror(errno)));
    }
  }
  write_now(report_, fmt::format("USB serial port is at {}\n", path_));
}

void UsbPty::vanish() {
  close(master_);
  if (watch_ >= 0) close(watch_);
  master_ = watch_ = -1;
  if (!link_.empty() && firmware::link_target(link_) == path_) unlink(link_.c_str());
  path_.clear();
}

void UsbPty::take_input() {
  std::array<char, kPiece> bytes;
  while (to_board_.size() < kPiece) {
    const ssize_t count = read(master_, bytes.data(), bytes.size());
    if (count <= 0) return;
    to_board_.append(bytes.data(), static_cast<size_t>(count));
  }
}

// Looks for a close before every piece: what is written behind it reaches the next program.
void UsbPty::give_output() {
  std::array<uint8_t, kOutputPiece> bytes;
  for (;;) {
    was_released_ = was_released_ || was_closed();
    if (was_released_) return;
    if (to_program_.empty()) {
      const size_t count = usb_.read(bytes);
      if (count == 0) return;
      to_program_.assign(bytes.data(), bytes.data() + count);
    }
    const ssize_t written = write(master_, to_program_.data(), to_program_.size());
    if (written <= 0) return;
    to_program_.erase(0, static_cast<size_t>(written));
    if (!to_program_.empty()) return;
  }
}

// True: the last program that had the slave closed it since the last look.
bool UsbPty::was_closed() {
  if (watch_ < 0) return false;
  alignas(inotify_event) std::array<char, 4096> bytes;
  bool closed = false;
  for (;;) {
    const ssize_t size = read(watch_, bytes.data(), bytes.size());
    if (size <= 0) return closed;
    for (size_t at = 0; at < static_cast<size_t>(size);) {
      const auto* const event = reinterpret_cast<const inotify_event*>(bytes.data() + at);
      at += sizeof(inotify_event) + event->len;
      if ((event->mask & IN_OPEN) != 0) ++users_;
      if ((event->mask & IN_CLOSE) != 0 && users_ > 0 && --users_ == 0) closed = true;
    }
  }
}

void UsbPty::close_port(uint64_t ns) {
  usb_.close();
  was_released_ = false;
  quiet_until_ns_ = ns + kLinesNs;
  is_open_ = false;
  closed_ns_ = 0;
  to_program_.clear();
  // What the program did not read: first on its way to the slave, then in it. Linux applies these
  // to the slave.
  termios modes{};
  tcflush(master_, TCOFLUSH);
  if (tcgetattr(master_, &modes) == 0) tcsetattr(master_, TCSAFLUSH, &modes);
}

void UsbPty::exchange(uint64_t ns) {
  if (std::string problem = usb_.problem(); problem != problem_) {
    problem_ = std::move(problem);
    if (!problem_.empty()) write_now(report_, fmt::format("USB: {}\n", printable(problem_)));
  }
  if (!usb_.is_ready()) {
    if (is_open_) close_port(ns);
    to_board_.clear();
    if (master_ >= 0) vanish();
    return;
  }
  was_there_ = true;
  if (master_ < 0 && !is_broken_) appear();
  if (master_ < 0) return;
  // In this order: what was written behind a close that is not seen yet must wait for the next
  // open().
  take_input();
  was_released_ = was_closed() || was_released_;
  pollfd look{master_, POLLIN, 0};
  const bool is_held = poll(&look, 1, 0) >= 0 && (look.revents & POLLHUP) == 0;
  if (was_released_ && is_held && is_open_) return close_port(ns);  // and open at a later look
  if (ns < quiet_until_ns_) return;
  if (!is_open_ && (is_held || !to_board_.empty())) {
    usb_.open();
    is_open_ = true;
    was_released_ = false;
    closed_ns_ = 0;
    quiet_until_ns_ = ns + kLinesNs;
  }
  if (!is_open_ || ns < quiet_until_ns_) return;
  if (!to_board_.empty()) {
    const auto* const data = reinterpret_cast<const uint8_t*>(to_board_.data());
    to_board_.erase(0, usb_.write({data, to_board_.size()}));
  }
  if (is_held) {
    closed_ns_ = 0;
    return give_output();
  }
  if (closed_ns_ == 0) closed_ns_ = ns;
  if (!to_board_.empty() && ns - closed_ns_ < kClosingWaitNs) return;
  close_port(ns);
  to_board_.clear();
}

}  // namespace millrace::cli
