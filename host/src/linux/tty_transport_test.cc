// SPDX-License-Identifier: Apache-2.0
#include "linux/tty_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

#include <atomic>
#include <future>
#include <numeric>
#include <thread>

#include "linux/test_pty.h"
#include "linux/tty_settings.h"
#include "millrace/host/ports.h"
#include "port_system.h"

namespace millrace::host {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecondNs = 1'000'000'000;
// Far enough that a test which meets it has failed, however loaded the machine is.
int64_t far_away() { return system_clock().now_ns() + 60 * kSecondNs; }
int64_t in_ms(int64_t ms) { return system_clock().now_ns() + ms * 1'000'000; }

std::unique_ptr<Transport> open_ok(const std::string& path) {
  Result<std::unique_ptr<Transport>> port = open_tty(path, {});
  EXPECT_TRUE(port.ok()) << (port.ok() ? "" : port.error().message);
  return port.ok() ? std::move(*port) : nullptr;
}

ErrorCode open_code(const std::string& path, const std::string& text) {
  const Result<std::unique_ptr<Transport>> port = open_tty(path, {});
  EXPECT_FALSE(port.ok());
  if (port.ok()) return ErrorCode::usage;
  EXPECT_THAT(port.error().message, HasSubstr(text));
  EXPECT_THAT(port.error().message, HasSubstr(path));
  return port.error().code;
}

std::vector<uint8_t> read_exactly(Transport& port, size_t size, size_t read_size,
                                  int64_t slice_ms) {
  std::vector<uint8_t> all;
  std::vector<uint8_t> buffer(read_size);
  const int64_t deadline = far_away();
  while (all.size() < size && system_clock().now_ns() < deadline) {
    const size_t wanted = std::min(read_size, size - all.size());
    const IoResult got = port.read(std::span(buffer).first(wanted), in_ms(slice_ms));
    if (got.kind == IoKind::nothing_yet) continue;
    if (got.kind != IoKind::done) break;
    all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(got.size));
  }
  return all;
}

std::vector<uint8_t> all_values() {
  std::vector<uint8_t> values(256);
  std::iota(values.begin(), values.end(), uint8_t{0});
  return values;
}

// Runs `child` in a process of its own and returns what it returned.
template <class F>
int in_child(F child) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(child());
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TtyTransport, CarriesAllByteValuesFromTheDevice) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  ASSERT_TRUE(pty.send(all_values()));
  EXPECT_EQ(read_exactly(*port, 256, 256, 1000), all_values());
  EXPECT_TRUE(pty.receive_ready().empty()) << "something was echoed";
}

TEST(TtyTransport, CarriesAllByteValuesToTheDevice) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  const IoResult put = port->write(all_values(), far_away());
  EXPECT_EQ(put.kind, IoKind::done);
  EXPECT_EQ(put.size, 256u);
  EXPECT_EQ(pty.receive(256), all_values());
  EXPECT_TRUE(pty.receive_ready().empty());
}

