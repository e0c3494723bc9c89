// SPDX-License-Identifier: Apache-2.0
// Whole runs against a device in virtual time: what is said, what is measured, how it ends.
#include "millrace/host/serial_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

uint64_t faults_of(const RunResult& r, link::FaultKind kind) {
  return r.in_totals.faults_of_kind[static_cast<size_t>(kind)];
}

TEST(SerialRun, CleanInRunHasExactFigures) {
  FakeDeviceOptions device;  // 1e6 B/s in chunks of 512: one every 512 us
  device.boot_counter = 3;
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_FALSE(r.failed()) << r.verdict.sentence;
  EXPECT_EQ(r.protocol, Protocol::extended);
  EXPECT_EQ(r.in_bytes, 51200u);
  EXPECT_EQ(r.frames, 100u);
  EXPECT_EQ(r.duration_ns, 51200 * 1000);
  EXPECT_NEAR(r.bytes_per_s, 1e6, 1);
  EXPECT_EQ(r.frame_delay_ns.count(), 99u);
  EXPECT_EQ(r.frame_delay_ns.min(), 512000u);
  EXPECT_EQ(r.frame_delay_ns.max(), 512000u);
  EXPECT_EQ(r.reads.longest_silence_ns, 512000);
  EXPECT_EQ(r.bridge_buffer_bytes, 512u);  // 512 us at 1 byte/us
  ASSERT_TRUE(r.hello);
  EXPECT_EQ(r.hello->boot_counter, 3u);
  ASSERT_TRUE(r.counters);
  EXPECT_EQ(r.counters->in_accepted_bytes, 51200u);
  EXPECT_DOUBLE_EQ(r.ceiling_bytes_per_s, 53.248e6);
  EXPECT_NEAR(r.packets_per_microframe, 1e6 / 512 / 8000, 1e-6);
  EXPECT_EQ(r.cpu.total_ns_per_byte, 0);  // meaningless in virtual time
}

TEST(SerialRun, FullSpeedCeiling) {
  FakeDeviceOptions device;
  device.usb_speed_mbit = 12;
  const RunResult r = run(device, frames(512, 10));
  EXPECT_DOUBLE_EQ(r.ceiling_bytes_per_s, 1.216e6);
  EXPECT_EQ(r.packets_per_microframe, 0);
}

TEST(SerialRun, ClassicDeviceIsProbedThenAskedWithTheHandshake) {
  FakeDeviceOptions device;
  device.classic_only = true;
  FakeEndpoint endpoint(device);
  const RunResult r = run(endpoint, frames(2048, 20));
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_EQ(r.protocol, Protocol::classic);
  EXPECT_EQ(r.in_bytes, 40960u);
  EXPECT_FALSE(r.counters);
  // 36 bytes of probe, then M = 2048, N = 20, no acknowledgement.
  const std::vector<uint8_t>& written = endpoint.written();
  ASSERT_EQ(written.size(), 45u);
  EXPECT_EQ(std::vector<uint8_t>(written.begin() + 36, written.end()),
            (std::vector<uint8_t>{0, 8, 0, 0, 20, 0, 0, 0, 0}));
}

TEST(SerialRun, ClassicProtocolSendsNothingButTheHandshake) {
  FakeDeviceOptions device;
  device.classic_only = true;
  FakeEndpoint endpoint(device);
  RunSettings settings = frames(1000, 3);
  settings.protocol = Protocol::classic;
  EXPECT_EQ(run(endpoint, settings).in_bytes, 3000u);
  EXPECT_EQ(endpoint.written(), (std::vector<uint8_t>{0xe8, 3, 0, 0, 3, 0, 0, 0, 0}));
}

TEST(SerialRun, EachFrameIsAcknowledgedWithOneReadAndOneWrite) {
  FakeDeviceOptions device;
  device.chunk_bytes = 4096;
  FakeEndpoint endpoint(device);
  RunSettings settings = frames(512, 50);
  settings.window_frames = 1;
  const RunResult r = run(endpoint, settings);
  EXPECT_EQ(r.end, RunEnd::complete) << r.verdict.sentence;
  EXPECT_EQ(r.counters->acks_received, 49u);  // REPORT does not wait for the last one
  EXPECT_EQ(r.ack_round_trip_ns.count(), 49u);
  EXPECT_EQ(r.verdict.kind, VerdictKind::ack_bound) << r.verdict.sentence;
  EXPECT_EQ(endpoint.writes(), 52u);  // probe, RUN, 50 acknowledgements
  // HELLO, STARTED, 50 frames (REPORT comes with the last acknowledgement, read once more).
  EXPECT_LE(endpoint.reads(), 54u);
}

TEST(SerialRun, WindowKeepsThatManyFramesInFlight) {
  FakeDeviceOptions device;
  RunSettings settings = frames(512, 64);
  settings.window_frames = 8;
  const RunResult r = run(device, settings);
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_EQ(r.ack_round_trip_ns.count(), 56u);
}

