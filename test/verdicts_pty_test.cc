// SPDX-License-Identifier: Apache-2.0
// The rules of docs/verdicts.md end to end: the PC device commits the fault on a real PTY, and the
// engine has to name it. Nothing here depends on how fast the machine is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "firmware/ports/pc/pty_device.h"
#include "millrace/host/serial_run.h"
#include "millrace/link/stream_cursor.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

host::RunSettings frames(uint32_t size, uint32_t count) {
  host::RunSettings settings;
  settings.frame_size = size;
  settings.frame_count = count;
  settings.timeout_ms = 20000;  // for a loaded machine; tests that wait for it set their own
  settings.follow_replug_ms = 20000;
  return settings;
}

class Device {
 public:
  explicit Device(const std::string& faults) {
    char folder[] = "/tmp/millrace_XXXXXX";
    folder_ = mkdtemp(folder);
    firmware::ParsedFaultPlan plan = firmware::parse_fault_plan(faults);
    EXPECT_EQ(plan.error, "");
    firmware::PtyDeviceOptions options;
    options.faults = std::move(plan.plan);
    options.link_path = folder_ + "/tty";
    auto created = firmware::PtyDevice::create(options);
    EXPECT_EQ(created.error, "");
    device_ = std::move(created.device);
  }
  ~Device() {
    device_.reset();
    rmdir(folder_.c_str());
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  host::RunResult run(const host::RunSettings& settings,
                      const std::atomic<bool>* interrupted = nullptr) {
    host::RunHooks hooks;
    hooks.interrupted = interrupted;
    auto endpoint = host::make_endpoint(device_->stable_path(), {});
    EXPECT_TRUE(endpoint.ok());
    auto result = host::run_serial(**endpoint, settings, hooks);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result.ok() ? std::move(*result) : host::RunResult{};
  }

 private:
  std::string folder_;
  std::unique_ptr<firmware::PtyDevice> device_;
};

host::RunResult run(const std::string& faults, const host::RunSettings& settings) {
  return Device(faults).run(settings);
}

void expect(const host::RunResult& r, host::VerdictKind kind, const std::string& part) {
  EXPECT_EQ(r.verdict.kind, kind) << r.verdict.sentence;
  EXPECT_THAT(r.verdict.sentence, HasSubstr(part));
}

TEST(VerdictOnPty, CleanRunsOfAllKinds) {
  Device device("");
  for (const uint32_t size : {1u, 127u, 512u, 4096u}) {
    for (const auto direction :
         {link::Direction::in, link::Direction::out, link::Direction::both}) {
      for (const uint16_t window : std::initializer_list<uint16_t>{0, 1, 7}) {
        if (window > 0 && direction == link::Direction::both) continue;
        host::RunSettings settings = frames(size, 300);
        settings.direction = direction;
        settings.window_frames = window;
        const host::RunResult r = device.run(settings);
        EXPECT_FALSE(r.failed()) << size << " " << window << ": " << r.verdict.sentence;
        const uint64_t each = uint64_t{size} * 300;
        EXPECT_EQ(r.in_bytes, direction == link::Direction::out ? 0 : each);
        EXPECT_EQ(r.out_bytes, direction == link::Direction::in ? 0 : each);
        if (window == 1) expect(r, host::VerdictKind::ack_bound, "round trip");
      }
    }
  }
}

TEST(VerdictOnPty, ManyMegabytesArriveWhole) {
  const host::RunResult r = run("", frames(4096, 8000));
  EXPECT_FALSE(r.failed()) << r.verdict.sentence;
  EXPECT_EQ(r.in_bytes, 32768000u);
  EXPECT_EQ(r.in_totals.faults, 0u);
  EXPECT_GT(r.cpu.total_ns_per_byte, 0);
}

TEST(VerdictOnPty, ClassicDevice) {
  for (const uint16_t window : std::initializer_list<uint16_t>{0, 1}) {
    host::RunSettings settings = frames(2048, 200);
    settings.window_frames = window;
    const host::RunResult r = run("classic", settings);
    EXPECT_FALSE(r.failed()) << r.verdict.sentence;
    EXPECT_EQ(r.protocol, host::Protocol::classic);
    EXPECT_EQ(r.in_bytes, 409600u);
  }
}

TEST(VerdictOnPty, SplitReadsChangeNothing) {
  for (const char* split : {"split=1", "split=13", "split=511"}) {
    EXPECT_FALSE(run(split, frames(512, 40)).failed()) << split;
  }
}

TEST(VerdictOnPty, TtyThatIsNotRaw) {
  const host::RunResult real = run("cooked=icrnl|ixon", frames(2048, 100));
  expect(real, host::VerdictKind::tty_mangling, "ICRNL");
  EXPECT_THAT(real.verdict.sentence, HasSubstr("IXON"));
  expect(run("mangle=igncr", frames(2048, 100)), host::VerdictKind::tty_mangling, "IGNCR");
  expect(run("mangle=istrip", frames(2048, 100)), host::VerdictKind::tty_mangling, "ISTRIP");
}

TEST(VerdictOnPty, ForeignWriter) {
  expect(run("insert=hello@40000", frames(2048, 100)), host::VerdictKind::foreign_writer,
         "\"hello\"");
  expect(run("insert=hex:41540d@40000", frames(2048, 100)), host::VerdictKind::foreign_writer,
         "ModemManager");
}

TEST(VerdictOnPty, BytesOfAnotherRun) {
  link::StreamShape shape;
  shape.frame_size = 2048;
  shape.frame_count = 100;
  link::StreamCursor cursor(shape);
  cursor.skip(100000);
  uint8_t old[256];
  cursor.read(old, sizeof(old));
  std::string insert = "insert=hex:";
  for (const uint8_t byte : old) {
    insert += "0123456789abcdef"[byte >> 4];
    insert += "0123456789abcdef"[byte & 15];
  }
  expect(run(insert + "@0", frames(2048, 100)), host::VerdictKind::stale_bytes,
         "256 bytes at offset 0");
}

TEST(VerdictOnPty, StaleCacheLines) {
  expect(run("stale=2@40960:4096", frames(2048, 100)), host::VerdictKind::cache_coherency,
         "2 whole 32-byte lines");
}

TEST(VerdictOnPty, DiscardingDeviceNamesTheStall) {
  host::RunSettings settings = frames(2048, 400);
  settings.discard_mode = true;
  settings.discard_after_ms = 120;
  const host::RunResult r = run("stall=400@102400", settings);
  expect(r, host::VerdictKind::device_discarded, "took nothing for");
  ASSERT_TRUE(r.counters);
  EXPECT_GE(r.counters->longest_blocked_us, 120000u);
  EXPECT_EQ(r.in_totals.lost_bytes, r.counters->in_discarded_bytes);
}

TEST(VerdictOnPty, LossBehindTheDevice) {
  const host::RunResult r = run("drop=1536@40960", frames(2048, 100));
  expect(r, host::VerdictKind::lost_behind_device, "1,536 bytes did not arrive");
  EXPECT_THAT(r.verdict.sentence, HasSubstr("frame 20, word 0"));
}

TEST(VerdictOnPty, LossInAnAcknowledgedRunDoesNotStopIt) {
  for (const char* faults : {"drop=512@40960", "drop=2048@40960", "classic&drop=512@42496"}) {
    host::RunSettings settings = frames(2048, 100);
    settings.window_frames = 1;
    const host::RunResult r = run(faults, settings);
    EXPECT_EQ(r.end, host::RunEnd::complete) << r.end_detail;
    EXPECT_EQ(r.in_bytes + r.in_totals.lost_bytes, 204800u) << faults;
    EXPECT_EQ(r.in_totals.faults, 1u) << faults;
  }
}

TEST(VerdictOnPty, LossOfAClassicDevice) {
  expect(run("classic&drop=1000@40001", frames(2048, 100)), host::VerdictKind::lost_unattributed,
         "not known");
  expect(run("classic&stall=150@40960&drop=1536@40960", frames(2048, 100)),
         host::VerdictKind::lost_unattributed, "probably discarded by the device");
}

TEST(VerdictOnPty, BitErrorsAndDuplicates) {
  expect(run("flip=3@50000", frames(2048, 100)), host::VerdictKind::bit_errors, "3 bits");
  expect(run("dup=512@40960", frames(2048, 100)), host::VerdictKind::duplicated,
         "512 bytes came twice");
}

TEST(VerdictOnPty, ReplugUnderAnotherName) {
  const host::RunResult r = run("unplug=200@100000", frames(2048, 100));
  expect(r, host::VerdictKind::replugged, "was back");
  EXPECT_GT(r.replug_ns, 0);
  EXPECT_NE(r.replug_path, r.port.path);
  EXPECT_LE(r.in_bytes, 100000u);
}

TEST(VerdictOnPty, UnplugForGood) {
  host::RunSettings settings = frames(2048, 100);
  settings.follow_replug_ms = 100;
  expect(run("unplug=600000@100000", settings), host::VerdictKind::device_gone, "until then");
}

TEST(VerdictOnPty, Reset) {
  expect(run("reset=200@100000", frames(2048, 100)), host::VerdictKind::device_reset,
         "boot counter");
  host::RunSettings settings = frames(2048, 100);
  settings.timeout_ms = 3000;
  const host::RunResult r = run("reset_silent=@100000", settings);
  expect(r, host::VerdictKind::device_reset, "boot counter");
  EXPECT_EQ(r.in_bytes, 100000u);
}

TEST(VerdictOnPty, MuteAndGarbage) {
  host::RunSettings settings = frames(2048, 100);
  settings.timeout_ms = 300;
  expect(run("mute", settings), host::VerdictKind::no_answer, "sent nothing");
  settings.timeout_ms = 3000;
  expect(run("garbage", settings), host::VerdictKind::not_our_stream, "not our stream");
}

TEST(VerdictOnPty, Refused) {
  host::RunSettings settings = frames(2048, 100);
  settings.direction = link::Direction::out;
  settings.timeout_ms = 300;  // a classic device never answers the probe
  expect(run("classic", settings), host::VerdictKind::refused, "no OUT stream");
}

TEST(VerdictOnPty, SilenceEndsTheRun) {
  host::RunSettings settings = frames(2048, 100);
  settings.timeout_ms = 3000;
  const host::RunResult r = run("stall=60000@100000", settings);
  expect(r, host::VerdictKind::timed_out, "nothing came for");
  EXPECT_GT(r.in_bytes, 0u);
}

TEST(VerdictOnPty, OneReadPerFewBytesIsCallBound) {
  host::RunSettings settings = frames(2048, 500);
  settings.read_size = 16;
  expect(run("classic", settings), host::VerdictKind::call_bound, "filled their 16 bytes");
}

TEST(VerdictOnPty, InterruptedRunLeavesThePortUsable) {
  Device device("");
  const std::atomic<bool> interrupted{true};
  for (const auto direction : {link::Direction::in, link::Direction::out, link::Direction::both}) {
    host::RunSettings settings = frames(2048, 1000000);
    settings.direction = direction;
    const host::RunResult cut = device.run(settings, &interrupted);
    expect(cut, host::VerdictKind::interrupted, "without a fault");
    EXPECT_EQ(cut.in_totals.faults, 0u);
    const host::RunResult next = device.run(frames(100, 50));
    EXPECT_FALSE(next.failed()) << next.verdict.sentence;
  }
}

}  // namespace
}  // namespace millrace