TEST(TtyTransport, ReadsWhatCameBeforeItWasOpened) {
  TestPty pty;
  // A slave that stays open keeps the bytes, as a device that is never closed would.
  FileDescriptor keeper(::open(pty.path().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios raw{};
  ASSERT_EQ(::tcgetattr(keeper.get(), &raw), 0);
  raw = raw_settings(raw);
  ASSERT_EQ(::tcsetattr(keeper.get(), TCSANOW, &raw), 0);
  ASSERT_TRUE(pty.send({1, 2, 3}));
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  EXPECT_EQ(read_exactly(*port, 3, 16, 1000), (std::vector<uint8_t>{1, 2, 3}));
}

TEST(TtyTransport, ReadWithNothingThereEndsAtItsDeadline) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  std::vector<uint8_t> buffer(16);
  for (const int64_t ms : {-1000, 0, 3, 98, 230}) {
    const int64_t deadline = in_ms(ms);
    const IoResult got = port->read(buffer, deadline);
    EXPECT_EQ(got.kind, IoKind::nothing_yet);
    EXPECT_EQ(got.size, 0u);
    EXPECT_GE(system_clock().now_ns(), deadline) << ms;
  }
}

// As Python's tty.setraw() leaves it; 255 is the most that a program can ask for.
void set_vmin(const TestPty& pty, cc_t vmin) {
  FileDescriptor other(::open(pty.path().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  ASSERT_EQ(::tcgetattr(other.get(), &settings), 0);
  settings.c_cc[VMIN] = vmin;
  settings.c_cc[VTIME] = 0;
  ASSERT_EQ(::tcsetattr(other.get(), TCSANOW, &settings), 0);
}

TEST(TtyTransport, ReadEndsAtItsDeadlineAfterAnotherProgramSetVmin) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  std::vector<uint8_t> buffer(4096);
  for (const cc_t vmin : {cc_t{0}, cc_t{1}, cc_t{255}}) {
    for (const int64_t ms : {0, 20, 200, 450}) {
      set_vmin(pty, vmin);
      const int64_t deadline = in_ms(ms);
      EXPECT_EQ(port->read(buffer, deadline).kind, IoKind::nothing_yet) << ms;
      EXPECT_GE(system_clock().now_ns(), deadline) << ms;
    }
  }
}

TEST(TtyTransport, ReadTakesBytesAfterAnotherProgramSetVmin) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  for (const int64_t slice_ms : {0, 20, 60'000}) {
    set_vmin(pty, 255);
    ASSERT_TRUE(pty.send({7, 8, 9}));
    EXPECT_EQ(read_exactly(*port, 3, 4096, slice_ms), (std::vector<uint8_t>{7, 8, 9})) << slice_ms;
  }
}

TEST(TtyTransport, ReadPutsBackVminOfZero) {
  // Else each read would return at once, and waiting would take a whole processor.
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  set_vmin(pty, 0);
  std::vector<uint8_t> buffer(16);
  EXPECT_EQ(port->read(buffer, in_ms(200)).kind, IoKind::nothing_yet);
  FileDescriptor other(::open(pty.path().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  ASSERT_EQ(::tcgetattr(other.get(), &settings), 0);
  EXPECT_TRUE(has_raw_read_limits(settings));
}

TEST(TtyTransport, ReadEndsAtItsDeadlineWhereEverySignalIsBlocked) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  auto kind = std::async(std::launch::async, [&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::vector<uint8_t> buffer(16);
    return port->read(buffer, in_ms(200)).kind;
  });
  EXPECT_EQ(kind.get(), IoKind::nothing_yet);
}

TEST(TtyTransport, ReadUnderWayEndsAtItsDeadlineAfterAnotherProgramSetVmin) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  std::atomic<bool> over{false};
  auto other = std::async(std::launch::async, [&] {
    while (!over) set_vmin(pty, 1);
  });
  std::vector<uint8_t> buffer(4096);
  for (int i = 0; i < 3; ++i) {
    const int64_t deadline = in_ms(250);
    EXPECT_EQ(port->read(buffer, deadline).kind, IoKind::nothing_yet);
    EXPECT_GE(system_clock().now_ns(), deadline);
  }
  over = true;
  other.get();
}

TEST(TtyTransport, ReadTakesWhatIsThereWithoutWaitingForMore) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  for (const int64_t ms : {0, 50, 60'000}) {
    ASSERT_TRUE(pty.send({7, 8, 9}));
    std::vector<uint8_t> all;
    std::vector<uint8_t> buffer(4096);
    // The kernel's flush worker may hand the three bytes over in pieces, and late.
    while (all.size() < 3) {
      const IoResult got = port->read(buffer, in_ms(ms));
      ASSERT_TRUE(got.kind == IoKind::done || got.kind == IoKind::nothing_yet);
      all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(got.size));
    }
    EXPECT_EQ(all, (std::vector<uint8_t>{7, 8, 9}));
  }
}

TEST(TtyTransport, ReadWaitsForTheFirstByte) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  for (const int64_t slice_ms : {20, 60'000}) {
    auto answer =
        std::async(std::launch::async, [&] { return read_exactly(*port, 1, 64, slice_ms); });
    ASSERT_TRUE(pty.send({42}));
    EXPECT_EQ(answer.get(), std::vector<uint8_t>{42});
  }
}

TEST(TtyTransport, ReadSaysGoneWhenTheDeviceVanishes) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  pty.hang_up();
  std::vector<uint8_t> buffer(16);
  for (const int64_t ms : {0, 20, 60'000}) {
    const IoResult got = port->read(buffer, in_ms(ms));
    EXPECT_EQ(got.kind, IoKind::gone);
    EXPECT_EQ(got.error.code, ErrorCode::gone);
    EXPECT_THAT(got.error.message, HasSubstr(pty.path()));
  }
}

TEST(TtyTransport, ReadThatWaitsIsEndedByTheDeviceVanishing) {
  for (const int64_t ms : {80, 60'000}) {
    TestPty pty;
    const auto port = open_ok(pty.path());
    ASSERT_TRUE(port);
    auto kind = std::async(std::launch::async, [&] {
      std::vector<uint8_t> buffer(16);
      IoResult got;
      do {
        got = port->read(buffer, in_ms(ms));
      } while (got.kind == IoKind::nothing_yet);
      return got.kind;
    });
    pty.hang_up();
    EXPECT_EQ(kind.get(), IoKind::gone);
  }
}

TEST(TtyTransport, WriteSaysGoneWhenTheDeviceVanishes) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  pty.hang_up();
  const IoResult put = port->write(all_values(), far_away());
  EXPECT_EQ(put.kind, IoKind::gone);
  EXPECT_EQ(put.size, 0u);
}

TEST(TtyTransport, WriteThatWaitsIsEndedByTheDeviceVanishing) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  std::promise<void> full;
  auto result = std::async(std::launch::async, [&] {
    const std::vector<uint8_t> block(65536);
    // The first ends at its deadline with the tty full, so that the second waits.
    while (port->write(block, in_ms(0)).kind == IoKind::done) {
    }
    full.set_value();
    return port->write(block, far_away());
  });
  full.get_future().wait();
  pty.hang_up();
  EXPECT_EQ(result.get().kind, IoKind::gone);
}