TEST(SerialRun, OutRunIsVerifiedByTheDevice) {
  RunSettings settings = frames(1000, 40);
  settings.direction = link::Direction::out;
  const RunResult r = run(FakeDeviceOptions(), settings);
  EXPECT_EQ(r.end, RunEnd::complete) << r.end_detail;
  EXPECT_FALSE(r.failed()) << r.verdict.sentence;
  EXPECT_EQ(r.out_bytes, 40000u);
  EXPECT_EQ(r.frames, 40u);
  EXPECT_EQ(r.in_bytes, 0u);
  EXPECT_EQ(r.duration_ns / kMs, 40);  // 40,000 B at 1e6 B/s
}

TEST(SerialRun, OutWindowWaitsForAcknowledgements) {
  RunSettings settings = frames(512, 40);
  settings.direction = link::Direction::out;
  settings.window_frames = 4;
  const RunResult r = run(FakeDeviceOptions(), settings);
  EXPECT_EQ(r.end, RunEnd::complete) << r.end_detail;
  EXPECT_EQ(r.out_bytes, 20480u);
  EXPECT_EQ(r.ack_round_trip_ns.count(), 40u);
}

TEST(SerialRun, OutWithoutAcknowledgementsTimesOut) {
  FakeDeviceOptions device;
  device.lose_acks = true;
  RunSettings settings = frames(512, 40);
  settings.direction = link::Direction::out;
  settings.window_frames = 4;
  const RunResult r = run(device, settings);
  EXPECT_EQ(r.end, RunEnd::timed_out);
  EXPECT_TRUE(r.failed());
}

TEST(SerialRun, BothDirectionsAtOnce) {
  RunSettings settings = frames(512, 100);
  settings.direction = link::Direction::both;
  const RunResult r = run(FakeDeviceOptions(), settings);
  EXPECT_EQ(r.end, RunEnd::complete) << r.end_detail;
  EXPECT_FALSE(r.failed()) << r.verdict.sentence;
  EXPECT_EQ(r.in_bytes, 51200u);
  EXPECT_EQ(r.out_bytes, 51200u);
  EXPECT_EQ(r.frames, 200u);
}

TEST(SerialRun, LossOnTheWayOutIsFound) {
  FakeDeviceOptions device;
  device.faults = {{Kind::drop, 5000, 512}};
  RunSettings settings = frames(1000, 40);
  settings.direction = link::Direction::out;
  const RunResult r = run(device, settings);
  EXPECT_EQ(r.verdict.kind, VerdictKind::lost_behind_device) << r.verdict.sentence;
  EXPECT_THAT(r.verdict.sentence, HasSubstr("512 did not"));
}

TEST(SerialRun, HungDeviceTimesOutAndDoesNotAnswerAProbe) {
  FakeDeviceOptions device;
  device.faults = {{Kind::hang, 10240}};
  FakeEndpoint endpoint(device);
  RunSettings settings = frames(512, 100);
  settings.timeout_ms = 700;
  const int64_t before = endpoint.clock().now_ns();
  const RunResult r = run(endpoint, settings);
  EXPECT_EQ(r.end, RunEnd::timed_out);
  EXPECT_EQ(r.in_bytes, 10240u);
  EXPECT_EQ(r.verdict.kind, VerdictKind::timed_out);
  EXPECT_THAT(r.end_detail, HasSubstr("does not answer a probe"));
  // 10 ms of stream, 700 ms of silence, at least 1 s for HELLO: it is known to answer one.
  EXPECT_EQ((endpoint.clock().now_ns() - before) / kMs, 1710);
}

TEST(SerialRun, StreamThatEndsEarlyOnALivingDevice) {
  FakeDeviceOptions device;
  device.faults = {{Kind::stop_short, 10240}};
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::timed_out);
  EXPECT_THAT(r.end_detail, HasSubstr("still answers"));
  EXPECT_EQ(faults_of(r, link::FaultKind::missing_tail), 1u);
}

TEST(SerialRun, DeviceThatEndsEarlyIsNamed) {
  FakeDeviceOptions device;
  device.faults = {{Kind::end_early, 10240}};
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.in_bytes, 10240u);
  EXPECT_EQ(r.verdict.kind, VerdictKind::device_ended_early) << r.verdict.sentence;
  EXPECT_THAT(r.verdict.sentence, HasSubstr("10,240 of 51,200 bytes"));
}

TEST(SerialRun, ResetIsToldByTheBootCounter) {
  FakeDeviceOptions device;
  device.faults = {{Kind::reset, 10240}};
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::reset);
  EXPECT_EQ(r.verdict.kind, VerdictKind::device_reset);
  EXPECT_EQ(r.in_bytes, 10240u);
  EXPECT_THAT(r.verdict.sentence, HasSubstr("boot counter 7 before, 8 now"));
}

