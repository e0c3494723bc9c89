// SPDX-License-Identifier: Apache-2.0
// Reads and writes with a deadline, at one system call each when the link is busy.
//
// The port is opened twice, because O_NONBLOCK belongs to the open file and the two directions
// want different things of it:
// - `blocking_` serves reads whose deadline is 95 ms or more away, with VMIN 1, VTIME 0: one call a
//   read, where poll() + read() is two. An acknowledged frame costs one read and one write. The
//   guard of read_guard.cc ends the read when its deadline has passed.
// - `nonblocking_` serves writes, and reads with a near deadline: one call when there is data, and
//   poll() only when there is none.
// A blocking write would be simpler, but nothing ends it when a device stops taking data.
//
// A write that finds no room waits for POLLOUT, but not for long at first: a Linux tty reports
// POLLOUT only once fewer than 256 bytes are queued in the driver (n_tty_poll), which cdc_acm's
// 16 buffers reach only when the link has already fallen idle. Trying again after 250 us, then
// 500 us, ... keeps them filled: they hold 32 KB, 0.6 ms at the rate of high-speed bulk.
//
// Gone is told from quiet by poll(): a hung-up tty reads 0 bytes for ever and reports POLLHUP.
#include "linux/tty_transport.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "linux/file_descriptor.h"
#include "linux/port_access.h"
#include "linux/read_guard.h"
#include "linux/sysfs.h"
#include "linux/tty_settings.h"
#include "linux/usb_tree.h"
#include "millrace/host/ports.h"

namespace millrace::host {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;
constexpr int64_t kFirstRetry = 250'000;
constexpr int64_t kLastRetry = 64 * kMillisecondNs;
constexpr int64_t kSettingsPause = 10 * kMillisecondNs;
constexpr int64_t kDrainAtClose = 500 * kMillisecondNs;

bool is_pty(dev_t device) { return major(device) >= 136 && major(device) <= 143; }

// The codes a tty driver reports once its device is gone or the tty hung up.
bool means_gone(int error) {
  return error == EIO || error == ENXIO || error == ENODEV || error == EPIPE ||
         error == ESHUTDOWN || error == ECONNRESET;
}

std::string text_of(int error) {
  std::array<char, 128> buffer{};
  return ::strerror_r(error, buffer.data(), buffer.size());  // the GNU one: any thread
}

int64_t time_left(Clock& clock, int64_t deadline_ns) {
  const int64_t now = clock.now_ns();
  return deadline_ns <= now ? 0 : deadline_ns - now;  // both are after the clock's 0: no overflow
}

class TtyTransport final : public Transport {
 public:
  TtyTransport(FileDescriptor blocking, FileDescriptor nonblocking, PortIdentity identity,
               std::string mode, bool exclusive)
      : blocking_(std::move(blocking)),
        nonblocking_(std::move(nonblocking)),
        identity_(std::move(identity)),
        mode_(std::move(mode)),
        exclusive_(exclusive) {}

  TtyTransport(const TtyTransport&) = delete;
  TtyTransport& operator=(const TtyTransport&) = delete;

  ~TtyTransport() override {
    drain_or_drop();
    // A tty that something else keeps open would stay closed to everyone but root.
    if (exclusive_) ::ioctl(nonblocking_.get(), TIOCNXCL);
  }

  IoResult read(std::span<uint8_t> into, int64_t deadline_ns) override {
    if (into.empty()) return {};
    while (true) {
      const int64_t left = time_left(clock(), deadline_ns);
      const bool block = left >= ReadGuard::kNearestDeadlineNs && may_wait_ && !has_no_guard_;
      const ssize_t got = block ? blocking_read(into, deadline_ns)
                                : ::read(nonblocking_.get(), into.data(), into.size());
      if (got > 0) return {IoKind::done, static_cast<size_t>(got), {}};
      if (got < 0 && errno != EAGAIN && errno != EINTR) return failure("read", errno, 0);
      if (!may_wait_) return {};
      // Nothing came: now there is time to ask why.
      int64_t wait = !block && got < 0 && errno == EAGAIN ? left : 0;
      if (block &&
          got == 0) {  // hung up, or VMIN is 0: reads would return at once, again and again
        guard_->restore_settings();
        wait = kSettingsPause;
      }
      IoResult state = wait_for(POLLIN, wait);
      if (state.kind != IoKind::done && (state.kind != IoKind::nothing_yet || left == 0)) {
        return state;
      }
    }
  }

  void let_reads_wait(bool may_wait) override {
    may_wait_ = may_wait;
    ReadGuard* guard = guard_made_;
    if (!may_wait && guard != nullptr) guard->end_read();
  }

