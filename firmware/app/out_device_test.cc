// SPDX-License-Identifier: Apache-2.0
// OUT and both directions of spec/stream.md on the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "firmware/app/device_fixture.h"
#include "millrace/link/fault.h"

namespace millrace::firmware {
namespace {

using link::DeviceCounters;
using link::MessageType;

constexpr uint32_t kSeed = 7;

// OutStream::start() makes one over the other.
static_assert(std::is_trivially_destructible<link::StreamVerifier>::value);

link::RunRequest out_run(uint32_t frame_size, uint32_t frame_count, uint16_t window = 0) {
  link::RunRequest request;
  request.run_id = 5;
  request.direction = link::Direction::out;
  request.frame_size = frame_size;
  request.frame_count = frame_count;
  request.window_frames = window;
  request.seed = kSeed;
  return request;
}

// The OUT stream uses the one's complement of the seed.
std::string out_bytes(uint32_t frame_size, uint32_t frame_count) {
  return stream_bytes({~kSeed, frame_size, frame_count});
}

std::string end_bytes() { return message_bytes(MessageType::end); }

TEST(OutDevice, VerifiesAStreamInPiecesOfAnySize) {
  for (const auto& [size, count] : {std::pair{128u, 200u}, {13u, 999u}, {5000u, 20u}, {1u, 9u}}) {
    for (const size_t piece : {1u, 64u, 511u, 100'000u}) {
      DeviceFixture f;
      ASSERT_TRUE(f.start(out_run(size, count)));
      const std::string stream = out_bytes(size, count);
      f.port.read_piece = piece;
      f.send(stream + end_bytes());
      const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
      ASSERT_TRUE(report) << size << " by " << piece;
      EXPECT_EQ(report->state, link::kRunComplete);
      EXPECT_EQ(report->out_frames, count);
      EXPECT_EQ(report->out_received_bytes, stream.size());
      EXPECT_EQ(report->out_verified_bytes, stream.size());
      EXPECT_EQ(report->out_faults, 0u);
      EXPECT_EQ(report->out_first_fault_kind, 0u);
      EXPECT_EQ(report->foreign_bytes, 0u);
      EXPECT_EQ(report->in_offered_bytes, 0u);
      EXPECT_EQ(f.port.output, "");
      EXPECT_FALSE(f.device.run_active());
    }
  }
}

TEST(OutDevice, SaysWhatWasLostAndWhere) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(512, 100)));
  std::string stream = out_bytes(512, 100);
  stream.erase(20'480, 1536);
  f.send(stream + end_bytes());
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, link::kRunComplete);
  EXPECT_EQ(report->out_faults, 1u);
  EXPECT_EQ(report->out_lost_bytes, 1536u);
  EXPECT_EQ(report->out_first_fault_kind, static_cast<uint32_t>(link::FaultKind::lost));
  EXPECT_EQ(report->out_first_fault_offset, 20'480u);
  EXPECT_EQ(report->out_verified_bytes, stream.size());
}

TEST(OutDevice, CountsFlippedDuplicatedAndInsertedBytes) {
  const std::string stream = out_bytes(512, 100);
  {
    DeviceFixture f;
    ASSERT_TRUE(f.start(out_run(512, 100)));
    std::string bad = stream;
    bad[10'001] = static_cast<char>(bad[10'001] ^ 4);
    f.send(bad + end_bytes());
    const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->out_altered_bytes, 1u);
    EXPECT_EQ(report->out_first_fault_offset, 10'001u);
  }
  {
    DeviceFixture f;
    ASSERT_TRUE(f.start(out_run(512, 100)));
    f.send(stream.substr(0, 4096) + stream.substr(2048) + end_bytes());
    const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->out_duplicated_bytes, 2048u);
    EXPECT_EQ(report->out_verified_bytes, stream.size());
  }
  {
    DeviceFixture f;
    ASSERT_TRUE(f.start(out_run(512, 100)));
    f.send(stream.substr(0, 4096) + "AT+GCAP\r\n" + stream.substr(4096) + end_bytes());
    const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->out_inserted_bytes, 9u);
    EXPECT_EQ(report->foreign_bytes, 0u);  // those are outside OUT streams
  }
}