TEST(SerialRun, UnpluggedForGoodIsGone) {
  FakeDeviceOptions device;
  device.faults = {{Kind::unplug, 10240}};
  FakeEndpoint endpoint(device);
  const int64_t before = endpoint.clock().now_ns();
  const RunResult r = run(endpoint, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::gone);
  EXPECT_EQ(r.verdict.kind, VerdictKind::device_gone);
  EXPECT_EQ(r.in_bytes, 10240u);
  // The other 40,960 bytes were not lost: nobody knows whether they were ever sent.
  EXPECT_EQ(r.not_delivered_bytes, 51200u - 10240u);
  EXPECT_EQ(r.in_totals.lost_bytes, 0u);
  EXPECT_EQ(r.in_totals.faults, 0u);
  EXPECT_TRUE(r.faults.empty());
  EXPECT_EQ(r.replug_ns, 0);
  EXPECT_EQ((endpoint.clock().now_ns() - before) / kMs, 10 + 3000);
}

TEST(SerialRun, ReplugIsToldFromAReset) {
  FakeDeviceOptions device;
  device.faults = {{Kind::unplug, 10240, 500}};
  RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::gone);
  EXPECT_EQ(r.verdict.kind, VerdictKind::replugged) << r.verdict.sentence;
  EXPECT_EQ(r.replug_ns, 500 * kMs);
  EXPECT_EQ(r.replug_path, "fake1");
  ASSERT_TRUE(r.hello && r.replug_boot_counter);
  EXPECT_EQ(*r.replug_boot_counter, r.hello->boot_counter);

  device.reset_with_unplug = true;
  r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::reset);
  EXPECT_EQ(r.verdict.kind, VerdictKind::device_reset);
  EXPECT_EQ(r.replug_ns, 500 * kMs);
}

TEST(SerialRun, InterruptionEndsTheWaitForAReplug) {
  std::atomic<bool> interrupted{false};
  RunHooks hooks;
  hooks.interrupted = &interrupted;
  FakeDeviceOptions device;
  device.faults = {{Kind::unplug, 10240}};
  int reopens = 0;
  device.on_reopen = [&] { interrupted = ++reopens == 5; };
  FakeEndpoint endpoint(device);
  RunSettings settings = frames(512, 100);
  settings.follow_replug_ms = 30000;
  const int64_t before = endpoint.clock().now_ns();
  const RunResult r = run(endpoint, settings, hooks);
  EXPECT_EQ(r.end, RunEnd::interrupted);
  EXPECT_EQ(r.verdict.kind, VerdictKind::interrupted) << r.verdict.sentence;
  EXPECT_THAT(r.verdict.sentence, HasSubstr("while the device was away"));
  EXPECT_EQ(r.in_bytes, 10240u);
  EXPECT_EQ(r.not_delivered_bytes, 51200u - 10240u);
  EXPECT_LE((endpoint.clock().now_ns() - before) / kMs, 10 + 5 * 100);
}

TEST(SerialRun, PortThatCannotReturnIsNotSaidToBeWaitedFor) {
  FakeDeviceOptions device;
  device.faults = {{Kind::unplug, 10240}};
  device.never_returns = true;
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::gone);
  EXPECT_THAT(r.end_detail, HasSubstr("; fake: gone for good"));
  EXPECT_EQ(r.end_detail.find("did not return"), std::string::npos);
}

TEST(SerialRun, NoReplugIsWaitedForWhenNotAsked) {
  FakeDeviceOptions device;
  device.faults = {{Kind::unplug, 10240, 500}};
  RunSettings settings = frames(512, 100);
  settings.follow_replug_ms = 0;
  EXPECT_EQ(run(device, settings).verdict.kind, VerdictKind::device_gone);
}

TEST(SerialRun, SilentDeviceSaysFirstWhetherDtrIsLow) {
  FakeDeviceOptions device;
  device.silent = true;
  device.dtr = false;
  RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::no_answer);
  EXPECT_EQ(r.verdict.kind, VerdictKind::no_answer);
  EXPECT_THAT(r.verdict.sentence, ::testing::StartsWith("no answer: DTR is low"));
  device.dtr = true;
  r = run(device, frames(512, 100));
  EXPECT_THAT(r.verdict.sentence, ::testing::StartsWith("no answer: DTR is high"));
}

TEST(SerialRun, ForeignDeviceIsNotOurStream) {
  FakeDeviceOptions device;
  device.chatter = "$GPGGA,092750.000,5321.6802,N,00630.3372,W\r\n";
  for (const Protocol protocol : {Protocol::automatic, Protocol::classic, Protocol::extended}) {
    RunSettings settings = frames(512, 100);
    settings.protocol = protocol;
    const RunResult r = run(device, settings);
    EXPECT_EQ(r.verdict.kind, VerdictKind::not_our_stream) << r.verdict.sentence;
    EXPECT_THAT(r.verdict.sentence, HasSubstr("$GPGGA"));
  }
}

