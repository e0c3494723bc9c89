// SPDX-License-Identifier: Apache-2.0
// spec/classic_stream.md on the device. CRCs and first bytes of the streams were computed with an
// independent Python implementation of JSF32 and CRC-32C.
#include <gtest/gtest.h>

#include <string>

#include "firmware/app/device_fixture.h"

namespace millrace::firmware {
namespace {

struct Vector {
  uint32_t seed, frame_size, frame_count;
  uint32_t crc;
};

constexpr Vector kVectors[] = {
    {42, 128, 100, 0xcdb73942}, {42, 2048, 16, 0xca424f3a}, {42, 5000, 7, 0x31996dfd},
    {42, 13, 50, 0x444d33c3},   {42, 1, 10, 0xef7bf437},    {42, 4096, 5, 0xbd90bc47},
    {7, 3000, 9, 0xcca4d5f2},   {42, 6, 5, 0xcd440b5f},     {1, 512, 64, 0x23a44c18},
};

TEST(ClassicDevice, SendsTheStreamByteForByte) {
  for (const Vector& v : kVectors) {
    StreamDeviceOptions options;
    options.classic_seed = v.seed;
    DeviceFixture f(options);
    f.send(handshake_bytes(v.frame_size, v.frame_count, 0));
    const std::string got = f.received();
    ASSERT_EQ(got.size(), uint64_t{v.frame_size} * v.frame_count);
    EXPECT_EQ(crc_of(got), v.crc) << v.seed << " " << v.frame_size << " " << v.frame_count;
    EXPECT_FALSE(f.device.run_active());
    EXPECT_EQ(f.device.counters().frames_sent, v.frame_count);
    EXPECT_EQ(f.device.counters().in_accepted_bytes, got.size());
  }
}

TEST(ClassicDevice, StartsWithTheValuesOfTheSpecification) {
  DeviceFixture f;
  f.send(handshake_bytes(6, 5, 0));  // each frame ends in half a word
  // 1230419127, 4080097750 cut to 2 bytes, 2014035305, ...
  EXPECT_EQ(f.received().substr(0, 10), std::string("\xb7\xb4\x56\x49\xd6\x59\x69\xbd\x0b\x78"));
}

TEST(ClassicDevice, SendsTheSameWhateverThePortTakes) {
  for (const Vector& v : kVectors) {
    for (const size_t accept : {1u, 13u, 511u, 4095u}) {
      StreamDeviceOptions options;
      options.classic_seed = v.seed;
      DeviceFixture f(options);
      f.port.accept = accept;
      for (int i = 0; i < 50; ++i) f.port.script.push_back(i % 3 == 0 ? 0 : 7);
      f.port.host_sends(handshake_bytes(v.frame_size, v.frame_count, 0));
      for (int i = 0; i < 100; ++i) f.settle();
      EXPECT_EQ(crc_of(f.received()), v.crc) << v.frame_size << " by " << accept;
      if (accept == 1 && v.frame_size > 1) {
        EXPECT_GT(f.device.counters().short_writes, 0u);
      }
    }
  }
}

TEST(ClassicDevice, HandsSmallFramesOnInLargePieces) {
  DeviceFixture f;
  f.send(handshake_bytes(128, 3200, 0));
  EXPECT_EQ(f.port.largest_write, 4096u);
  EXPECT_EQ(f.port.writes, 3200u * 128u / 4096u);
  // One transfer: nothing is flushed but the end.
  EXPECT_EQ(f.port.flushes, std::vector<size_t>{3200u * 128u});
}

TEST(ClassicDevice, SendsNothingBeforeTheWholeHandshake) {
  DeviceFixture f;
  f.settle();
  const std::string handshake = handshake_bytes(128, 3, 0);
  for (size_t i = 0; i + 1 < handshake.size(); ++i) {
    f.send(handshake.substr(i, 1));
    EXPECT_EQ(f.port.output.size(), 0u);
    EXPECT_EQ(f.port.writes, 0u);
  }
  f.send(handshake.substr(8));
  EXPECT_EQ(f.received().size(), 384u);
}

TEST(ClassicDevice, IgnoresHandshakesThatAskForNothing) {
  DeviceFixture f;
  f.send(handshake_bytes(2048, 0, 0) + handshake_bytes(0, 7, 0) + handshake_bytes(0, 7, 1));
  EXPECT_EQ(f.port.writes, 0u);
  f.send(handshake_bytes(0xffffffff, 0xffffffff, 1));
  EXPECT_EQ(f.port.writes, 0u);
  EXPECT_FALSE(f.device.run_active());
}

TEST(ClassicDevice, WaitsForOneByteAfterEachFrame) {
  DeviceFixture f;
  f.send(handshake_bytes(5000, 4, 1));
  std::string all;
  for (int frame = 1; frame <= 4; ++frame) {
    const std::string got = f.received();
    EXPECT_EQ(got.size(), 5000u) << frame;
    all += got;
    EXPECT_TRUE(f.device.run_active());
    f.send(std::string(1, static_cast<char>(frame * 60)));  // any value counts
  }
  EXPECT_FALSE(f.device.run_active());
  EXPECT_EQ(all, stream_bytes({42, 5000, 4}));
  EXPECT_EQ(f.device.counters().acks_received, 4u);
  EXPECT_EQ(f.device.counters().foreign_bytes, 0u);
  // Each frame ends its transfer: the host waits for it.
  EXPECT_EQ(f.port.flushes.size(), 4u);
}

TEST(ClassicDevice, AcknowledgementsAheadCount) {
  DeviceFixture f;
  f.send(handshake_bytes(100, 5, 1) + "\x06\x06");
  EXPECT_EQ(f.received().size(), 300u);
}

TEST(ClassicDevice, TheLastAcknowledgementDoesNotShiftTheNextHandshake) {
  DeviceFixture f;
  f.send(handshake_bytes(100, 1, 1));
  f.send("\x06");
  EXPECT_EQ(f.received(), stream_bytes({42, 100, 1}));
  f.send(handshake_bytes(64, 2, 0));
  EXPECT_EQ(f.received(), stream_bytes({42, 64, 2}));
}

TEST(ClassicDevice, TheLastAcknowledgementAndTheNextHandshakeMayComeTogether) {
  DeviceFixture f;
  f.send(handshake_bytes(100, 2, 1) + "\x06");
  EXPECT_EQ(f.received(), stream_bytes({42, 100, 2}));
  std::string together = handshake_bytes(64, 2, 0);
  together.insert(0, 1, '\x06');
  f.send(together);
  EXPECT_EQ(f.received(), stream_bytes({42, 64, 2}));
}

TEST(ClassicDevice, ANewHandshakeStartsFromTheBeginning) {
  DeviceFixture f;
  for (int run = 1; run <= 3; ++run) {
    f.send(handshake_bytes(128, 100, 0));
    EXPECT_EQ(crc_of(f.received()), 0xcdb73942u);
    EXPECT_EQ(f.device.runs_started(), static_cast<uint32_t>(run));
  }
}

TEST(ClassicDevice, AHandshakeDuringAStreamIsAnsweredAfterIt) {
  DeviceFixture f;
  f.port.accept = 0;
  f.send(handshake_bytes(128, 100, 0));
  f.send(handshake_bytes(6, 5, 0));
  f.port.accept = FakePort::kEverything;
  f.settle();
  EXPECT_EQ(f.received(), stream_bytes({42, 128, 100}) + stream_bytes({42, 6, 5}));
}

TEST(ClassicDevice, FindsItsFootingAfterAHandshakeCutShort) {
  DeviceFixture f;
  f.send(handshake_bytes(2048, 4, 0).substr(0, 5));
  f.advance_ms(499);
  EXPECT_EQ(f.device.counters().dropped_handshakes, 0u);
  f.advance_ms(1);
  EXPECT_EQ(f.device.counters().dropped_handshakes, 1u);
  f.send(handshake_bytes(128, 100, 0));
  EXPECT_EQ(crc_of(f.received()), 0xcdb73942u);
}

TEST(ClassicDevice, SurvivesAFloodOfText) {
  DeviceFixture f;
  std::string flood;
  while (flood.size() < 100'000) flood += "AT+CGMI\r\nOK hello world ";
  f.send(flood);
  EXPECT_EQ(f.port.writes, 0u);
  EXPECT_EQ(f.device.counters().foreign_bytes, flood.size());
  f.advance_ms(500);
  f.send(handshake_bytes(128, 100, 0));
  EXPECT_EQ(crc_of(f.received()), 0xcdb73942u);
  EXPECT_EQ(f.device.counters().foreign_bytes, 0u);  // counted anew
}

TEST(ClassicDevice, ClassicOnlyDoesNotKnowTheProbe) {
  StreamDeviceOptions options;
  options.classic_only = true;
  DeviceFixture f(options);
  f.send(probe_bytes());
  f.send(message_bytes(link::MessageType::get_counters));
  f.advance_ms(500);
  EXPECT_EQ(f.port.writes, 0u);
  f.send(handshake_bytes(128, 100, 0));
  EXPECT_EQ(crc_of(f.received()), 0xcdb73942u);
}

// What the published harness saw: the rest of a frame and then whole frames are missing.
TEST(ClassicDevice, DiscardModeLosesTheRestOfAFrameAndThenWholeFrames) {
  StreamDeviceOptions options;
  options.classic_discard_after_ms = 120;
  DeviceFixture f(options);
  f.port.script = {2048, 2048, 512};  // then the host stalls in frame 2
  f.port.accept = 0;
  f.send(handshake_bytes(2048, 10, 0));
  f.advance_ms(119);
  EXPECT_TRUE(f.device.run_active());
  f.port.script = {0, 0, 0};  // at 120 ms: the rest of frame 2, then frames 3 and 4
  f.port.accept = FakePort::kEverything;
  f.advance_ms(1);
  const std::string whole = stream_bytes({42, 2048, 10});
  EXPECT_EQ(f.received(), whole.substr(0, 2 * 2048 + 512) + whole.substr(5 * 2048));
  const link::DeviceCounters counters = f.device.counters();
  EXPECT_EQ(counters.in_discarded_bytes, 2048u - 512u + 2u * 2048u);
  EXPECT_EQ(counters.discards, 3u);
  EXPECT_EQ(counters.in_offered_bytes, 10u * 2048u);
  EXPECT_EQ(counters.in_accepted_bytes, 10u * 2048u - counters.in_discarded_bytes);
  EXPECT_EQ(counters.frames_sent, 7u);
  EXPECT_EQ(counters.longest_blocked_us, 120'000u);
  EXPECT_FALSE(f.device.run_active());
}

TEST(ClassicDevice, WithoutDiscardModeNothingIsEverLost) {
  DeviceFixture f;
  f.port.script = {2048, 1};
  f.port.accept = 0;
  f.send(handshake_bytes(2048, 10, 0));
  for (int second = 0; second < 100; ++second) f.advance_ms(1000);
  f.port.accept = FakePort::kEverything;
  f.settle();
  EXPECT_EQ(f.received(), stream_bytes({42, 2048, 10}));
  EXPECT_EQ(f.device.counters().in_discarded_bytes, 0u);
  EXPECT_GE(f.device.counters().longest_blocked_us, 100'000'000u);
}

// now_us() wraps every 71.6 minutes.
TEST(ClassicDevice, TimesStayRightAcrossTheWrapOfTheClock) {
  FakePort port;
  port.clock_us = 0xffffffff - 100'000;
  StreamDeviceOptions options;
  options.classic_discard_after_ms = 250;
  StreamDevice device(port, options);
  port.accept = 0;
  port.host_sends(handshake_bytes(100, 2, 0));
  for (int ms = 0; ms < 249; ++ms) {
    device.poll();
    port.clock_us += 1000;
  }
  EXPECT_EQ(device.counters().discards, 0u);
  for (int ms = 0; ms < 5; ++ms) {
    device.poll();
    port.clock_us += 1000;
  }
  EXPECT_EQ(device.counters().discards, 2u);
  EXPECT_EQ(device.counters().longest_blocked_us, device.counters().run_us);
  EXPECT_LT(device.counters().run_us, 255'000u);
}

TEST(ClassicDevice, SleepsWhenThereIsNothingToDo) {
  DeviceFixture f;
  f.settle();
  EXPECT_GE(f.port.last_idle_us, 10'000u);
  f.send(handshake_bytes(100, 2, 1));
  EXPECT_LE(f.port.last_idle_us, 1'000u);
}

}  // namespace
}  // namespace millrace::firmware