TEST(OutDevice, AcknowledgesEveryFrameOfAWindow) {
  for (const uint16_t window : {uint16_t{1}, uint16_t{4}}) {
    DeviceFixture f;
    ASSERT_TRUE(f.start(out_run(300, 12, window)));
    const std::string stream = out_bytes(300, 12);
    for (size_t frame = 0; frame < 12; ++frame) {
      f.send(stream.substr(frame * 300, 299));
      EXPECT_EQ(f.port.output, "") << frame;
      f.port.flushes.clear();
      f.send(stream.substr(frame * 300 + 299, 1));
      EXPECT_EQ(f.received(), "\x06") << frame;
      EXPECT_EQ(f.port.flushes.size(), 1u);
    }
    f.send(end_bytes());
    EXPECT_TRUE(take<DeviceCounters>(&f.port.output, MessageType::report));
  }
}

TEST(OutDevice, AcknowledgesManyFramesAtOnceInOrderBeforeTheReport) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(1, 5000, 5000)));
  f.send(out_bytes(1, 5000) + end_bytes());
  EXPECT_EQ(f.port.output.substr(0, 5000), std::string(5000, '\x06'));
  f.port.output.erase(0, 5000);
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->out_frames, 5000u);
  EXPECT_EQ(f.port.output, "");
}

// A host that waits for the acknowledgement of a damaged frame gets it after a short silence.
TEST(OutDevice, ADamagedFrameDoesNotLockTheWindow) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(300, 4, 1)));
  std::string frame = out_bytes(300, 4).substr(0, 300);
  frame[296] = static_cast<char>(frame[296] ^ 1);
  f.send(frame);
  EXPECT_EQ(f.port.output, "");  // three bytes behind the damage decide nothing yet
  f.advance_ms(100);
  EXPECT_EQ(f.received(), "\x06");
}

// Without any byte behind it the damage is told from a loss by the frame being full.
TEST(OutDevice, DamageToTheLastByteOfAnAcknowledgedFrameIsReported) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(300, 4, 1)));
  std::string stream = out_bytes(300, 4);
  stream[299] = static_cast<char>(stream[299] ^ 1);
  f.send(stream.substr(0, 300));
  f.advance_ms(100);
  EXPECT_EQ(f.received(), "\x06");
  for (size_t frame = 1; frame < 4; ++frame) {
    f.send(stream.substr(frame * 300, 300));
    EXPECT_EQ(f.received(), "\x06");
  }
  f.send(end_bytes());
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, link::kRunComplete);
  EXPECT_EQ(report->out_altered_bytes, 1u);
  EXPECT_EQ(report->out_first_fault_offset, 299u);
  EXPECT_EQ(report->out_lost_bytes, 0u);
}

TEST(OutDevice, GivesUpAfterTwoSecondsOfSilence) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(512, 10)));
  f.send(out_bytes(512, 10).substr(0, 3000));
  f.advance_ms(1999);
  EXPECT_EQ(f.port.output, "");
  EXPECT_TRUE(f.device.run_active());
  f.advance_ms(1);
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, link::kRunOutTimedOut);
  EXPECT_EQ(report->out_verified_bytes, 3000u);
  EXPECT_EQ(report->out_lost_bytes, 5120u - 3000u);
  EXPECT_EQ(report->out_first_fault_kind, static_cast<uint32_t>(link::FaultKind::missing_tail));
}

TEST(OutDevice, ALostEndIsNoTimeoutWhenEveryByteCame) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(512, 10)));
  f.send(out_bytes(512, 10));
  f.advance_ms(2000);
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, link::kRunComplete);
  EXPECT_EQ(report->out_faults, 0u);
}

TEST(OutDevice, StopLosesNothing) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(512, 10)));
  f.send(out_bytes(512, 10).substr(0, 1024) + message_bytes(MessageType::stop));
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, link::kRunStopped);
  EXPECT_EQ(report->out_frames, 2u);
  EXPECT_EQ(report->out_lost_bytes, 0u);
}