TEST(SerialRun, LoopbackIsRecognised) {
  FakeDeviceOptions device;
  device.echo = true;
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.verdict.kind, VerdictKind::not_our_stream) << r.verdict.sentence;
  EXPECT_THAT(r.verdict.sentence, HasSubstr("sends back what is written"));
}

TEST(SerialRun, RefusalCarriesTheDevicesReason) {
  FakeDeviceOptions device;
  device.refuse = 2;
  device.refuse_reason = "at most 64 bytes";
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::refused);
  EXPECT_EQ(r.end_detail, "at most 64 bytes");
  EXPECT_EQ(r.verdict.kind, VerdictKind::refused);
}

TEST(SerialRun, RefusalOfALaterVersionIsShown) {
  FakeDeviceOptions device;
  device.refuse = 9;
  for (const char* reason : {"", "battery low"}) {
    device.refuse_reason = reason;
    const RunResult r = run(device, frames(512, 100));
    EXPECT_EQ(r.verdict.kind, VerdictKind::refused) << r.verdict.sentence;
    EXPECT_THAT(r.verdict.sentence,
                HasSubstr("it refused the run with status 9, which this version does not know"));
    EXPECT_THAT(r.verdict.sentence, HasSubstr(reason));
  }
}

TEST(SerialRun, WhatTheDeviceCannotDoIsSaidBeforeItIsAsked) {
  const auto refused = [](uint8_t capabilities, const RunSettings& settings, const char* text) {
    FakeDeviceOptions device;
    device.capabilities = capabilities;
    device.max_window_frames = 8;
    FakeEndpoint endpoint(device);
    const RunResult r = run(endpoint, settings);
    EXPECT_EQ(r.verdict.kind, VerdictKind::refused) << r.verdict.sentence;
    EXPECT_THAT(r.verdict.sentence, HasSubstr(text));
    EXPECT_EQ(endpoint.written().size(), link::kProbeBytes) << "RUN was sent";
  };
  constexpr uint8_t kAll = 15;
  RunSettings out = frames(512, 10);
  out.direction = link::Direction::out;
  refused(kAll & ~link::kCanStreamOut, out, "has no OUT stream");
  RunSettings window = frames(512, 10);
  window.window_frames = 1;
  refused(kAll & ~link::kCanWindow, window, "has no acknowledgements");
  window.window_frames = 9;
  refused(kAll, window, "at most 8 frames, not 9");
  RunSettings discard = frames(512, 10);
  discard.discard_mode = true;
  refused(kAll & ~link::kCanDiscard, discard, "has no discard mode");
  RunSettings counters = frames(512, 10);
  counters.counters_interval_ms = 10;
  refused(kAll & ~link::kCanCountDuringRun, counters, "has no counters during a run");
  refused(kAll, frames((1 << 20) + 1, 1), "frames of at most 1,048,576 bytes, not 1,048,577");
}

TEST(SerialRun, DeviceWithoutCapabilitiesCanStillSend) {
  FakeDeviceOptions device;
  device.capabilities = 0;
  EXPECT_FALSE(run(device, frames(512, 10)).failed());
}

TEST(SerialRun, FloodBehindHelloIsNamed) {
  FakeDeviceOptions device;
  device.floods_after_hello = true;
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.verdict.kind, VerdictKind::not_our_stream) << r.verdict.sentence;
  EXPECT_THAT(r.end_detail, HasSubstr("answered HELLO but not RUN, and sends what nobody asked"));
  EXPECT_THAT(r.verdict.sentence, HasSubstr("flood"));
}

TEST(SerialRun, TextBetweenHelloAndStartedIsForeign) {
  FakeDeviceOptions device;
  device.after_hello = std::string(100, '.') + "\r\n";
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_EQ(r.in_bytes, 51200u);
  EXPECT_EQ(r.stale_input_bytes, 0u);
  EXPECT_EQ(r.in_totals.inserted_bytes, 102u);
  EXPECT_EQ(r.verdict.kind, VerdictKind::foreign_writer) << r.verdict.sentence;
  EXPECT_THAT(r.verdict.sentence, HasSubstr("102 bytes in 1 place not of the stream, first at "
                                            "offset 0: \"...."));
}