TEST(TtyTransport, WriteToADeviceThatTakesNothingEndsAtItsDeadlineWithItsSize) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  std::vector<uint8_t> block(4 << 20);
  std::iota(block.begin(), block.end(), uint8_t{0});
  const int64_t deadline = in_ms(30);
  const IoResult put = port->write(block, deadline);
  EXPECT_EQ(put.kind, IoKind::nothing_yet);
  EXPECT_GE(system_clock().now_ns(), deadline);
  ASSERT_GT(put.size, 0u);
  ASSERT_LT(put.size, block.size());
  // `size` is exact: the device finds that many bytes and not one more.
  block.resize(put.size);
  EXPECT_EQ(pty.receive(put.size), block);
  EXPECT_TRUE(pty.receive_ready().empty());
}

TEST(TtyTransport, WriteGoesOnWhenASlowDeviceTakesBytesAgain) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  std::vector<uint8_t> block(1 << 20);
  std::iota(block.begin(), block.end(), uint8_t{0});
  auto result = std::async(std::launch::async, [&] { return port->write(block, far_away()); });
  std::vector<uint8_t> received;
  while (received.size() < block.size()) {
    const size_t piece = std::min<size_t>(1000, block.size() - received.size());
    const std::vector<uint8_t> part = pty.receive(piece);
    ASSERT_FALSE(part.empty());
    received.insert(received.end(), part.begin(), part.end());
  }
  const IoResult put = result.get();
  EXPECT_EQ(put.kind, IoKind::done);
  EXPECT_EQ(put.size, block.size());
  EXPECT_EQ(received, block);
}

TEST(TtyTransport, ReadThatWaitsIsEndedFromAnotherThreadAndReadsWaitAgainLater) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_NE(port, nullptr);
  for (int turn = 0; turn < 100; ++turn) {
    std::thread reader([&] {
      std::array<uint8_t, 16> buffer{};
      EXPECT_EQ(port->read(buffer, far_away()).kind, IoKind::nothing_yet);
    });
    // At every point of the read: before it, at its start, in its sleep. Counting to 100,000 takes
    // longer than a thread to start; to yield would take what others on this machine have to do.
    for (std::atomic<int> spun = 0; spun < turn * 1000;) ++spun;
    port->let_reads_wait(false);
    reader.join();
    port->let_reads_wait(true);
  }
  ASSERT_TRUE(pty.send({'x'}));
  std::array<uint8_t, 16> buffer{};
  EXPECT_EQ(port->read(buffer, far_away()).size, 1u);
}

