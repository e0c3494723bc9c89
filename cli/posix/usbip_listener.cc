// SPDX-License-Identifier: Apache-2.0
// Two clocks meet here: the board's, which goes as fast as this machine simulates it, and that of
// the client's kernel. Letting the board run whenever a transfer is pending would not do: a serial
// port that is open has IN transfers pending all the time, the board would run far ahead while the
// client thinks, and firmware that gives up on a host that does not read within some milliseconds
// would give up. So the board is let go only while bytes move; between, it keeps to the wall clock.
// What it is behind, or was ahead, is forgotten: nobody compares the two clocks over long times.
#include "cli/posix/usbip_listener.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

namespace millrace::cli {

using host::Result;
using host::Status;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr size_t kInputBytes = 65536;
constexpr uint64_t kFreeNs = 2'000'000;               // of the board, behind the last byte
constexpr uint64_t kDeviceWaitNs = 5'000'000'000;     // of the board, until there is a device
constexpr auto kHandshake = std::chrono::seconds(5);  // of a client
constexpr nanoseconds kMostWait = milliseconds(50);
constexpr nanoseconds kForgotten = milliseconds(20);  // of being behind

}  // namespace

Status UsbIpListener::listen(unsigned port) {
  Result<Socket> listener = listen_locally(port, "USB/IP");
  if (!listener) return listener.error();
  listener_ = std::move(*listener);
  paced_ = Clock::now();
  return Status();
}

std::string UsbIpListener::take_problem() { return std::exchange(problem_, std::string()); }

// A client may come before the firmware has answered the first request: it is not told that there
// is no device until that is certain.
bool UsbIpListener::waits_for_device() const {
  return client_.valid() && !usb_.is_imported() && !usb_.is_ready() && usb_.problem().empty() &&
         !is_asleep_ && board_ns_ < accepted_ns_ + kDeviceWaitNs;
}

bool UsbIpListener::is_free() const {
  return pace_ == Pace::free &&
         (waits_for_device() || (client_.valid() && board_ns_ < moved_ns_ + kFreeNs));
}

nanoseconds UsbIpListener::until_due(Clock::time_point now) {
  const Clock::time_point due = paced_ + nanoseconds(board_ns_ - paced_ns_);
  if (is_free() || due + kForgotten < now) {
    paced_ = now;
    paced_ns_ = board_ns_;
    return nanoseconds(0);
  }
  return std::clamp<nanoseconds>(due - now, nanoseconds(0), kMostWait);
}

void UsbIpListener::exchange(uint64_t board_ns, bool is_asleep) {
  board_ns_ = board_ns;
  is_asleep_ = is_asleep;
  const bool was_imported = usb_.is_imported();
  if (client_.valid()) {
    hand_over();
    send();
  }
  const Clock::time_point now = Clock::now();
  if (client_.valid() && was_imported && !usb_.is_ready()) drop();
  if (client_.valid() && !usb_.is_imported() && !waits_for_device() &&
      now > accepted_ + kHandshake) {
    drop();
  }
  const nanoseconds wait = until_due(now);
  std::array<pollfd, 2> sockets{};
  sockets[0] = {listener_.get(), POLLIN, 0};
  sockets[1] = {client_.get(), POLLRDHUP, 0};  // -1: left out
  if (input_.size() < kInputBytes) sockets[1].events |= POLLIN;
  if (!usb_.output().empty()) sockets[1].events |= POLLOUT;
  const timespec timeout{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
  if (::ppoll(sockets.data(), sockets.size(), &timeout, nullptr) <= 0) return;
  // One that hung up is gone whatever it sent before: the next may stand at the door already.
  const auto gone = static_cast<short>(POLLRDHUP | POLLHUP | POLLERR);
  if ((sockets[1].revents & gone) != 0) drop();
  if ((sockets[1].revents & POLLIN) != 0 && client_.valid()) receive();
  if (sockets[0].revents != 0) accept();
  if (client_.valid()) {
    hand_over();
    send();
  }
}

void UsbIpListener::accept() {
  Socket came = accept_from(listener_);
  if (!came.valid() || client_.valid()) return;
  client_ = std::move(came);
  accepted_ = Clock::now();
  accepted_ns_ = board_ns_;
}

void UsbIpListener::receive() {
  const size_t room = kInputBytes - std::min(kInputBytes, input_.size());
  if (room == 0) return;
  const size_t old = input_.size();
  input_.resize(old + room);
  const ssize_t size = ::recv(client_.get(), input_.data() + old, room, 0);
  const int code = errno;
  input_.resize(old + static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (size > 0) {
    moved_ns_ = board_ns_;
  } else if (size == 0 || (code != EAGAIN && code != EINTR)) {
    drop();
  }
}

void UsbIpListener::hand_over() {
  if (input_.empty() || waits_for_device()) return;
  const size_t taken = usb_.receive(input_);
  input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(taken));
  if (usb_.client_problem().empty()) return;
  problem_ = usb_.client_problem();
  drop();
}

void UsbIpListener::send() {
  while (client_.valid() && !usb_.output().empty()) {
    const std::span<const uint8_t> bytes = usb_.output();
    const ssize_t size = ::send(client_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size > 0) {
      usb_.consume(static_cast<size_t>(size));
      moved_ns_ = board_ns_;
    } else if (errno == EAGAIN || errno == EINTR) {
      return;
    } else {
      drop();
    }
  }
}

void UsbIpListener::drop() {
  client_.reset();
  input_.clear();
  usb_.disconnect();
}

}  // namespace millrace::cli