TEST(SerialRun, BytesBehindAClassicStreamAreSeen) {
  for (const int64_t after_ms : {0, 1, 60, 99}) {
    FakeDeviceOptions device;
    device.classic_only = true;
    device.behind_end = "bye\r\n";
    device.behind_end_after_ms = after_ms;
    const RunResult r = run(device, frames(512, 10));
    EXPECT_EQ(r.end, RunEnd::complete);
    EXPECT_EQ(r.in_bytes, 5120u);
    EXPECT_EQ(r.duration_ns, 5120 * 1000) << "the wait is no part of the stream's time";
    EXPECT_EQ(r.reads.longest_silence_ns, 512000);
    EXPECT_EQ(r.verdict.kind, VerdictKind::foreign_writer) << after_ms << r.verdict.sentence;
    EXPECT_THAT(r.verdict.sentence, HasSubstr("first at offset 5,120: \"bye"));
  }
}

TEST(SerialRun, NoiseBehindAClassicStreamDoesNotKeepItAlive) {
  FakeDeviceOptions device;
  device.classic_only = true;
  device.noise = "x";
  device.noise_from_byte = 5120;
  FakeEndpoint endpoint(device);
  RunSettings settings = frames(512, 10);
  settings.timeout_ms = 700;
  settings.protocol = Protocol::classic;
  const int64_t before = endpoint.clock().now_ns();
  const RunResult r = run(endpoint, settings);
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_EQ(r.verdict.kind, VerdictKind::foreign_writer) << r.verdict.sentence;
  // 100 ms of quiet before the handshake, 5 ms of stream, 700 ms of noise every 50 ms.
  const int64_t took_ms = (endpoint.clock().now_ns() - before) / kMs;
  EXPECT_GE(took_ms, 805);
  EXPECT_LE(took_ms, 855);
}

TEST(SerialRun, LossAtTheEndOfAClassicStreamSaysHowMuch) {
  FakeDeviceOptions device;
  device.classic_only = true;
  device.faults = {{Kind::drop, 51200 - 1536, 1536}};
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.verdict.kind, VerdictKind::timed_out) << r.verdict.sentence;
  EXPECT_THAT(r.verdict.sentence, HasSubstr("49,664 of 51,200 bytes were verified"));
  EXPECT_THAT(r.verdict.sentence, HasSubstr("the last 1,536 bytes are missing"));
}

TEST(SerialRun, ShortTimeoutsAreKept) {
  for (const int64_t timeout_ms : {1, 20, 150}) {
    for (const uint16_t window : std::initializer_list<uint16_t>{0, 1}) {
      FakeDeviceOptions device;
      device.faults = {{Kind::hang, 5120}};
      RunSettings settings = frames(512, 100);
      settings.timeout_ms = timeout_ms;
      settings.window_frames = window;
      const RunResult r = run(device, settings);
      EXPECT_EQ(r.end, RunEnd::timed_out);
      EXPECT_THAT(r.end_detail,
                  HasSubstr("nothing came for " + std::to_string(timeout_ms) + " ms"));
    }
  }
}

TEST(SerialRun, ShortTimeoutOfAnOutStreamIsKept) {
  FakeDeviceOptions device;
  device.lose_acks = true;
  RunSettings settings = frames(512, 40);
  settings.direction = link::Direction::out;
  settings.window_frames = 4;
  settings.timeout_ms = 30;
  const RunResult r = run(device, settings);
  EXPECT_EQ(r.end, RunEnd::timed_out);
  EXPECT_THAT(r.end_detail, HasSubstr("nothing came for 30 ms"));
}

TEST(SerialRun, DeviceThatIgnoresAcknowledgementsIsNotAckBound) {
  FakeDeviceOptions device;
  device.ignores_acks = true;
  device.chunk_bytes = 4096;
  for (const uint16_t window : std::initializer_list<uint16_t>{1, 4}) {
    RunSettings settings = frames(512, 400);
    settings.window_frames = window;
    const RunResult r = run(device, settings);
    EXPECT_FALSE(r.failed());
    EXPECT_NE(r.verdict.kind, VerdictKind::ack_bound) << r.verdict.sentence;
    EXPECT_THAT(r.verdict.sentence, HasSubstr("did not wait for acknowledgements"));
  }
}

TEST(SerialRun, PortThatIsNoUsbDeviceHasNoUsbCeiling) {
  FakeDeviceOptions device;
  device.is_usb = false;  // though HELLO says 480 Mbit/s
  const RunResult r = run(device, frames(512, 100));
  EXPECT_EQ(r.ceiling_bytes_per_s, 0);
  EXPECT_EQ(r.packets_per_microframe, 0);
  EXPECT_EQ(r.verdict.sentence.find("microframe"), std::string::npos) << r.verdict.sentence;
}

TEST(SerialRun, ClassicDeviceCannotTakeAnOutStream) {
  FakeDeviceOptions device;
  device.classic_only = true;
  RunSettings settings = frames(512, 100);
  settings.direction = link::Direction::out;
  EXPECT_EQ(run(device, settings).end, RunEnd::refused);
}