TEST(TtyTransport, EmptyReadAndWriteDoNothing) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  EXPECT_EQ(port->read({}, far_away()).kind, IoKind::nothing_yet);
  EXPECT_EQ(port->write({}, far_away()).kind, IoKind::done);
}

TEST(TtyTransport, ReadsAndWritesFromTwoThreadsAtOnce) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  std::vector<uint8_t> up(2 << 20);
  std::vector<uint8_t> down(2 << 20);
  std::iota(up.begin(), up.end(), uint8_t{0});
  std::iota(down.begin(), down.end(), uint8_t{77});
  auto host_reads =
      std::async(std::launch::async, [&] { return read_exactly(*port, up.size(), 65536, 100); });
  auto host_writes = std::async(std::launch::async, [&] { return port->write(down, far_away()); });
  auto device_sends = std::async(std::launch::async, [&] { return pty.send(up); });
  EXPECT_EQ(pty.receive(down.size()), down);
  EXPECT_TRUE(device_sends.get());
  EXPECT_EQ(host_writes.get().kind, IoKind::done);
  EXPECT_EQ(host_reads.get(), up);
}

TEST(TtyTransport, SignalsDoNotCutAReadShort) {
  TestPty pty;
  const auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  struct sigaction quiet {};
  struct sigaction before {};
  quiet.sa_handler = [](int) {};  // no SA_RESTART: system calls report EINTR
  ASSERT_EQ(::sigaction(SIGUSR1, &quiet, &before), 0);
  std::atomic<bool> finished{false};
  std::vector<uint8_t> got;
  std::thread reader([&] {
    got = read_exactly(*port, 1, 16, 60'000);
    finished = true;
  });
  const pthread_t handle = reader.native_handle();
  for (int i = 0; i < 200; ++i) {
    ::pthread_kill(handle, SIGUSR1);
    std::this_thread::yield();
  }
  EXPECT_FALSE(finished);
  ASSERT_TRUE(pty.send({5}));
  reader.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(got, std::vector<uint8_t>{5});
}

TEST(TtyTransport, SetsRawModeAndLeavesItBehind) {
  TestPty pty;
  FileDescriptor other(::open(pty.path().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  ASSERT_EQ(::tcgetattr(other.get(), &settings), 0);
  EXPECT_FALSE(differences_from_raw(settings).empty()) << "a new PTY is cooked";
  auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  ASSERT_EQ(::tcgetattr(other.get(), &settings), 0);
  EXPECT_TRUE(differences_from_raw(settings).empty());
  EXPECT_EQ(baud_rate(settings), 115200u);
  EXPECT_THAT(port->settings(), HasSubstr("raw 8N1"));
  EXPECT_THAT(port->settings(), HasSubstr("no modem lines"));
  port.reset();
  ASSERT_EQ(::tcgetattr(other.get(), &settings), 0);
  EXPECT_TRUE(differences_from_raw(settings).empty());
}

TEST(TtyTransport, PtyHasNoModemLines) {
  TestPty pty;
  Result<std::unique_ptr<Transport>> port = open_tty(pty.path(), OpenOptions{true, true});
  ASSERT_TRUE(port.ok()) << "asking for DTR must not keep a PTY from opening";
  EXPECT_EQ((*port)->modem_lines().error().code, ErrorCode::unsupported);
  EXPECT_EQ((*port)->set_modem_lines(true, {}).error().code, ErrorCode::unsupported);
}

TEST(TtyTransport, SecondOpenInThisProgramIsBusy) {
  TestPty pty;
  auto port = open_ok(pty.path());
  ASSERT_TRUE(port);
  EXPECT_EQ(open_code(pty.path(), "held by"), ErrorCode::busy);
  port.reset();
  EXPECT_TRUE(open_ok(pty.path()));
}

// The child says through a pipe that it holds the port, and holds it until the pipe closes.
class Holder {
 public:
  template <class F>
  explicit Holder(F take) {
    std::array<int, 2> ready{};
    std::array<int, 2> hold{};
    EXPECT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(hold.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(hold[1]);
      const auto held = take();
      const char answer = held ? 'y' : 'n';
      char byte = 0;
      if (::write(ready[1], &answer, 1) != 1 || ::read(hold[0], &byte, 1) < 0) ::_exit(1);
      ::_exit(0);
    }
    ::close(ready[1]);
    ::close(hold[0]);
    hold_ = FileDescriptor(hold[1]);
    char answer = 'n';
    EXPECT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(ready[0]);
  }
  ~Holder() {
    hold_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
  std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_ = -1;
  FileDescriptor hold_;
};

TEST(TtyTransport, PortHeldByAnotherMillraceIsBusyAndNamesIt) {
  TestPty pty;
  const Holder holder([&] {
    ::close(pty.master());  // or it would be the device
    static Result<std::unique_ptr<Transport>> kept = open_tty(pty.path(), {});
    return kept.ok();
  });
  EXPECT_EQ(open_code(pty.path(), "pid " + holder.pid()), ErrorCode::busy);
}

TEST(TtyTransport, PortHeldExclusivelyByAnotherProgramIsBusyAndNamesIt) {
  TestPty pty;
  const Holder holder([&] {
    ::close(pty.master());
    const int fd = ::open(pty.path().c_str(), O_RDWR | O_NOCTTY);
    return fd >= 0 && ::ioctl(fd, TIOCEXCL) == 0;
  });
  EXPECT_EQ(open_code(pty.path(), "pid " + holder.pid()), ErrorCode::busy);
}

// The device side keeps the PTY open, and the flag with it. Root may take it away; nobody else can
// open such a port, and is told what to do.
TEST(TtyTransport, PtyLeftExclusiveByAKilledProgramOpensOrSaysWhatToDo) {
  TestPty pty;
  const FileDescriptor device(::open(pty.path().c_str(), O_RDWR | O_NOCTTY));  // as a device does
  {
    const Holder killed([&] {
      const int fd = ::open(pty.path().c_str(), O_RDWR | O_NOCTTY);
      return fd >= 0 && ::ioctl(fd, TIOCEXCL) == 0;
    });
  }
  const auto port = open_tty(pty.path(), {});
  if (::geteuid() == 0) {
    ASSERT_TRUE(port.ok()) << port.error().message;
  } else {
    ASSERT_FALSE(port.ok());
    EXPECT_NE(port.error().message.find("left exclusive"), std::string::npos)
        << port.error().message;
  }
}

TEST(TtyTransport, PortLockedByAnotherProgramIsBusyAndNamesIt) {
  TestPty pty;
  const Holder holder([&] {  // pySerial with exclusive=True
    ::close(pty.master());
    const int fd = ::open(pty.path().c_str(), O_RDWR | O_NOCTTY);
    return fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  });
  EXPECT_EQ(open_code(pty.path(), "pid " + holder.pid()), ErrorCode::busy);
}

// A device behind a PTY keeps the port's own end open. Whoever ends that process ends the device.
TEST(TtyTransport, TheDeviceBehindAPtyIsNoHolderOfIt) {
  TestPty pty;
  const auto open_slave = [&] { return ::open(pty.path().c_str(), O_RDWR | O_NOCTTY); };
  const Holder device([&] { return open_slave() >= 0; });  // with the master, by inheritance
  EXPECT_TRUE(holders_of(pty.path()).empty());
  const Holder reader([&] {
    ::close(pty.master());
    const int fd = open_slave();
    return fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  });
  const std::vector<std::string> holders = holders_of(pty.path());
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_NE(holders[0].find("pid " + reader.pid() + " "), std::string::npos) << holders[0];
  const auto opened = open_tty(pty.path(), {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::busy);
  EXPECT_EQ(opened.error().message.find("pid " + device.pid() + " "), std::string::npos)
      << opened.error().message;
}

// The master of another PTY makes no device of this one.
TEST(TtyTransport, HolderOfAnotherPtysMasterIsNamed) {
  TestPty pty;
  TestPty other;
  const Holder reader([&] {
    ::close(pty.master());
    return ::open(pty.path().c_str(), O_RDWR | O_NOCTTY) >= 0;
  });
  EXPECT_EQ(holders_of(pty.path()).size(), 1u);
}

TEST(TtyTransport, PortWithoutPermissionNamesTheRemedy) {
  TestPty pty;
  ASSERT_EQ(::chmod(pty.path().c_str(), 0600), 0);
  const std::string path = pty.path();
  EXPECT_EQ(in_child([&] {
              if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
              if (::geteuid() != 65534) ::chmod(path.c_str(), 0);
              const Result<std::unique_ptr<Transport>> port = open_tty(path, {});
              if (port.ok()) return 3;
              if (port.error().code != ErrorCode::permission) return 4;
              const std::string& text = port.error().message;
              if (text.find(path) == std::string::npos) return 5;
              return text.find("sudo") == std::string::npos ? 6 : 0;
            }),
            0);
}

TEST(TtyTransport, RefusesWhatIsNoPort) {
  const TestFolder folder;
  EXPECT_EQ(open_code(folder.path(), "a directory"), ErrorCode::not_a_port);
  EXPECT_EQ(open_code(folder.path(), "`millrace ports` lists"), ErrorCode::not_a_port);
  const std::string file = folder.path() + "/file";
  ASSERT_TRUE(FileDescriptor(::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).valid());
  EXPECT_EQ(open_code(file, "a regular file"), ErrorCode::not_a_port);
  EXPECT_EQ(open_code(file, "board:" + file), ErrorCode::not_a_port);
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(open_code(fifo, "a FIFO"), ErrorCode::not_a_port);
  EXPECT_EQ(open_code("/dev/null", "not a serial port"), ErrorCode::not_a_port);
  EXPECT_EQ(open_code("/dev/tty", "terminal"), ErrorCode::not_a_port);
  EXPECT_EQ(open_code("/dev/ptmx", "multiplexer"), ErrorCode::not_a_port);
}

TEST(TtyTransport, AbsentPortIsNotFound) {
  const TestFolder folder;
  EXPECT_EQ(open_code(folder.path() + "/ttyACM0", "no such port"), ErrorCode::not_found);
  const std::string loop = folder.path() + "/loop";
  ASSERT_EQ(::symlink(loop.c_str(), loop.c_str()), 0);
  EXPECT_FALSE(open_tty(loop, {}).ok());
}

TEST(TtyTransport, IdentityNamesTheDeviceBehindASymlink) {
  TestPty pty;
  const TestFolder folder;
  const std::string link = folder.path() + "/port";
  ASSERT_EQ(::symlink(pty.path().c_str(), link.c_str()), 0);
  const auto port = open_ok(link);
  ASSERT_TRUE(port);
  EXPECT_EQ(port->identity().path, pty.path());
  EXPECT_FALSE(port->identity().is_usb);
}

TEST(TtyTransport, ReopenFollowsASymlinkToAnotherDevice) {
  TestPty first;
  TestPty second;
  const TestFolder folder;
  const std::string link = folder.path() + "/port";
  ASSERT_EQ(::symlink(first.path().c_str(), link.c_str()), 0);
  Result<std::unique_ptr<Endpoint>> endpoint = make_endpoint(link, {});
  ASSERT_TRUE(endpoint.ok());
  Result<std::unique_ptr<Transport>> port = (*endpoint)->open({});
  ASSERT_TRUE(port.ok());
  EXPECT_EQ((*port)->identity().path, first.path());

  first.hang_up();
  port->reset();
  ASSERT_EQ(::unlink(link.c_str()), 0);
  auto again = std::async(std::launch::async, [&] { return (*endpoint)->reopen({}, far_away()); });
  ASSERT_EQ(::symlink(second.path().c_str(), link.c_str()), 0);
  Result<std::unique_ptr<Transport>> back = again.get();
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ((*back)->identity().path, second.path());
  ASSERT_TRUE(second.send({9}));
  EXPECT_EQ(read_exactly(**back, 1, 8, 1000), std::vector<uint8_t>{9});
}

TEST(TtyTransport, ReopenGivesUpAtItsDeadline) {
  TestPty pty;
  const TestFolder folder;  // PTY numbers are used again by others: a name of our own is not
  const std::string link = folder.path() + "/port";
  ASSERT_EQ(::symlink(pty.path().c_str(), link.c_str()), 0);
  Result<std::unique_ptr<Endpoint>> endpoint = make_endpoint(link, {});
  ASSERT_TRUE(endpoint.ok());
  ASSERT_TRUE((*endpoint)->open({}).ok());
  ASSERT_EQ(::unlink(link.c_str()), 0);
  const Result<std::unique_ptr<Transport>> back = (*endpoint)->reopen({}, in_ms(60));
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.error().code, ErrorCode::gone);
  EXPECT_THAT(back.error().message, HasSubstr(link));
}

}  // namespace
}  // namespace millrace::host
