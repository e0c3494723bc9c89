// SPDX-License-Identifier: Apache-2.0
// The host's side of a PTY for tests of the PC port: opens the slave raw and reads with deadlines
// that only a broken device reaches.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "firmware/app/device_fixture.h"

namespace millrace::firmware {

class PtyHost {
 public:
  explicit PtyHost(const std::string& path) { open(path); }
  ~PtyHost() { close(); }
  PtyHost(const PtyHost&) = delete;
  PtyHost& operator=(const PtyHost&) = delete;

  bool open(const std::string& path) {
    close();
    fd_ = ::open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) return false;
    termios modes{};
    tcgetattr(fd_, &modes);
    cfmakeraw(&modes);
    return tcsetattr(fd_, TCSANOW, &modes) == 0;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }

  void send(const std::string& bytes) {
    size_t at = 0;
    while (at < bytes.size() && wait(POLLOUT, kPatienceMs)) {
      const ssize_t n = ::write(fd_, bytes.data() + at, bytes.size() - at);
      if (n > 0) at += static_cast<size_t>(n);
    }
  }
  // Takes what is there into buffer(); false when nothing came for so long, or at a hangup.
  bool receive(int patience_ms) {
    if (!wait(POLLIN, patience_ms)) return false;
    char data[65536];
    const ssize_t n = ::read(fd_, data, sizeof(data));
    if (n > 0) {
      buffer_.append(data, static_cast<size_t>(n));
      largest_read_ =
          largest_read_ < static_cast<size_t>(n) ? static_cast<size_t>(n) : largest_read_;
    } else {
      hung_up_ = true;
    }
    return n > 0;
  }
  bool receive_at_least(size_t size) {
    while (buffer_.size() < size && receive(kPatienceMs)) {
    }
    return buffer_.size() >= size;
  }
  // Reads until a hangup; false if none comes.
  bool receive_until_hangup() {
    while (receive(kPatienceMs)) {
    }
    return hung_up_;
  }
  // The message of a fixed size that comes next, if it does.
  template <class T>
  std::optional<T> receive_message(link::MessageType type) {
    receive_at_least(T::kBytes + link::kMessageOverhead);
    return take<T>(&buffer_, type);
  }
  std::optional<link::Hello> probe() {
    send(probe_bytes());
    return receive_message<link::Hello>(link::MessageType::hello);
  }
  // Probe, RUN, STARTED.
  bool start(link::RunRequest request) {
    const auto hello = probe();
    if (!hello) return false;
    request.session_id = hello->session_id;
    send(run_bytes(request));
    const auto started = receive_message<link::Started>(link::MessageType::started);
    return started && started->status == link::StartStatus::started;
  }
  // Reads until a REPORT stands at the end, and takes it away: buffer() is then what the stream
  // became.
  std::optional<link::DeviceCounters> receive_report() {
    constexpr size_t kReport = link::DeviceCounters::kBytes + link::kMessageOverhead;
    do {
      if (buffer_.size() < kReport) continue;
      std::string tail = buffer_.substr(buffer_.size() - kReport);
      const auto report = take<link::DeviceCounters>(&tail, link::MessageType::report);
      if (!report) continue;
      buffer_.resize(buffer_.size() - kReport);
      return report;
    } while (receive(kPatienceMs));
    return std::nullopt;
  }
  std::string& buffer() { return buffer_; }
  size_t largest_read() const { return largest_read_; }
  bool hung_up() const { return hung_up_; }

  static constexpr int kPatienceMs = 20'000;

 private:
  bool wait(short events, int ms) {
    pollfd p{fd_, events, 0};
    return ::poll(&p, 1, ms) > 0;
  }

  int fd_ = -1;
  std::string buffer_;
  size_t largest_read_ = 0;
  bool hung_up_ = false;
};

}  // namespace millrace::firmware