  IoResult write(std::span<const uint8_t> from, int64_t deadline_ns) override {
    size_t done = 0;
    int64_t retry = kFirstRetry;
    while (done < from.size()) {
      const ssize_t put = ::write(nonblocking_.get(), from.data() + done, from.size() - done);
      if (put > 0) {
        done += static_cast<size_t>(put);
        retry = kFirstRetry;
        continue;
      }
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno != EAGAIN) return failure("write", errno, done);
      const int64_t left = time_left(clock(), deadline_ns);
      if (left == 0) return {IoKind::nothing_yet, done, {}};
      IoResult state = wait_for(POLLOUT, std::min(left, retry));
      if (state.kind == IoKind::gone || state.kind == IoKind::error) {
        state.size = done;
        return state;
      }
      retry = std::min(2 * retry, kLastRetry);
    }
    return {IoKind::done, done, {}};
  }

  Clock& clock() override { return system_clock(); }
  const PortIdentity& identity() const override { return identity_; }

  Result<ModemLines> modem_lines() override {
    int bits = 0;
    if (::ioctl(nonblocking_.get(), TIOCMGET, &bits) != 0) return modem_failure(errno);
    const auto on = [bits](int mask) { return (bits & mask) != 0; };
    return ModemLines{on(TIOCM_DTR), on(TIOCM_RTS), on(TIOCM_CTS),
                      on(TIOCM_DSR), on(TIOCM_CD),  on(TIOCM_RI)};
  }

  Status set_modem_lines(std::optional<bool> dtr, std::optional<bool> rts) override {
    int raise = 0;
    int lower = 0;
    if (dtr) (*dtr ? raise : lower) |= TIOCM_DTR;
    if (rts) (*rts ? raise : lower) |= TIOCM_RTS;
    if (raise != 0 && ::ioctl(nonblocking_.get(), TIOCMBIS, &raise) != 0) {
      return modem_failure(errno);
    }
    if (lower != 0 && ::ioctl(nonblocking_.get(), TIOCMBIC, &lower) != 0) {
      return modem_failure(errno);
    }
    return {};
  }

  std::vector<std::string> other_holders() override { return holders_of(identity_.path); }

  std::string settings() const override {
    int bits = 0;
    if (::ioctl(nonblocking_.get(), TIOCMGET, &bits) != 0) return mode_ + ", no modem lines";
    return fmt::format("{}, DTR {}, RTS {}", mode_, (bits & TIOCM_DTR) != 0 ? "on" : "off",
                       (bits & TIOCM_RTS) != 0 ? "on" : "off");
  }

 private:
  ssize_t blocking_read(std::span<uint8_t> into, int64_t deadline_ns) {
    if (!guard_) {
      // Where the system has no thread left, reads wait in poll(). This may be a thread itself:
      // what is thrown there ends the program.
      try {
        guard_.emplace(blocking_.get());
      } catch (const std::system_error&) {
        has_no_guard_ = true;
        return errno = EAGAIN, -1;
      }
      guard_made_ = &*guard_;
      // let_reads_wait() has seen the guard, or is seen here.
      if (!may_wait_) return errno = EAGAIN, -1;
    }
    return guard_->read(into, deadline_ns);
  }