TEST(SerialRun, InterruptedRunIsStoppedAndKeepsWhatItHas) {
  std::atomic<bool> interrupted{false};
  RunHooks hooks;
  hooks.interrupted = &interrupted;
  hooks.progress = [&](const RunProgress& p) {
    EXPECT_NEAR(p.bytes_per_s, 1e6, 2e4);
    EXPECT_EQ(p.total_bytes, 512000000u);
    if (p.bytes >= 250000) interrupted = true;
  };
  const RunResult r = run(FakeDeviceOptions(), frames(512, 1000000), hooks);
  EXPECT_EQ(r.end, RunEnd::interrupted);
  EXPECT_EQ(r.verdict.kind, VerdictKind::interrupted);
  // The third tick of 100 ms is the first beyond 250,000 bytes.
  EXPECT_GE(r.in_bytes, 290000u);
  EXPECT_LE(r.in_bytes, 310000u);
  EXPECT_EQ(r.in_totals.faults, 0u) << "what was not sent is no loss";
  ASSERT_TRUE(r.counters);
  EXPECT_EQ(r.counters->state, link::kRunStopped);
}

TEST(SerialRun, InterruptedOutRunStopsAtAFrame) {
  std::atomic<bool> interrupted{true};
  RunHooks hooks;
  hooks.interrupted = &interrupted;
  RunSettings settings = frames(1000, 5000000);
  settings.direction = link::Direction::out;
  const RunResult r = run(FakeDeviceOptions(), settings, hooks);
  EXPECT_EQ(r.end, RunEnd::interrupted);
  ASSERT_TRUE(r.counters);
  EXPECT_EQ(r.counters->out_received_bytes % 1000, 0u);
}

TEST(SerialRun, StopOnErrorEndsSoonAfterTheFirstFault) {
  FakeDeviceOptions device;
  device.faults = {{Kind::drop, 20480, 512}};
  RunSettings settings = frames(512, 10000);
  settings.stop_on_error = true;
  const RunResult r = run(device, settings);
  EXPECT_EQ(r.end, RunEnd::stopped);
  EXPECT_LT(r.in_bytes, 40000u);
  ASSERT_EQ(r.faults.size(), 1u);
  EXPECT_EQ(r.faults[0].stream_offset, 20480u);
}

TEST(SerialRun, CountersDuringTheRunAreThinnedTo1000) {
  RunSettings settings = frames(512, 100);
  settings.counters_interval_ms = 10;
  RunResult r = run(FakeDeviceOptions(), settings);
  // 51.2 ms: at 10, 20, ... 50 ms.
  ASSERT_EQ(r.counters_during_run.size(), 5u);
  EXPECT_EQ(r.counters_during_run[0].counters.state, link::kRunActive);

  settings = frames(512, 5000);  // 2.56 s: 2,559 or 2,560 samples
  settings.counters_interval_ms = 1;
  r = run(FakeDeviceOptions(), settings);
  EXPECT_FALSE(r.failed()) << r.verdict.sentence;
  EXPECT_GE(r.counters_during_run.size(), 500u);
  EXPECT_LE(r.counters_during_run.size(), 1000u);
  const auto& samples = r.counters_during_run;
  EXPECT_NEAR(static_cast<double>(samples.back().at_ns - samples.front().at_ns) / kMs, 2556, 8);
}

TEST(SerialRun, FaultsAreCappedButCounted) {
  FakeDeviceOptions device;
  device.rate_bytes_per_s = 1e7;
  for (uint64_t i = 0; i < 300; ++i) device.faults.push_back({Kind::drop, 4096 * (i + 1), 512});
  const RunResult r = run(device, frames(512, 3000));
  EXPECT_EQ(r.faults.size(), RunResult::kMaxFaults);
  EXPECT_EQ(r.in_totals.faults, 300u);
  EXPECT_EQ(r.in_totals.lost_bytes, 300u * 512u);
  EXPECT_EQ(r.verdict.kind, VerdictKind::lost_behind_device) << r.verdict.sentence;
}

TEST(SerialRun, StaleInputIsCountedAndDoesNotSpoilTheRun) {
  FakeDeviceOptions device;
  device.greeting = "booting...\r\n";
  for (const bool classic : {false, true}) {
    device.classic_only = classic;
    const RunResult r = run(device, frames(512, 10));
    EXPECT_EQ(r.stale_input_bytes, 12u);
    EXPECT_FALSE(r.failed()) << r.verdict.sentence;
  }
}

TEST(SerialRun, OldStreamIsStoppedByTheProbe) {
  FakeDeviceOptions device;
  device.streams_at_open = true;
  const RunResult r = run(device, frames(512, 10));
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_FALSE(r.failed()) << r.verdict.sentence;
}

