// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_host.h"

#include <gtest/gtest.h>

#include <memory>

#include "usb/testing/usb_host_fixture.h"

namespace millrace::board {
namespace {

using testing::Bytes;

class UsbHostTest : public testing::UsbHostFixture {
 protected:
  using UsbHostFixture::UsbHostFixture;
};

// Port, USB 2.0 7.1.7.

class UsbHostPort : public testing::UsbHostFixture {
 protected:
  UsbHostPort() : UsbHostFixture(UsbHostProfile()) {}
};

TEST_F(UsbHostPort, DebouncesResetsAndRecoversInTheTimesOfTheStandard) {
  run(7 * kUs);
  usb.plug_in();
  EXPECT_EQ(device.log, "attach ");
  run(100'000 * kUs - 1);  // 100 ms of debounce
  EXPECT_EQ(device.log, "attach ");
  run(1);
  EXPECT_EQ(device.log, "attach reset ");
  run(50'000 * kUs - 1);  // 50 ms of reset
  EXPECT_EQ(device.log, "attach reset ");
  run(1);
  EXPECT_EQ(device.log, "attach reset end ");
  EXPECT_EQ(enabled, 0u);
  run(10'000 * kUs);  // 10 ms of recovery, with frames
  EXPECT_EQ(enabled, 1u);
  EXPECT_EQ(usb.speed(), UsbSpeed::high);
  EXPECT_EQ(device.frames, 81u);  // at 0, 125, ... 10,000 us
}

TEST_F(UsbHostTest, APullUpThatComesLaterStartsTheDebounce) {
  device.pull_up = false;
  usb.plug_in();
  run(1000 * kUs);
  EXPECT_EQ(usb.port_state(), UsbPortState::waiting);
  device.pull_up = true;
  usb.connection_changed(now());
  EXPECT_EQ(usb.port_state(), UsbPortState::debouncing);
  run(10'000 * kUs);
  EXPECT_EQ(enabled, 1u);
}

TEST_F(UsbHostTest, FramesComeEvery125MicrosecondsAndCountAt14Bits) {
  start();
  device.frames = 0;
  const Cycles first = device.last_frame_at;
  const uint32_t number = device.last_frame;
  run(16384 * kMicroframe);
  EXPECT_EQ(device.frames, 16384u);
  EXPECT_EQ(device.last_frame, number);
  EXPECT_EQ(device.last_frame_at, first + 16384 * kMicroframe);
  run(kMicroframe);
  EXPECT_EQ(device.last_frame, (number + 1) % 16384);
}

TEST_F(UsbHostTest, AtFullSpeedFramesComeEveryMillisecondAndCountEightMicroframes) {
  start(UsbSpeed::full);
  EXPECT_EQ(usb.speed(), UsbSpeed::full);
  const uint32_t number = device.last_frame;
  device.frames = 0;
  run(5 * 8 * kMicroframe);
  EXPECT_EQ(device.frames, 5u);
  EXPECT_EQ(device.last_frame, number + 40);
  EXPECT_EQ(device.last_frame % 8, 0u);
}

TEST_F(UsbHostTest, AChangeOfTheCoreClockLeavesTheFramesWhereTheyAre) {
  start();
  run(kMicroframe - (now() - device.last_frame_at));  // to the next frame
  const Cycles at = device.last_frame_at;
  ASSERT_EQ(at, now());
  run(kMicroframe / 2);
  set_clocks(300'000'000);
  device.frames = 0;
  run(kMicroframe / 4 - 1);  // the rest, in slower cycles
  EXPECT_EQ(device.frames, 0u);
  run(1);
  EXPECT_EQ(device.frames, 1u);
  run(kMicroframe / 2);
  EXPECT_EQ(device.frames, 2u);
}

TEST_F(UsbHostTest, LosingThePullUpReturnsEveryUrbAndTellsTheListener) {
  start();
  Transfer a(*this, 0x84, 512), b(*this, 0x84, 512), c(*this, 0x82, 16);
  usb.submit(a.urb);
  usb.submit(b.urb);
  usb.submit(c.urb);
  run(10 * kUs);
  device.pull_up = false;
  usb.connection_changed(now());
  EXPECT_EQ(disabled, 1u);
  run(10 * kUs);
  EXPECT_EQ(a.urb.status, UrbStatus::disconnected);
  EXPECT_EQ(b.urb.status, UrbStatus::disconnected);
  EXPECT_EQ(c.urb.status, UrbStatus::disconnected);
  usb.submit(a.urb);
  run(10 * kUs);
  EXPECT_EQ(a.urb.status, UrbStatus::disconnected);
  device.pull_up = true;
  usb.connection_changed(now());
  run(10'000 * kUs);
  EXPECT_EQ(enabled, 2u);
  EXPECT_FALSE(usb.is_open(0x84));
  usb.unplug();
  EXPECT_EQ(disabled, 2u);
  EXPECT_NE(device.log.find("detach"), std::string::npos);
}

TEST_F(UsbHostTest, SuspendsTheDeviceAfter3MillisecondsAndWakesWithIt) {
  start();
  Transfer t(*this, 0x84, 512);
  usb.submit(t.urb);
  run(kMicroframe);
  usb.suspend();
  const Cycles from = now();
  device.frames = 0;
  run(3000 * kUs - 1);
  EXPECT_EQ(device.log.find("suspend"), std::string::npos);
  run(1);
  EXPECT_EQ(device.suspended_at, from + 3000 * kUs);
  EXPECT_EQ(device.frames, 0u);
  usb.remote_wakeup(now());
  device.ins[4].packets.push_back(Bytes(512, 7));
  usb.endpoint_changed(4, true, now());
  // TDRSMDN: 20 ms of resume. Then starts of frame within 3 ms, or the device would suspend again,
  // and TRSMRCY: 10 ms without anything else (7.1.7.7).
  run(20'000 * kUs - 1);
  EXPECT_EQ(device.log.find("resume"), std::string::npos);
  EXPECT_EQ(device.frames, 0u);
  run(1);
  EXPECT_NE(device.log.find("resume"), std::string::npos);
  run(10'000 * kUs - 1);
  EXPECT_EQ(device.frames, 80u);
  EXPECT_FALSE(t.is_done());
  wait(t);
  EXPECT_EQ(t.urb.status, UrbStatus::ok);
  EXPECT_EQ(enabled, 1u) << "it is the same port";
}

// 7.1.7.5: a reset ends a suspension.
TEST_F(UsbHostTest, ResetsASuspendedDevice) {
  start();
  usb.suspend();
  run(4000 * kUs);
  EXPECT_EQ(usb.port_state(), UsbPortState::suspended);
  usb.reset_port();
  EXPECT_EQ(disabled, 1u);
  run(10'000 * kUs);
  EXPECT_EQ(enabled, 2u);
  // The next suspension is a new one: one that is too short to be noticed wakes nobody.
  device.log.clear();
  usb.suspend();
  run(1000 * kUs);
  usb.resume();
  run(40'000 * kUs);
  EXPECT_EQ(device.log, "");
  EXPECT_EQ(usb.port_state(), UsbPortState::enabled);
}

// Bulk, 5.8 and 8.5.2.

TEST_F(UsbHostTest, InTransferEndsWhenTheBufferIsFullOrAPacketIsShort) {
  start();
  device.ins[4].packets = {Bytes(512, 1), Bytes(512, 2), Bytes(512, 3),
                           Bytes(100, 4), Bytes(),       {5}};
  Transfer t(*this, 0x84, 1024);
  complete(t);
  EXPECT_EQ(t.urb.actual, 1024u);
  EXPECT_EQ(t.bytes[0], 1);
  EXPECT_EQ(t.bytes[512], 2);
  complete(t);
  EXPECT_EQ(t.urb.actual, 612u);
  EXPECT_EQ(t.bytes[512], 4);
  complete(t);  // a zero-length packet is short
  EXPECT_EQ(t.urb.actual, 0u);
  complete(t);
  EXPECT_EQ(t.urb.actual, 1u);
  EXPECT_EQ(usb.counts().packets_in, 6u);
  EXPECT_EQ(usb.counts().bytes_in, 512u * 3 + 101);
  t.urb.short_is_error = true;
  device.ins[4].packets = {{5}};
  complete(t);
  EXPECT_EQ(t.urb.status, UrbStatus::short_transfer);
}

TEST_F(UsbHostTest, OutTransferIsCutIntoPacketsAndEndsShortIfAsked) {
  start();
  Transfer t(*this, 0x03, 1024);
  for (size_t i = 0; i < 1024; ++i) t.bytes[i] = static_cast<uint8_t>(i * 7);
  complete(t);
  EXPECT_EQ(t.urb.actual, 1024u);
  EXPECT_EQ(device.outs[3].bytes, t.bytes);
  t.urb.ends_with_short = true;
  complete(t);
  t.urb.buffer = std::span<uint8_t>(t.bytes).first(700);
  complete(t);
  t.urb.buffer = {};
  complete(t);
  const std::vector<size_t> sizes = {512, 512, 512, 512, 0, 512, 188, 0};
  EXPECT_EQ(device.outs[3].sizes, sizes);
}

TEST_F(UsbHostTest, ANyetIsFollowedByPingsUntilThereIsRoom) {
  start();
  device.outs[3].room = 1;
  Transfer t(*this, 0x03, 1024);
  usb.submit(t.urb);
  run(100 * kUs);
  EXPECT_EQ(usb.counts().nyets, 1u);
  EXPECT_EQ(usb.counts().pings, 1u);  // asked once, then asleep
  EXPECT_EQ(device.outs[3].sizes.size(), 1u);
  device.outs[3].room = 5;
  usb.endpoint_changed(3, false, now());
  wait(t);
  EXPECT_EQ(usb.counts().pings, 2u);
  EXPECT_EQ(device.outs[3].sizes.size(), 2u);
}

TEST_F(UsbHostTest, ANakToDataIsFollowedByPing) {
  start();
  device.outs[3].room = 0;
  Transfer t(*this, 0x03, 512);
  usb.submit(t.urb);
  run(100 * kUs);
  device.outs[3].room = 3;
  usb.endpoint_changed(3, false, now());
  wait(t);
  EXPECT_EQ(device.outs[3].pings, 1u);
}

TEST_F(UsbHostTest, AtFullSpeedThereIsNoPing) {
  start(UsbSpeed::full);
  device.outs[3].room = 1;
  device.outs[3].nyet_at_last = false;
  Transfer t(*this, 0x03, 128);
  usb.submit(t.urb);
  run(2000 * kUs);
  EXPECT_EQ(device.outs[3].sizes.size(), 1u);
  device.outs[3].room = 3;
  usb.endpoint_changed(3, false, now());
  wait(t);
  EXPECT_EQ(usb.counts().pings, 0u);
}

TEST_F(UsbHostTest, APacketWhoseToggleRepeatsIsAcknowledgedAndDropped) {
  start();
  device.ins[4].packets = {Bytes(512, 1), Bytes(512, 2)};
  device.lose_acks = 1;
  Transfer t(*this, 0x84, 1024);
  complete(t);
  EXPECT_EQ(usb.counts().toggle_repeats, 1u);
  EXPECT_EQ(t.bytes[0], 1);
  EXPECT_EQ(t.bytes[512], 2);
  EXPECT_EQ(device.ins[4].acked, 3u);
}

TEST_F(UsbHostTest, AStallHaltsThePipeUntilItIsCleared) {
  start();
  device.ins[4].stalled = true;
  Transfer a(*this, 0x84, 512), b(*this, 0x84, 512);
  usb.submit(a.urb);
  usb.submit(b.urb);
  run(1000 * kUs);
  EXPECT_EQ(a.urb.status, UrbStatus::stall);
  EXPECT_EQ(b.urb.status, UrbStatus::pending);
  EXPECT_EQ(usb.counts().stalls, 1u);
  device.ins[4].stalled = false;
  device.ins[4].packets = {Bytes(5, 1)};
  run(1000 * kUs);
  EXPECT_EQ(b.urb.status, UrbStatus::pending);
  usb.clear_halt(0x84);
  wait(b);
  EXPECT_EQ(b.urb.actual, 5u);
}

TEST_F(UsbHostTest, ThreeSilencesEndATransfer) {
  start();
  device.dead = true;
  Transfer t(*this, 0x84, 512);
  complete(t);
  EXPECT_EQ(t.urb.status, UrbStatus::no_answer);
  EXPECT_EQ(usb.counts().timeouts, 3u);
}

TEST_F(UsbHostTest, MoreThanAskedForOrThanThePacketSizeIsOverflow) {
  start();
  device.ins[4].packets = {Bytes(512, 1), Bytes(600, 2)};
  Transfer t(*this, 0x84, 100);
  complete(t);
  EXPECT_EQ(t.urb.status, UrbStatus::overflow);
  device.ins[4].packets.pop_front();
  Transfer u(*this, 0x84, 2048);
  complete(u);
  EXPECT_EQ(u.urb.status, UrbStatus::overflow);
  EXPECT_EQ(u.urb.actual, 0u);
}

TEST_F(UsbHostTest, UnlinkedTransfersComeBackAndTheOthersGoOn) {
  start();
  Transfer a(*this, 0x84, 512), b(*this, 0x84, 512), c(*this, 0x84, 512);
  usb.submit(a.urb);
  usb.submit(b.urb);
  usb.submit(c.urb);
  run(10 * kUs);
  EXPECT_TRUE(usb.unlink(b.urb));
  EXPECT_FALSE(usb.unlink(b.urb));  // on its way
  EXPECT_TRUE(usb.unlink(a.urb));
  run(10 * kUs);
  EXPECT_EQ(a.urb.status, UrbStatus::unlinked);
  EXPECT_EQ(b.urb.status, UrbStatus::unlinked);
  EXPECT_FALSE(usb.unlink(a.urb));
  device.ins[4].packets = {Bytes(5, 1)};
  usb.endpoint_changed(4, true, now());
  wait(c);
  EXPECT_EQ(c.urb.actual, 5u);
}

TEST_F(UsbHostTest, AnUnlinkedTransferOnTheWireKeepsWhatArrives) {
  start();
  device.ins[4].packets = {Bytes(512, 1), Bytes(512, 2)};
  Transfer t(*this, 0x84, 1024);
  run(kMicroframe - (now() - device.last_frame_at) + 24 * 10);  // behind an SOF of 24 bytes
  usb.submit(t.urb);
  run(10);  // 567 bytes of 10 cycles for the first packet
  EXPECT_TRUE(usb.unlink(t.urb));
  EXPECT_EQ(t.urb.status, UrbStatus::pending);
  run(567 * 10 + 20);
  EXPECT_EQ(t.urb.status, UrbStatus::unlinked);
  EXPECT_EQ(t.urb.actual, 512u);
  EXPECT_EQ(device.ins[4].packets.size(), 1u);
}

TEST_F(UsbHostTest, AnEndpointThatIsNotOpenIsRefused) {
  start();
  Transfer t(*this, 0x85, 512);
  complete(t);
  EXPECT_EQ(t.urb.status, UrbStatus::no_pipe);
  EXPECT_FALSE(usb.open_pipe({0x84, UsbTransfer::bulk, 512, 0}));
  EXPECT_FALSE(usb.open_pipe({0x80, UsbTransfer::bulk, 512, 0}));
  EXPECT_FALSE(usb.open_pipe({0x86, UsbTransfer::isochronous, 512, 1}));
  EXPECT_FALSE(usb.open_pipe({0x86, UsbTransfer::bulk, 0, 0}));
  EXPECT_FALSE(usb.open_pipe({0x86, UsbTransfer::bulk, 1025, 0}));
  EXPECT_TRUE(usb.open_pipe({0x8F, UsbTransfer::bulk, 512, 0}));  // beyond the device's endpoints
  Transfer u(*this, 0x8F, 512);
  complete(u);
  EXPECT_EQ(u.urb.status, UrbStatus::no_answer);
  usb.close_pipes();
  EXPECT_FALSE(usb.is_open(0x84));
}

// NAKs: an idle endpoint costs nothing, and answers when polling would have found out.

TEST_F(UsbHostTest, AnIdleEndpointIsAskedOnceAndCostsNoEvents) {
  start();
  Transfer t(*this, 0x84, 512);
  usb.submit(t.urb);
  run(10 * kUs);
  ASSERT_EQ(device.ins[4].naks, 1u);
  run(1'000'000 * kUs);
  EXPECT_EQ(device.ins[4].naks, 1u);
  device.ins[4].packets = {Bytes(512, 1)};
  usb.endpoint_changed(4, true, now());
  wait(t);
  EXPECT_EQ(usb.counts().naks, 1u);
  // A poll in vain takes 36 bytes of 10 cycles: 1.67 million in a second.
  EXPECT_NEAR(static_cast<double>(usb.counts().naks_skipped), 1e6 * 600 / 360, 100);
}

TEST_F(UsbHostTest, AReadyEndpointIsAskedAtTheNextPoll) {
  start();
  run(kMicroframe - (now() - device.last_frame_at) + 1000);
  Transfer t(*this, 0x84, 512);
  const Cycles submitted = now();
  usb.submit(t.urb);
  run(2000);
  device.ins[4].packets = {Bytes(512, 1)};
  usb.endpoint_changed(4, true, now());
  wait(t);
  // Polls at 0, 360, ... 2160 cycles behind the submission; the packet takes 567 bytes, of which 19
  // are pause and token of the next.
  EXPECT_EQ(device.last_in_done, submitted + 2160 + 5670 - 190);
  EXPECT_EQ(usb.counts().naks_skipped, 5u);  // 360, 720, 1080, 1440, 1800
}

TEST_F(UsbHostTest, AnEndpointThatSaysWhenItIsReadyIsAskedThen) {
  start();
  run(kMicroframe - (now() - device.last_frame_at) + 1000);
  device.ins[4].packets = {Bytes(512, 1)};
  device.ins[4].ready = now() + 2000;
  Transfer t(*this, 0x84, 512);
  const Cycles submitted = now();
  complete(t);
  EXPECT_EQ(device.last_in_done, submitted + 2160 + 5670 - 190);
  EXPECT_EQ(device.ins[4].naks, 1u);
}

TEST_F(UsbHostTest, AnEndpointThatIsReadyWhileTheNakIsOnTheWireIsNotForgotten) {
  start();
  run(kMicroframe - (now() - device.last_frame_at) + 1000);
  Transfer t(*this, 0x84, 512);
  const Cycles submitted = now();
  usb.submit(t.urb);
  run(100);
  device.ins[4].packets = {Bytes(512, 1)};
  usb.endpoint_changed(4, true, now());
  wait(t);
  EXPECT_EQ(device.last_in_done, submitted + 360 + 5670 - 190);
}

TEST(UsbHostGaps, GapsAfterNakAndShortPacketDelayTheEndpoint) {
  UsbHostProfile profile = testing::quick_profile();
  profile.gap_after_nak_ns = 1000;    // 60 bytes
  profile.gap_after_short_ns = 3000;  // 180 bytes
  class Bus : public testing::UsbHostFixture {
   public:
    explicit Bus(const UsbHostProfile& p) : UsbHostFixture(p) {}
    void TestBody() override {
      start();
      run(kMicroframe - (now() - device.last_frame_at) + 1000);
      device.ins[4].packets = {Bytes(1, 1), Bytes(1, 2)};
      device.ins[4].ready = now() + 300;
      Transfer a(*this, 0x84, 512), b(*this, 0x84, 512);
      const Cycles submitted = now();
      usb.submit(a.urb);
      usb.submit(b.urb);
      wait(b);
      // NAK 36, gap 60, packet 56, gap 180, packet 56: 388 bytes of 10 cycles, less the last 19.
      EXPECT_EQ(device.last_in_done, submitted + 3880 - 190);
    }
  };
  Bus(profile).TestBody();
}

// Completions.

TEST(UsbHostCompletion, LatencyAndJitterDelayButNeverReorder) {
  UsbHostProfile profile = testing::quick_profile();
  profile.completion_latency_ns = 10'000;
  profile.completion_jitter_ns = 20'000;
  class Bus : public testing::UsbHostFixture {
   public:
    explicit Bus(const UsbHostProfile& p) : UsbHostFixture(p) {}
    void TestBody() override {}
    std::vector<Cycles> delays() {
      start();
      device.ins[4].endless = true;
      std::vector<std::unique_ptr<Transfer>> all;
      for (int i = 0; i < 40; ++i) {
        all.push_back(std::make_unique<Transfer>(*this, uint8_t{0x84}, 512));
        usb.submit(all.back()->urb);
      }
      for (auto& t : all) wait(*t);
      std::vector<Cycles> at;
      for (auto& t : all) {
        at.push_back(t->done_at);
        if (at.size() > 1) {
          EXPECT_GE(at.back(), at[at.size() - 2]);
        }
      }
      // The last handshake was the last thing on the bus.
      EXPECT_GE(at.back(), device.last_in_done + 10 * kUs);
      EXPECT_LE(at.back(), device.last_in_done + 31 * kUs);
      return at;
    }
  };
  const std::vector<Cycles> first = Bus(profile).delays();
  EXPECT_EQ(Bus(profile).delays(), first);  // bit-identical
  profile.seed = 2;
  EXPECT_NE(Bus(profile).delays(), first);
}

// Control, 8.5.3.

TEST_F(UsbHostTest, ControlReadHasSetupDataAndStatus) {
  start();
  Transfer t(*this, 0, 18);
  t.urb.setup = {0x80, 6, 0, 1, 0, 0, 18, 0};
  complete(t);
  EXPECT_EQ(t.urb.status, UrbStatus::ok);
  EXPECT_EQ(t.bytes, device.device);
  EXPECT_EQ(usb.counts().packets_in, 1u);
  EXPECT_EQ(usb.counts().packets_out, 1u);
}

TEST_F(UsbHostTest, ControlReadInSmallPacketsEndsAtTheShortOne) {
  device.device[7] = 8;
  start();
  usb.set_control_max_packet(8);
  Transfer t(*this, 0, 64);
  t.urb.setup = {0x80, 6, 0, 1, 0, 0, 64, 0};
  complete(t);
  EXPECT_EQ(t.urb.actual, 18u);  // 8 + 8 + 2
  EXPECT_EQ(usb.counts().packets_in, 3u);
}

TEST_F(UsbHostTest, ControlWriteAndRequestsWithoutData) {
  start();
  Transfer t(*this, 0, 7);
  t.urb.setup = {0x21, 0x20, 0, 0, 0, 0, 7, 0};
  t.bytes = {1, 2, 3, 4, 5, 6, 7};
  t.urb.buffer = t.bytes;
  complete(t);
  EXPECT_EQ(t.urb.status, UrbStatus::ok);
  ASSERT_EQ(device.class_requests.size(), 1u);
  EXPECT_EQ(device.class_requests[0].data, t.bytes);
  Transfer u(*this, 0, 0);
  u.urb.setup = {0x00, 9, 1, 0, 0, 0, 0, 0};
  complete(u);
  EXPECT_EQ(u.urb.status, UrbStatus::ok);
  EXPECT_EQ(device.configured, 1u);
}

TEST_F(UsbHostTest, AStalledRequestLeavesTheControlPipeUsable) {
  start();
  Transfer t(*this, 0, 4);
  t.urb.setup = {0x80, 6, 9, 9, 0, 0, 4, 0};
  complete(t);
  EXPECT_EQ(t.urb.status, UrbStatus::stall);
  t.urb.setup = {0x80, 6, 0, 3, 0, 0, 4, 0};
  complete(t);
  EXPECT_EQ(t.urb.status, UrbStatus::ok);
}

// Interrupt, 5.7.

TEST_F(UsbHostTest, AnInterruptEndpointIsAskedOnceAPeriod) {
  start();
  Transfer t(*this, 0x82, 16);
  usb.submit(t.urb);
  run(160 * kMicroframe);  // bInterval 5: 2^4 microframes
  EXPECT_EQ(device.ins[2].naks, 10u);
  device.ins[2].packets = {Bytes(10, 3)};
  wait(t);
  EXPECT_EQ(t.urb.actual, 10u);
}

TEST_F(UsbHostTest, AtFullSpeedTheIntervalIsFramesRoundedDownToAPowerOfTwo) {
  start(UsbSpeed::full);
  Transfer t(*this, 0x82, 16);
  usb.submit(t.urb);
  run(80 * 8 * kMicroframe);  // bInterval 5: every fourth frame
  EXPECT_EQ(device.ins[2].naks, 20u);
}

// Rates. The data is checked, not only counted.

class UsbHostRate : public testing::UsbHostFixture {
 public:
  explicit UsbHostRate(const UsbHostProfile& profile) : UsbHostFixture(profile) {}
  void TestBody() override {}
  // Bytes in 8,000 microframes with 16 URBs.
  uint64_t in_rate(UsbSpeed speed, size_t urb_bytes) {
    start(speed);
    device.ins[4].endless = true;
    if (speed == UsbSpeed::full) device.ins[4].max_packet = 64;
    for (int i = 0; i < 16; ++i) {
      all.push_back(std::make_unique<Transfer>(*this, uint8_t{0x84}, urb_bytes));
      all.back()->repeat = true;
      usb.submit(all.back()->urb);
    }
    run(80 * kMicroframe - (now() - device.last_frame_at) - 1);
    const uint64_t before = usb.counts().bytes_in;
    run(8000 * kMicroframe);
    return usb.counts().bytes_in - before;
  }
  uint64_t out_rate() {
    start();
    for (int i = 0; i < 16; ++i) {
      all.push_back(std::make_unique<Transfer>(*this, uint8_t{0x03}, 10240));
      all.back()->repeat = true;
      usb.submit(all.back()->urb);
    }
    run(80 * kMicroframe - (now() - device.last_frame_at) - 1);
    device.outs[3].bytes.clear();
    const uint64_t before = usb.counts().bytes_out;
    run(800 * kMicroframe);
    return 10 * (usb.counts().bytes_out - before);
  }
  std::vector<std::unique_ptr<Transfer>> all;
};

TEST(UsbHostRates, IdealIsThirteenPacketsAMicroframe) {
  // 13 * 512 * 8000 = 53,248,000 bytes a second: USB 2.0 table 5-10.
  EXPECT_EQ(UsbHostRate(testing::quick_profile("ideal")).in_rate(UsbSpeed::high, 1024),
            53'248'000u);
  EXPECT_EQ(UsbHostRate(testing::quick_profile("ideal")).out_rate(), 53'248'000u);
}

TEST(UsbHostRates, ProfilesCapPacketsWithFractions) {
  EXPECT_EQ(UsbHostRate(testing::quick_profile("xhci-desktop")).in_rate(UsbSpeed::high, 1024),
            36'864'000u);  // 9.0 * 512 * 8000
  EXPECT_EQ(UsbHostRate(testing::quick_profile("xhci-laptop")).in_rate(UsbSpeed::high, 1024),
            30'720'000u);  // 7.5
  EXPECT_EQ(UsbHostRate(testing::quick_profile("windows-serial")).in_rate(UsbSpeed::high, 4096),
            32'768'000u);  // 8.0
}

TEST(UsbHostRates, FullSpeedIsNineteenPacketsAFrame) {
  // 19 * 64 * 1000: USB 2.0 table 5-9.
  EXPECT_EQ(UsbHostRate(testing::quick_profile("ideal")).in_rate(UsbSpeed::full, 128), 1'216'000u);
}

TEST(UsbHostRates, BothDirectionsShareTheBus) {
  class Bus : public UsbHostRate {
   public:
    using UsbHostRate::UsbHostRate;
    void TestBody() override {
      in_rate(UsbSpeed::high, 1024);
      for (int i = 0; i < 4; ++i) {
        all.push_back(std::make_unique<Transfer>(*this, uint8_t{0x03}, 10240));
        all.back()->repeat = true;
        usb.submit(all.back()->urb);
      }
      run(10 * kMicroframe);
      const UsbHostCounts before = usb.counts();
      run(800 * kMicroframe);
      const UsbHostCounts after = usb.counts();
      EXPECT_EQ(after.packets_in - before.packets_in + after.packets_out - before.packets_out,
                13u * 800);
      EXPECT_NEAR(static_cast<double>(after.packets_in - before.packets_in), 6.5 * 800, 1);
    }
  };
  Bus(testing::quick_profile()).TestBody();
}

}  // namespace
}  // namespace millrace::board
