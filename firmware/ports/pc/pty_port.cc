// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/pc/pty_port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <utility>

namespace millrace::firmware {
namespace {

// What the kernel holds between the master's write() and the slave's read(): flip buffers of
// 64 KiB at most and the line discipline's 4 KiB (drivers/tty/tty_buffer.c, n_tty.c).
constexpr uint32_t kPtyBufferBytes = 65536 + 4096;

timespec to_timespec(uint32_t us) {
  timespec t{};
  t.tv_sec = us / 1'000'000;
  t.tv_nsec = static_cast<long>(us % 1'000'000) * 1000;
  return t;
}

}  // namespace

Pty& Pty::operator=(Pty&& other) noexcept {
  if (this != &other) {
    close();
    master_ = std::exchange(other.master_, -1);
    slave_ = std::exchange(other.slave_, -1);
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

bool Pty::open(std::string* error) {
  const auto fail = [&](const char* what) {
    const bool is_limit = errno == EMFILE || errno == ENFILE;
    *error = std::string("a pseudo-terminal cannot be made: ") + what + ": " + strerror(errno) +
             (is_limit ? " (allow more with `ulimit -n`)" : "");
    close();
    return false;
  };
  close();
  master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (master_ < 0) return fail("open /dev/ptmx");
  char name[64];
  if (grantpt(master_) != 0 || unlockpt(master_) != 0) return fail("unlock");
  if (ptsname_r(master_, name, sizeof(name)) != 0) return fail("name");
  slave_ = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (slave_ < 0) return fail(name);
  termios modes{};
  if (tcgetattr(slave_, &modes) != 0) return fail(name);
  cfmakeraw(&modes);
  if (tcsetattr(slave_, TCSANOW, &modes) != 0) return fail(name);
  path_ = name;
  return true;
}

void Pty::close() {
  if (master_ >= 0) ::close(master_);
  if (slave_ >= 0) ::close(slave_);
  master_ = slave_ = -1;
  path_.clear();
}

bool Pty::drained() const {
  // The poll of a slave with nothing to read first waits for what is on its way to the line
  // discipline (n_tty_poll), so "nothing" means nothing anywhere.
  pollfd slave{slave_, POLLIN, 0};
  return poll(&slave, 1, 0) == 0;
}

void Pty::add_input_modes(unsigned flags) {
  termios modes{};
  if (tcgetattr(slave_, &modes) != 0) return;
  modes.c_iflag |= flags;
  tcsetattr(slave_, TCSANOW, &modes);
}

bool PtyPort::open(std::string* error) {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) {
    *error = std::string("eventfd: ") + strerror(errno);
    return false;
  }
  return pty_.open(error);
}

PtyPort::~PtyPort() {
  if (wake_ >= 0) close(wake_);
}

size_t PtyPort::write(const uint8_t* data, size_t size) {
  const ssize_t taken = ::write(pty_.master(), data, size);
  const size_t result = taken > 0 ? static_cast<size_t>(taken) : 0;
  blocked_ = result < size;
  return result;
}

size_t PtyPort::read(uint8_t* data, size_t size) {
  const ssize_t taken = ::read(pty_.master(), data, size);
  return taken > 0 ? static_cast<size_t>(taken) : 0;
}

uint32_t PtyPort::now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint32_t>(static_cast<uint64_t>(now.tv_sec) * 1'000'000 +
                               static_cast<uint64_t>(now.tv_nsec) / 1000);
}

void PtyPort::idle(uint32_t max_us) {
  const short wanted = static_cast<short>(blocked_ ? POLLIN | POLLOUT : POLLIN);
  pollfd fds[2] = {{wake_, POLLIN, 0}, {pty_.master(), wanted, 0}};
  const timespec timeout = to_timespec(max_us);
  ppoll(fds, 2, &timeout, nullptr);
  uint64_t count = 0;
  if ((fds[0].revents & POLLIN) != 0) (void)!::read(wake_, &count, sizeof(count));
}

void PtyPort::pause(uint32_t max_us) {
  pollfd wake{wake_, POLLIN, 0};
  const timespec timeout = to_timespec(max_us);
  ppoll(&wake, 1, &timeout, nullptr);
  uint64_t count = 0;
  if ((wake.revents & POLLIN) != 0) (void)!::read(wake_, &count, sizeof(count));
}

void PtyPort::wake() {
  const uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof(one));
}

PortInfo PtyPort::info() {
  PortInfo info;
  info.board = "pc";
  info.tx_buffer_bytes = kPtyBufferBytes;
  info.rx_buffer_bytes = kPtyBufferBytes;
  info.boot_counter = boot_counter_;
  return info;
}

}  // namespace millrace::firmware