  // done: ready; nothing_yet: time is up; else what happened to the port.
  IoResult wait_for(short events, int64_t time_ns) {
    pollfd port{nonblocking_.get(), events, 0};
    const timespec limit{time_ns / 1'000'000'000, time_ns % 1'000'000'000};
    const int ready = ::ppoll(&port, 1, &limit, nullptr);
    if (ready < 0 && errno != EINTR) return failure("poll", errno, 0);
    if (ready <= 0) return {};
    if ((port.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return failure("", EIO, 0);
    return {IoKind::done, 0, {}};
  }

  IoResult failure(const char* call, int error, size_t size) const {
    if (means_gone(error)) {
      return {IoKind::gone,
              size,
              {ErrorCode::gone, fmt::format("{}: the device went away", identity_.path)}};
    }
    return {IoKind::error,
            size,
            {ErrorCode::io, fmt::format("{} {}: {}", call, identity_.path, text_of(error))}};
  }

  Error modem_failure(int error) const {
    if (means_gone(error)) {
      return {ErrorCode::gone, fmt::format("{}: the device went away", identity_.path)};
    }
    if (error == ENOTTY || error == EINVAL) {
      return {ErrorCode::unsupported, fmt::format("{} has no modem lines", identity_.path)};
    }
    return {ErrorCode::io, fmt::format("modem lines of {}: {}", identity_.path, text_of(error))};
  }

  void drain_or_drop() {
    const int64_t deadline = clock().now_ns() + kDrainAtClose;
    int queued = 0;
    while (::ioctl(nonblocking_.get(), TIOCOUTQ, &queued) == 0 && queued > 0) {
      if (clock().now_ns() >= deadline) {
        ::tcflush(nonblocking_.get(), TCOFLUSH);
        return;
      }
      clock().sleep_until(clock().now_ns() + kMillisecondNs);
    }
  }

  FileDescriptor blocking_;
  FileDescriptor nonblocking_;
  PortIdentity identity_;
  std::string mode_;
  bool exclusive_;
  std::optional<ReadGuard> guard_;  // from the first blocking read on
  bool has_no_guard_ = false;       // none could be made
  std::atomic<ReadGuard*> guard_made_{nullptr};
  std::atomic<bool> may_wait_{true};
};

Error open_error(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      return {ErrorCode::not_found, fmt::format("open {}: there is no such port", path)};
    case ENXIO:
    case ENODEV:
    case EIO:
      return {ErrorCode::not_found,
              fmt::format("open {}: no device behind it (plug it in again)", path)};
    case EACCES:
    case EPERM: {
      const std::string remedy = access_remedy(access_to(path), path);
      return {ErrorCode::permission,
              fmt::format("open {}: permission denied ({})", path,
                          remedy.empty() ? "look at the folders above it" : remedy)};
    }
    case EMFILE:
    case ENFILE:
      return {ErrorCode::io,
              fmt::format("open {}: too many files are open (allow more with `ulimit -n`)", path)};
    default:
      return {ErrorCode::io, fmt::format("open {}: {}", path, text_of(error))};
  }
}

Error busy_error(const std::string& path) {
  const std::vector<std::string> holders = holders_of(path);
  std::string who;
  for (const std::string& holder : holders) who += (who.empty() ? "" : ", ") + holder;
  if (who.empty()) {
    struct stat node {};
    const bool may_be_left = ::stat(path.c_str(), &node) == 0 && is_pty(node.st_rdev);
    return {ErrorCode::busy,
            fmt::format("open {}: held by this program or by another user's process (see "
                        "`sudo fuser -v {}`){}",
                        path, path,
                        may_be_left ? ", or left exclusive by one that was killed (start the "
                                      "device behind it anew)"
                                    : "")};
  }
  return {ErrorCode::busy, fmt::format("open {}: held by {} (end it first)", path, who)};
}

Error no_port(const std::string& path, const char* what, const std::string& remedy = "") {
  return {ErrorCode::not_a_port,
          fmt::format("open {}: {}, not a serial port (`millrace ports` lists those{})", path, what,
                      remedy)};
}

// What can be refused without opening: opening alone starts a watchdog, blocks on a FIFO's other
// end or moves a tape.
Status check_node(const std::string& path, const struct stat& node) {
  if (S_ISDIR(node.st_mode)) return no_port(path, "a directory");
  if (S_ISREG(node.st_mode)) {
    return no_port(path, "a regular file",
                   "; if it is firmware, board:" + path + " runs it on the virtual board");
  }
  if (S_ISFIFO(node.st_mode)) return no_port(path, "a FIFO");
  if (S_ISSOCK(node.st_mode)) return no_port(path, "a socket");
  if (!S_ISCHR(node.st_mode)) return no_port(path, "a block device");
  const unsigned device_major = major(node.st_rdev);
  const unsigned device_minor = minor(node.st_rdev);
  if (device_major == 5 && device_minor == 2) return no_port(path, "the PTY multiplexer");
  if (device_major == 5 || (device_major == 4 && device_minor < 64)) {
    return no_port(path, "a console or terminal");
  }
  const std::string subsystem = SysTree("").link_name(
      fmt::format("/sys/dev/char/{}:{}/subsystem", device_major, device_minor));
  if (!subsystem.empty() && subsystem != "tty") {
    return no_port(path, fmt::format("a character device of the kind {}", subsystem).c_str());
  }
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat own {};
    if (::fstat(standard, &own) == 0 && S_ISCHR(own.st_mode) && own.st_rdev == node.st_rdev &&
        own.st_dev == node.st_dev) {
      return no_port(path, "the terminal this program runs in");
    }
  }
  return {};
}

Result<FileDescriptor> open_node(const std::string& path, int extra_flags, dev_t expected) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC | extra_flags));
  if (!file.valid()) return errno == EBUSY ? busy_error(path) : open_error(path, errno);
  struct stat node {};
  if (::fstat(file.get(), &node) != 0) return open_error(path, errno);
  if (!S_ISCHR(node.st_mode) || node.st_rdev != expected) {
    return Error{ErrorCode::gone, fmt::format("open {}: replaced by another device", path)};
  }
  return file;
}

