// SPDX-License-Identifier: Apache-2.0
// The PC device through a real pseudo-terminal, and every fault on it.
#include "firmware/ports/pc/pty_device.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "firmware/ports/pc/pty_host.h"
#include "firmware/ports/pc/pty_link.h"

namespace millrace::firmware {
namespace {

using link::MessageType;

std::unique_ptr<PtyDevice> make(const std::string& query, const std::string& link_path = "") {
  PtyDeviceOptions options;
  const ParsedFaultPlan parsed = parse_fault_plan(query);
  EXPECT_EQ(parsed.error, "");
  options.faults = parsed.plan;
  options.link_path = link_path;
  PtyDeviceResult result = PtyDevice::create(options);
  EXPECT_EQ(result.error, "");
  return std::move(result.device);
}

link::RunRequest in_run(uint32_t frame_size, uint32_t frame_count) {
  link::RunRequest request;
  request.frame_size = frame_size;
  request.frame_count = frame_count;
  return request;
}

// What the stream of a run becomes on a device with this fault.
std::string run_with(const std::string& query, uint32_t frame_size, uint32_t frame_count) {
  const auto device = make(query);
  PtyHost host(device->path());
  EXPECT_TRUE(host.start(in_run(frame_size, frame_count)));
  EXPECT_TRUE(host.receive_report());
  return host.buffer();
}

const std::string& expected_stream() {
  static const std::string stream = stream_bytes({42, 2048, 100});
  return stream;
}

TEST(PtyDevice, SaysHelloAsAPc) {
  const auto device = make("");
  PtyHost host(device->path());
  const auto hello = host.probe();
  ASSERT_TRUE(hello);
  EXPECT_STREQ(hello->board, "pc");
  EXPECT_EQ(hello->usb_speed_mbit, 0u);
  EXPECT_EQ(hello->boot_counter, 1u);
  EXPECT_EQ(device->boot_counter(), 1u);
}

TEST(PtyDevice, StreamsBothDirections) {
  const auto device = make("");
  PtyHost host(device->path());
  link::RunRequest request = in_run(1000, 300);
  request.direction = link::Direction::both;
  ASSERT_TRUE(host.start(request));
  std::thread writer([&] {
    host.send(stream_bytes({~42u, 1000, 300}) + message_bytes(MessageType::end));
  });
  const auto report = host.receive_report();
  writer.join();
  ASSERT_TRUE(report);
  EXPECT_EQ(host.buffer(), stream_bytes({42, 1000, 300}));
  EXPECT_EQ(report->out_verified_bytes, 300'000u);
  EXPECT_EQ(report->out_faults, 0u);
  EXPECT_EQ(report->state, link::kRunComplete);
}

TEST(PtyDevice, AcknowledgedFramesGoRoundAndRound) {
  const auto device = make("");
  PtyHost host(device->path());
  host.send(handshake_bytes(100, 500, 1));
  std::string all;
  for (size_t frame = 1; frame <= 500; ++frame) {
    ASSERT_TRUE(host.receive_at_least(frame * 100));
    ASSERT_EQ(host.buffer().size(), frame * 100);
    host.send("\x06");
  }
  EXPECT_EQ(host.buffer(), stream_bytes({42, 100, 500}));
}

TEST(PtyDevice, EchoesNothingAndKeepsDataBetweenOpens) {
  const auto device = make("");
  {
    PtyHost host(device->path());
    host.send(handshake_bytes(100, 2, 0));
  }
  PtyHost host(device->path());
  ASSERT_TRUE(host.receive_at_least(200));
  EXPECT_EQ(host.buffer(), stream_bytes({42, 100, 2}));
}

TEST(PtyDevice, BackPressureLosesNothingWhileTheHostSleeps) {
  const auto device = make("");
  PtyHost host(device->path());
  ASSERT_TRUE(host.start(in_run(2048, 1000)));
  // Until the device is blocked: no more than the kernel holds was taken.
  while (device->counters().short_writes == 0) std::this_thread::yield();
  const uint64_t taken = device->counters().in_accepted_bytes;
  EXPECT_LT(taken, 2'048'000u);
  const auto report = host.receive_report();
  ASSERT_TRUE(report);
  EXPECT_EQ(host.buffer(), stream_bytes({42, 2048, 1000}));
  EXPECT_GT(report->longest_blocked_us, 0u);
}

TEST(PtyDevice, StopIsAHangupForTheHost) {
  const auto device = make("");
  PtyHost host(device->path());
  ASSERT_TRUE(host.probe());
  device->stop();
  EXPECT_TRUE(host.receive_until_hangup());
  EXPECT_EQ(device->path(), "");
  EXPECT_EQ(device->counters().boot_counter, 1u);  // still answers
  device->stop();
}

TEST(PtyDevice, NeedsNoCpuWhenIdle) {
  const auto device = make("");
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  (void)device->counters();
  pollfd nothing{-1, 0, 0};
  ::poll(&nothing, 1, 300);  // the thing measured is what happens meanwhile
  getrusage(RUSAGE_SELF, &after);
  // 300 ms of sleeps of 50 ms: a handful of switches, not the thousands of a busy loop.
  EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 100);
}

TEST(PtyDeviceFault, Split) {
  for (const char* query : {"split=1", "split=13", "split=511"}) {
    EXPECT_EQ(run_with(query, 2048, 100), expected_stream()) << query;
  }
}

TEST(PtyDeviceFault, Drop) {
  const std::string got = run_with("drop=512@100000", 2048, 100);
  EXPECT_EQ(got, std::string(expected_stream()).erase(100'000, 512));
}

TEST(PtyDeviceFault, Flip) {
  const std::string got = run_with("flip=1@70000", 2048, 100);
  ASSERT_EQ(got.size(), expected_stream().size());
  EXPECT_NE(got[70'000], expected_stream()[70'000]);
  std::string repaired = got;
  repaired[70'000] = expected_stream()[70'000];
  EXPECT_EQ(repaired, expected_stream());
}

TEST(PtyDeviceFault, Duplicate) {
  const std::string got = run_with("dup=2048@4096", 2048, 100);
  EXPECT_EQ(got, expected_stream().substr(0, 6144) + expected_stream().substr(4096));
}

TEST(PtyDeviceFault, Insert) {
  const std::string got = run_with("insert=hex:41540d@5000&split=100", 2048, 100);
  EXPECT_EQ(got, std::string(expected_stream()).insert(5000, "AT\r"));
}

TEST(PtyDeviceFault, StaleLines) {
  const std::string got = run_with("stale=2@40000:2048", 2048, 100);
  EXPECT_EQ(got, std::string(expected_stream()).replace(40'000, 64, expected_stream(), 37'952, 64));
}

TEST(PtyDeviceFault, MangledBytes) {
  std::string expected;
  for (const char c : expected_stream()) {
    if (c != 0x11 && c != 0x13) expected.push_back(c == '\r' ? '\n' : c);
  }
  EXPECT_EQ(run_with("mangle=icrnl|ixon", 2048, 100), expected);
}

// The kernel does it, so STARTED is untouched and everything after is mangled, REPORT too.
TEST(PtyDeviceFault, CookedTerminal) {
  const auto device = make("cooked");
  PtyHost host(device->path());
  ASSERT_TRUE(host.start(in_run(2048, 100)));
  std::string expected;
  for (const char c : expected_stream()) {
    if (c != 0x11 && c != 0x13) expected.push_back(c == '\r' ? '\n' : c);
  }
  ASSERT_TRUE(host.receive_at_least(expected.size()));
  EXPECT_EQ(host.buffer().substr(0, expected.size()), expected);
}

TEST(PtyDeviceFault, StallIsSeenByTheDevicesClock) {
  const auto device = make("stall=200@51200");
  PtyHost host(device->path());
  ASSERT_TRUE(host.start(in_run(2048, 100)));
  const auto report = host.receive_report();
  ASSERT_TRUE(report);
  EXPECT_EQ(host.buffer(), expected_stream());
  EXPECT_GE(report->longest_blocked_us, 199'000u);
  EXPECT_GE(report->run_us, 199'000u);
}

TEST(PtyDeviceFault, RatePacesTheStream) {
  const auto device = make("rate=1000000");
  PtyHost host(device->path());
  ASSERT_TRUE(host.start(in_run(2048, 100)));
  const auto report = host.receive_report();
  ASSERT_TRUE(report);
  EXPECT_EQ(host.buffer(), expected_stream());
  // 204,800 B at 1 MB/s take 204.8 ms, less 5 ms of credit and the last 4 KB in the queue.
  EXPECT_GE(report->run_us, 190'000u);
}

TEST(PtyDeviceFault, UnplugComesBackUnderAnotherName) {
  char folder[] = "/tmp/millrace_pty_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string link = std::string(folder) + "/port";
  {
    const auto device = make("unplug=50@100000", link);
    const std::string first = device->path();
    EXPECT_EQ(device->stable_path(), link);
    PtyHost host(link);
    ASSERT_TRUE(host.start(in_run(2048, 100)));
    ASSERT_TRUE(host.receive_until_hangup());
    EXPECT_EQ(host.buffer(), expected_stream().substr(0, 100'000));
    host.buffer().clear();
    while (device->path().empty()) std::this_thread::yield();
    EXPECT_NE(device->path(), first);
    ASSERT_TRUE(host.open(link));
    const auto hello = host.probe();
    ASSERT_TRUE(hello);
    EXPECT_EQ(hello->boot_counter, 1u);  // it kept its power
    // Once only: this run is whole.
    ASSERT_TRUE(host.start(in_run(2048, 100)));
    ASSERT_TRUE(host.receive_report());
    EXPECT_EQ(host.buffer(), expected_stream());
  }
  struct stat status {};
  EXPECT_NE(lstat(link.c_str(), &status), 0);
  rmdir(folder);
}

TEST(PtyDeviceFault, ResetComesBackWithAnotherBootCounter) {
  const auto device = make("reset=10@4096");
  PtyHost host(device->path());
  ASSERT_TRUE(host.start(in_run(2048, 100)));
  ASSERT_TRUE(host.receive_until_hangup());
  EXPECT_EQ(host.buffer(), expected_stream().substr(0, 4096));
  host.buffer().clear();
  while (device->path().empty()) std::this_thread::yield();
  ASSERT_TRUE(host.open(device->path()));
  const auto hello = host.probe();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->boot_counter, 2u);
  EXPECT_EQ(device->boot_counter(), 2u);
}

TEST(PtyDeviceFault, SilentResetKeepsThePort) {
  const auto device = make("reset_silent=@4096");
  const std::string path = device->path();
  PtyHost host(path);
  ASSERT_TRUE(host.start(in_run(2048, 100)));
  ASSERT_TRUE(host.receive_at_least(4096));
  while (device->boot_counter() == 1) std::this_thread::yield();
  EXPECT_FALSE(host.receive(100));  // the stream has ended without a word
  EXPECT_EQ(host.buffer(), expected_stream().substr(0, 4096));
  host.buffer().clear();
  const auto hello = host.probe();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->boot_counter, 2u);
  EXPECT_EQ(device->path(), path);
}

TEST(PtyDeviceFault, MuteNeverAnswers) {
  const auto device = make("mute");
  PtyHost host(device->path());
  host.send(probe_bytes() + handshake_bytes(100, 1, 0));
  EXPECT_FALSE(host.receive(200));
  EXPECT_FALSE(host.hung_up());
}

TEST(PtyDeviceFault, GarbageAnswersRubbish) {
  const auto device = make("garbage");
  PtyHost host(device->path());
  host.send(probe_bytes());
  ASSERT_TRUE(host.receive_at_least(5));
  EXPECT_EQ(host.buffer().substr(0, 5), "ERROR");
}

TEST(PtyDeviceFault, ClassicKnowsNoProbeAndUsesItsSeed) {
  const auto device = make("classic&seed=7");
  PtyHost host(device->path());
  host.send(probe_bytes() + handshake_bytes(3000, 9, 0));
  ASSERT_TRUE(host.receive_at_least(27'000));
  EXPECT_EQ(crc_of(host.buffer()), 0xcca4d5f2u);  // see classic_device_test.cc
}

TEST(PtyDeviceFault, DiscardThrowsAwayWhatASleepingHostDoesNotTake) {
  const auto device = make("classic&discard=20");
  PtyHost host(device->path());
  host.send(handshake_bytes(2048, 1000, 0));
  // The host reads nothing until the device is through.
  link::DeviceCounters counters;
  do {
    counters = device->counters();
  } while (counters.state != link::kRunComplete);
  EXPECT_GT(counters.discards, 0u);
  EXPECT_GT(counters.in_discarded_bytes, 0u);
  EXPECT_EQ(counters.in_offered_bytes, 2'048'000u);
  ASSERT_TRUE(host.receive_at_least(counters.in_accepted_bytes));
  EXPECT_EQ(host.buffer(), stream_bytes({42, 2048, 1000}).substr(0, counters.in_accepted_bytes));
}

TEST(PtyDevice, ALinkPathThatIsSomebodysIsAnError) {
  PtyDeviceOptions options;
  options.link_path = MILLRACE_SOURCE_DIR "/CMakeLists.txt";
  const PtyDeviceResult result = PtyDevice::create(options);
  EXPECT_EQ(result.device, nullptr);
  EXPECT_NE(result.error.find("CMakeLists.txt"), std::string::npos);
  // A link of somebody else's is neither taken nor, later, removed.
  const std::string link = testing::TempDir() + "millrace-link-" + std::to_string(getpid());
  ASSERT_EQ(symlink("/etc/hostname", link.c_str()), 0);
  options.link_path = link;
  EXPECT_NE(PtyDevice::create(options).error.find("leads to /etc/hostname, which is no terminal"),
            std::string::npos);
  EXPECT_EQ(link_target(link), "/etc/hostname");
  unlink(link.c_str());
  options.link_path = "/nonexistent/folder/port";
  EXPECT_NE(PtyDevice::create(options).error.find("/nonexistent/folder/port"), std::string::npos);
}

}  // namespace
}  // namespace millrace::firmware