TEST(OutDevice, TellsItsCountersDuringTheRun) {
  DeviceFixture f;
  link::RunRequest request = out_run(512, 10);
  request.counters_interval_ms = 10;
  ASSERT_TRUE(f.start(request));
  const std::string stream = out_bytes(512, 10);
  f.send(stream.substr(0, 1024));
  f.port.flushes.clear();
  f.advance_ms(10);
  auto counters = take<DeviceCounters>(&f.port.output, MessageType::counters);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->out_frames, 2u);
  EXPECT_EQ(counters->state, link::kRunActive);
  EXPECT_EQ(f.port.flushes.size(), 1u);
  f.send(stream.substr(1024, 512) + message_bytes(MessageType::get_counters) +
         stream.substr(1536, 512));
  counters = take<DeviceCounters>(&f.port.output, MessageType::counters);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->out_received_bytes, 2048u);  // the message is not of the stream
  EXPECT_EQ(counters->out_faults, 0u);
}

TEST(OutDevice, AProbeInTheStreamEndsTheRun) {
  for (const size_t at : {0u, 1u, 700u, 5119u}) {
    DeviceFixture f;
    ASSERT_TRUE(f.start(out_run(512, 10)));
    f.port.read_piece = 50;
    f.send(out_bytes(512, 10).substr(0, at) + probe_bytes() + handshake_bytes(6, 5, 0));
    EXPECT_TRUE(take<link::Hello>(&f.port.output, MessageType::hello)) << at;
    EXPECT_EQ(f.received(), stream_bytes({42, 6, 5})) << at;
  }
}

TEST(OutDevice, ARunInTheStreamStartsAnew) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(512, 10)));
  link::RunRequest next = out_run(100, 2);
  next.session_id = f.device.counters().session_id;
  f.send(out_bytes(512, 10).substr(0, 1000) + run_bytes(next));
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  f.send(out_bytes(100, 2) + end_bytes());
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->out_verified_bytes, 200u);
  EXPECT_EQ(report->out_faults, 0u);
}

TEST(OutDevice, BothDirectionsAtOnce) {
  DeviceFixture f;
  link::RunRequest request = out_run(1000, 50);
  request.direction = link::Direction::both;
  request.counters_interval_ms = 1;
  f.port.write_us = 500;
  f.port.read_piece = 700;
  request.session_id = f.open_session();
  const std::string out = out_bytes(1000, 50);
  f.port.host_sends(run_bytes(request) + out + end_bytes());
  f.settle();
  ASSERT_TRUE(take<link::Started>(&f.port.output, MessageType::started));
  const std::string in = stream_bytes({kSeed, 1000, 50});
  std::string got;
  while (got.size() < in.size() && !f.port.output.empty()) {
    while (take<DeviceCounters>(&f.port.output, MessageType::counters)) {
    }
    got += f.port.output.substr(0, 1000);
    f.port.output.erase(0, 1000);
  }
  EXPECT_EQ(got, in);
  while (take<DeviceCounters>(&f.port.output, MessageType::counters)) {
  }
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, link::kRunComplete);
  EXPECT_EQ(report->in_accepted_bytes, in.size());
  EXPECT_EQ(report->out_verified_bytes, out.size());
  EXPECT_EQ(f.port.output, "");
}

TEST(OutDevice, BothWaitsForTheSlowerDirection) {
  DeviceFixture f;
  link::RunRequest request = out_run(1000, 5);
  request.direction = link::Direction::both;
  ASSERT_TRUE(f.start(request));
  EXPECT_EQ(f.received(), stream_bytes({kSeed, 1000, 5}));
  EXPECT_TRUE(f.device.run_active());
  f.send(out_bytes(1000, 5) + end_bytes());
  EXPECT_TRUE(take<DeviceCounters>(&f.port.output, MessageType::report));

  ASSERT_TRUE(f.start(request));
  f.received();
  f.send(message_bytes(MessageType::stop));
  const auto report = take<DeviceCounters>(&f.port.output, MessageType::report);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->state, link::kRunStopped);
}

TEST(OutDevice, CountersOfAnInRunSayNothingOfAnOlderOutRun) {
  DeviceFixture f;
  ASSERT_TRUE(f.start(out_run(512, 2)));
  f.send(out_bytes(512, 2) + end_bytes());
  f.received();
  link::RunRequest request = out_run(512, 2);
  request.direction = link::Direction::in;
  ASSERT_TRUE(f.start(request));
  EXPECT_EQ(f.device.counters().out_received_bytes, 0u);
}

}  // namespace
}  // namespace millrace::firmware