// A client that was killed leaves a PTY exclusive for as long as its device side keeps it open. Who
// comes this far is root, and sees every holder.
bool take_over(const std::string& path, bool is_pty, int fd) {
  return is_pty && holders_of(path).empty() && ::ioctl(fd, TIOCNXCL) == 0;
}

// Everything that could keep the port from being 8-bit clean is read back: tcsetattr() reports
// success when it could set anything at all.
Result<termios> set_raw(const std::string& path, int fd) {
  termios found{};
  if (::tcgetattr(fd, &found) != 0) {
    if (errno == ENOTTY) return no_port(path, "a character device that is no terminal");
    if (errno == EIO) return open_error(path, ENODEV);  // ttyS without a UART
    return open_error(path, errno);
  }
  const termios raw = raw_settings(found);
  int set = 0;
  do {
    set = ::tcsetattr(fd, TCSANOW, &raw);
  } while (set != 0 && errno == EINTR);
  termios now{};
  if (set != 0 || ::tcgetattr(fd, &now) != 0) return open_error(path, errno);
  const std::vector<TermiosDifference> differences = differences_from_raw(now);
  if (!differences.empty() || !has_raw_read_limits(now)) {
    return Error{ErrorCode::io,
                 fmt::format("open {}: the driver refuses raw mode ({})", path,
                             differences.empty() ? "VMIN, VTIME" : differences.front().flag)};
  }
  return now;
}

}  // namespace

Status check_port_node(const std::string& path) {
  struct stat node {};
  if (::stat(path.c_str(), &node) != 0) return open_error(path, errno);
  return check_node(path, node);
}

Result<std::unique_ptr<Transport>> open_tty(const std::string& path, const OpenOptions& options) {
  struct stat node {};
  if (::stat(path.c_str(), &node) != 0) return open_error(path, errno);
  if (Status status = check_node(path, node); !status) return status.error();

  // Both before TIOCEXCL, which would keep ourselves out. O_NONBLOCK first in either case: without
  // CLOCAL a blocking open waits for a carrier.
  Result<FileDescriptor> nonblocking = open_node(path, O_NONBLOCK, node.st_rdev);
  if (!nonblocking) return nonblocking.error();
  Result<FileDescriptor> blocking = open_node(path, O_NONBLOCK, node.st_rdev);
  if (!blocking) return blocking.error();

  // Root passes TIOCEXCL, hence the question; and two of root's processes need the lock.
  int taken = 0;
  const bool asked = ::ioctl(nonblocking->get(), TIOCGEXCL, &taken) == 0;
  if (asked && taken != 0 && !take_over(path, is_pty(node.st_rdev), nonblocking->get())) {
    return busy_error(path);
  }
  if (::flock(nonblocking->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return busy_error(path);
    return Error{ErrorCode::io, fmt::format("lock {}: {}", path, text_of(errno))};
  }

  const Result<termios> now = set_raw(path, nonblocking->get());
  if (!now) return now.error();
  // A PTY whose device side keeps it open would stay exclusive after a client that was killed.
  const bool exclusive = !is_pty(node.st_rdev) && ::ioctl(nonblocking->get(), TIOCEXCL) == 0;
  const int flags = ::fcntl(blocking->get(), F_GETFL);
  if (flags < 0 || ::fcntl(blocking->get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return open_error(path, errno);
  }

  const unsigned baud = baud_rate(*now);
  const std::string mode = fmt::format(
      "raw 8N1, {} baud, VMIN 1 VTIME 0, {}, HUPCL {}", baud == 0 ? "other" : std::to_string(baud),
      exclusive ? "exclusive (TIOCEXCL, flock)" : "exclusive (flock)",
      (now->c_cflag & HUPCL) != 0 ? "on" : "off");
  std::string full = SysTree("").resolve(path);
  if (full.empty()) full = path;
  PortIdentity identity;
  if (!is_pty(node.st_rdev)) identity = identify_tty(SysTree(""), tty_name_of(full));
  identity.path = full;

  auto transport = std::make_unique<TtyTransport>(std::move(*blocking), std::move(*nonblocking),
                                                  std::move(identity), mode, exclusive);
  if (options.dtr || options.rts) {
    const Status set = transport->set_modem_lines(options.dtr, options.rts);
    // A PTY has none; settings() says so.
    if (!set && set.error().code != ErrorCode::unsupported) return set.error();
  }
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace millrace::host