TEST(SerialRun, MissingReportIsNoFault) {
  FakeDeviceOptions device;
  device.no_report = true;
  const RunResult r = run(device, frames(512, 10));
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_EQ(r.end_detail, "the device sent no REPORT");
  EXPECT_FALSE(r.counters);
  EXPECT_FALSE(r.failed());
  EXPECT_THAT(r.verdict.sentence, HasSubstr("the device sent no REPORT"));
  EXPECT_EQ(r.duration_ns, 5120 * 1000);  // the wait for REPORT does not count
}

// Noise must not keep a run alive whose stream is accounted for. 10 frames of 512 B take 5.12 ms;
// the engine looks at the time once per 50 ms of noise; a probe is not sent after a complete run.
TEST(SerialRun, NoiseBehindTheStreamDoesNotReplaceReport) {
  FakeDeviceOptions device;
  device.no_report = true;
  device.noise = "x";
  device.noise_from_byte = 5120;
  FakeEndpoint endpoint(device);
  RunSettings settings = frames(512, 10);
  settings.timeout_ms = 700;
  // Ends a run that would go on for ever, so that the test fails instead of hanging.
  std::atomic<bool> interrupted{false};
  RunHooks hooks;
  hooks.interrupted = &interrupted;
  const int64_t before = endpoint.clock().now_ns();
  hooks.progress = [&](const RunProgress&) {
    interrupted = endpoint.clock().now_ns() - before > 20000 * kMs;
  };
  const RunResult r = run(endpoint, settings, hooks);
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_EQ(r.end_detail, "the device sent no REPORT");
  EXPECT_EQ(r.duration_ns, 5120 * 1000) << "noise is no part of the stream's time";
  const int64_t took_ms = (endpoint.clock().now_ns() - before) / kMs;
  EXPECT_GE(took_ms, 705);
  EXPECT_LE(took_ms, 805);
}

TEST(SerialRun, NoiseInsteadOfTheStreamEndsInBothDirections) {
  FakeDeviceOptions device;
  device.faults = {{Kind::stop_short, 5120}};
  device.noise = "\x7f\x7f\x7f";
  device.noise_from_byte = 5120;
  FakeEndpoint endpoint(device);
  RunSettings settings = frames(512, 100);
  settings.direction = link::Direction::both;
  std::atomic<bool> interrupted{false};
  RunHooks hooks;
  hooks.interrupted = &interrupted;
  const int64_t before = endpoint.clock().now_ns();
  hooks.progress = [&](const RunProgress&) {
    interrupted = endpoint.clock().now_ns() - before > 20000 * kMs;
  };
  const RunResult r = run(endpoint, settings, hooks);
  EXPECT_EQ(r.end, RunEnd::timed_out);
  EXPECT_THAT(r.end_detail, HasSubstr("none of the stream"));
  // Both streams stand still after 52 ms at the latest; twice the timeout of 2 s, then a probe
  // that waits for HELLO at most 2 s among the noise.
  EXPECT_LE((endpoint.clock().now_ns() - before) / kMs, 52 + 4000 + 2000 + 400);
}

TEST(SerialRun, ReportOfAnotherSessionOrOfARunningRunIsNone) {
  for (const bool other_session : {true, false}) {
    for (const auto direction : {link::Direction::in, link::Direction::out}) {
      FakeDeviceOptions device;
      if (other_session) device.report_session_skew = 1;
      if (!other_session) device.report_flags = link::kRunActive;
      RunSettings settings = frames(512, 10);
      settings.direction = direction;
      const RunResult r = run(device, settings);
      if (direction == link::Direction::in) {
        EXPECT_EQ(r.end_detail, "the device sent no REPORT");
        EXPECT_EQ(r.counters.has_value(), !other_session);
      } else {
        EXPECT_EQ(r.end, RunEnd::timed_out);
      }
    }
  }
}

TEST(SerialRun, ReportWithAnotherBootCounterIsAReset) {
  FakeDeviceOptions device;
  device.report_boot_skew = 2;
  const RunResult r = run(device, frames(512, 10));
  EXPECT_EQ(r.verdict.kind, VerdictKind::device_reset) << r.verdict.sentence;
  EXPECT_THAT(r.verdict.sentence, HasSubstr("boot counter 7 in HELLO, 9 in REPORT"));
}

TEST(SerialRun, LongestSilenceIsFoundWithItsPlace) {
  FakeDeviceOptions device;
  device.faults = {{Kind::stall, 20480, 150}};
  const RunResult r = run(device, frames(512, 100));
  EXPECT_NEAR(static_cast<double>(r.reads.longest_silence_ns) / kMs, 150, 1.1);
  EXPECT_EQ(r.reads.longest_silence_offset, 20480u);
}

