// SPDX-License-Identifier: Apache-2.0
// How a run begins, in virtual time: devices that answer late, ports that echo or are shared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/host/serial_run.h"
#include "testing/serial_runs.h"

namespace millrace::host {
namespace {

using testing::DeviceFault;
using testing::FakeDeviceOptions;
using testing::FakeEndpoint;
using testing::frames;
using ::testing::HasSubstr;
using testing::kMs;
using testing::run;

using Kind = DeviceFault::Kind;

// The device of a loaded machine: HELLO comes behind the classic handshake, and a classic stream
// with it.
TEST(SerialRun, HelloThatComesLateEndsTheClassicAttempt) {
  for (const int64_t late_ms : {350, 401, 1000, 1900}) {
    for (const uint16_t window : std::initializer_list<uint16_t>{0, 1}) {
      FakeDeviceOptions device;
      device.wakes_after_ms = late_ms;
      FakeEndpoint endpoint(device);
      RunSettings settings = frames(512, 100);
      settings.window_frames = window;
      const RunResult r = run(endpoint, settings);
      EXPECT_EQ(r.end, RunEnd::complete) << late_ms << ": " << r.end_detail;
      EXPECT_FALSE(r.failed()) << late_ms << ": " << r.verdict.sentence;
      EXPECT_EQ(r.protocol, Protocol::extended);
      EXPECT_EQ(r.in_bytes, 51200u);
      EXPECT_EQ(r.in_totals.faults, 0u);
      EXPECT_TRUE(r.counters);
    }
  }
}

TEST(SerialRun, HelloThatComesLateIsWaitedForWhereClassicCannotDo) {
  FakeDeviceOptions device;
  device.wakes_after_ms = 1900;
  RunSettings settings = frames(512, 100);
  settings.direction = link::Direction::out;
  EXPECT_EQ(run(device, settings).verdict.failed, false);
  settings.direction = link::Direction::in;
  settings.protocol = Protocol::extended;
  EXPECT_EQ(run(device, settings).in_bytes, 51200u);
  settings.timeout_ms = 1500;
  EXPECT_EQ(run(device, settings).verdict.kind, VerdictKind::no_answer);
}

TEST(SerialRun, ClassicDeviceThatStartsLateIsMeasured) {
  FakeDeviceOptions device;
  device.classic_only = true;
  device.wakes_after_ms = 1500;
  const RunResult r = run(device, frames(512, 100));
  EXPECT_FALSE(r.failed()) << r.verdict.sentence;
  EXPECT_EQ(r.protocol, Protocol::classic);
  EXPECT_EQ(r.in_bytes, 51200u);
}

TEST(SerialRun, InterruptEndsTheWaitForHello) {
  FakeDeviceOptions device;
  device.silent = true;
  FakeEndpoint endpoint(device);
  const std::atomic<bool> interrupted{true};
  RunHooks hooks;
  hooks.interrupted = &interrupted;
  RunSettings settings = frames(512, 100);
  settings.direction = link::Direction::out;
  const int64_t before = endpoint.clock().now_ns();
  const RunResult r = run(endpoint, settings, hooks);
  EXPECT_EQ(r.verdict.kind, VerdictKind::interrupted) << r.verdict.sentence;
  EXPECT_LE((endpoint.clock().now_ns() - before) / kMs, 100);
}

TEST(SerialRun, ClassicPortThatEchoesIsNamedAndHasLostNothing) {
  FakeDeviceOptions device;
  device.echo = true;
  for (const uint16_t window : std::initializer_list<uint16_t>{0, 1}) {
    RunSettings settings = frames(512, 100);
    settings.protocol = Protocol::classic;
    settings.window_frames = window;
    const RunResult r = run(device, settings);
    EXPECT_EQ(r.end, RunEnd::no_answer);
    EXPECT_EQ(r.verdict.kind, VerdictKind::not_our_stream) << r.verdict.sentence;
    EXPECT_THAT(r.verdict.sentence, HasSubstr("sends back what is written to it"));
  }
}

TEST(SerialRun, OtherReadersOfThePortAreNamed) {
  FakeDeviceOptions device;
  device.other_holders = {"pid 812 (cat)"};
  device.faults = {{Kind::drop, 5000, 512}};
  std::vector<std::string> warnings;
  RunHooks hooks;
  hooks.warning = [&](const std::string& text) { warnings.push_back(text); };
  const RunResult r = run(device, frames(512, 100), hooks);
  EXPECT_EQ(r.verdict.kind, VerdictKind::lost_behind_device);
  EXPECT_THAT(r.verdict.sentence, HasSubstr("pid 812 (cat) also had fake0 open"));
  EXPECT_THAT(r.verdict.sentence, ::testing::Not(HasSubstr("hub")));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("pid 812 (cat)"));
  EXPECT_EQ(r.other_holders.size(), 1u);  // seen at the start and again after the loss

  device.faults.clear();
  const RunResult clean = run(device, frames(512, 100));
  EXPECT_FALSE(clean.failed()) << clean.verdict.sentence;
  EXPECT_EQ(clean.verdict.sentence.find("812"), std::string::npos);
}

}  // namespace
}  // namespace millrace::host