// What the dialogue read beyond STARTED was read with a buffer of its own.
TEST(SerialRun, NoReadIsLargerThanTheReadSize) {
  for (const uint32_t read_size : {1u, 7u, 512u, 65536u}) {
    for (const bool classic : {false, true}) {
      FakeDeviceOptions device;
      device.classic_only = classic;
      device.starts_at_once = true;
      RunSettings settings = frames(512, 100);
      settings.read_size = read_size;
      const RunResult r = run(device, settings);
      EXPECT_EQ(r.in_bytes, 51200u);
      EXPECT_LE(r.reads.bytes_per_read.max(), read_size);
      EXPECT_EQ(r.reads.bytes_per_read.count(), r.reads.reads);
    }
  }
}

TEST(SerialRun, VerdictsOfFaultsAndOfSpeed) {
  const auto verdict = [](const FakeDeviceOptions& device, uint32_t read_size = 65536) {
    RunSettings settings = frames(512, 100);
    settings.read_size = read_size;
    return run(device, settings).verdict;
  };
  FakeDeviceOptions device;
  EXPECT_EQ(verdict(device).kind, VerdictKind::device_bound);
  device.blocked_share = 0.93;
  EXPECT_EQ(verdict(device).kind, VerdictKind::link_bound);
  EXPECT_EQ(verdict(device, 64).kind, VerdictKind::call_bound);  // chunks of 512: 8 full reads each
  device.blocked_share = 0.3;
  EXPECT_EQ(verdict(device).kind, VerdictKind::device_or_link_bound);
  device.faults = {{Kind::insert, 5120, 0, "AT\r"}};
  EXPECT_EQ(verdict(device).kind, VerdictKind::foreign_writer);
  device.faults = {{Kind::flip, 5120}};
  EXPECT_EQ(verdict(device).kind, VerdictKind::bit_errors);
  device.faults = {{Kind::repeat, 5120, 512}};
  EXPECT_EQ(verdict(device).kind, VerdictKind::duplicated);
  device.faults = {{Kind::drop, 5120, 512}};
  EXPECT_EQ(verdict(device).kind, VerdictKind::lost_behind_device);
  device.discarded_bytes = 512;
  device.longest_blocked_ms = 130;
  EXPECT_EQ(verdict(device).kind, VerdictKind::device_discarded);
  EXPECT_THAT(verdict(device).sentence, HasSubstr("took nothing for 130 ms"));
}

TEST(SerialRun, SwappedPacketsAreReordered) {
  // Small ones come early, as far as the verifier can tell; beyond 4,096 bytes, late.
  for (const auto& [length, text] :
       {std::pair<uint64_t, const char*>{512,
                                         "512 bytes in 1 place came earlier than they should, "
                                         "first those of offset 10,752 at offset 10,240"},
        {8192,
         "8,192 bytes in 1 place came later than they should, first those of offset 10,240 "
         "at offset 26,624"}}) {
    FakeDeviceOptions device;
    device.faults = {{Kind::swap, 10240, length}};
    const RunResult r = run(device, frames(512, 200));
    EXPECT_EQ(r.verdict.kind, VerdictKind::reordered) << r.verdict.sentence;
    EXPECT_THAT(r.verdict.sentence, HasSubstr(text));
  }
}

TEST(SerialRun, LossInAnAcknowledgedRunDoesNotStopIt) {
  FakeDeviceOptions device;
  device.faults = {{Kind::drop, 5120, 512}};
  RunSettings settings = frames(2048, 100);
  settings.window_frames = 1;
  const RunResult r = run(device, settings);
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_EQ(r.in_totals.lost_bytes, 512u);
}

TEST(SerialRun, SettingsThatCannotBeRight) {
  const auto message = [](const RunSettings& settings) {
    FakeEndpoint endpoint{FakeDeviceOptions()};
    const auto result = run_serial(endpoint, settings, {});
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_THAT(message(frames(0, 1)), HasSubstr("frame size 0"));
  EXPECT_THAT(message(frames(1, 0)), HasSubstr("frame count 0"));
  RunSettings settings = frames(1, 1);
  settings.read_size = 0;
  EXPECT_THAT(message(settings), HasSubstr("read size 0"));
  settings = frames(1, 1);
  settings.timeout_ms = 0;
  EXPECT_THAT(message(settings), HasSubstr("timeout 0 ms"));
  settings = frames(1, 1);
  settings.direction = link::Direction::both;
  settings.window_frames = 1;
  EXPECT_THAT(message(settings), HasSubstr("not with both"));
  settings = frames(1, 1);
  settings.protocol = Protocol::classic;
  settings.window_frames = 2;
  EXPECT_THAT(message(settings), HasSubstr("no window"));
  settings.window_frames = 0;
  settings.direction = link::Direction::out;
  EXPECT_THAT(message(settings), HasSubstr("no OUT stream"));
}

TEST(SerialRun, SmallestRun) {
  const RunResult r = run(FakeDeviceOptions(), frames(1, 1));
  EXPECT_EQ(r.end, RunEnd::complete);
  EXPECT_EQ(r.in_bytes, 1u);
}

}  // namespace
}  // namespace millrace::host
