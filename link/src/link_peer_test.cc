// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/link_peer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/link_rig.h"

namespace millrace::link {
namespace {

using testing::End;
using testing::Rig;
using testing::RigSetup;
using testing::StreamSetup;

RigSetup both_ways() {
  RigSetup setup;
  setup.out = {StreamSetup{}};
  setup.out[0].max_payload = 1024;
  setup.out[0].credit_bytes = 8192;
  setup.out[0].receiver_slots = 16;
  return setup;
}

TEST(LinkPeer, CleanLinkDeliversBothWaysWithLittleOverhead) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  rig.device->producers[0].total = 20'000'000;
  rig.host->producers[0].total = 2'000'000;
  EXPECT_TRUE(rig.run(10'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  EXPECT_EQ(rig.host->consumers[0].delivered, 20'000'000u);
  EXPECT_EQ(rig.device->consumers[0].delivered, 2'000'000u);
  // 20 bytes a frame of 4,096, and the acknowledgements of the other direction.
  EXPECT_LT(static_cast<double>(rig.to_host.carried), 20'000'000 * 1.012);
  EXPECT_EQ(rig.device->senders[0]->counters().frames_again, 0u);
  EXPECT_LT(static_cast<double>(rig.host->peer->counters().ack_bytes_out), 20'000'000 * 0.01);
}

TEST(LinkPeer, DamagedLinkSendsLittleMoreThanTheDamagedFrames) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  rig.to_host.faults.flip = 1e-5;
  rig.device->producers[0].total = 50'000'000;
  EXPECT_TRUE(rig.run(20'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  EXPECT_EQ(rig.host->consumers[0].delivered, 50'000'000u);
  EXPECT_GT(rig.to_host.damages, 400u);
  // A damaged frame costs its 4,116 bytes once more: at one in 100,000 bytes that makes 1.0049 x
  // 1.0412 = 1.046 wire bytes a byte. Now and then the repetition is hit, too.
  const double clean = 50'000'000 * 1.0049;
  const double again = 4116.0 * static_cast<double>(rig.to_host.damages);
  EXPECT_LT(static_cast<double>(rig.to_host.carried), clean + 1.02 * again);
}

// Goodput in virtual time on a cable of 30 MB/s, against the same cable without damage.
double goodput_ratio(const testing::CableFaults& faults) {
  uint64_t us[2] = {};
  for (int damaged = 0; damaged < 2; ++damaged) {
    RigSetup setup;
    setup.in[0].ring_bytes = 512 * 1024;
    setup.in[0].slots = 256;
    setup.in[0].credit_bytes = 4 << 20;
    setup.in[0].receiver_slots = 512;
    Rig rig(setup);
    EXPECT_TRUE(rig.connect());
    if (damaged == 1) rig.to_host.faults = faults;
    rig.device->producers[0].total = 100'000'000;
    const uint64_t start = rig.now_us;
    EXPECT_TRUE(rig.run(60'000'000, [&] { return rig.all_delivered(); })) << rig.error();
    us[damaged] = rig.now_us - start;
  }
  return static_cast<double>(us[0]) / static_cast<double>(us[1]);
}

TEST(LinkPeer, GoodputUnderDamageStaysNearTheCleanLinks) {
  testing::CableFaults faults;
  faults.flip = 1e-6;
  EXPECT_GT(goodput_ratio(faults), 0.95);
  faults.flip = 1e-5;
  EXPECT_GT(goodput_ratio(faults), 0.85);
  faults.flip = 0;
  faults.drop = 1e-6;
  EXPECT_GT(goodput_ratio(faults), 0.95);
  faults.drop = 1e-5;
  EXPECT_GT(goodput_ratio(faults), 0.85);
}

TEST(LinkPeer, AckBehindAHalfSentFrameIsNoReasonToWakeUp) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  rig.to_host.stall(60'000'000);
  rig.device->producers[0].total = 100'000;  // 8,192 of it fit into the cable: two frames, in part
  rig.host->producers[0].total = 1'000;
  const uint64_t start = rig.now_us;
  while (rig.now_us < start + 10'000) rig.step();
  ASSERT_EQ(rig.device->consumers[0].delivered, 1'000u) << rig.error();
  EXPECT_GT(rig.device->peer->wakeup_us(rig.now_us), rig.now_us);
}

TEST(LinkPeer, HalfAFrameAndThenSilenceIsLookedAtOnce) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  FrameHeader header;
  header.payload = 1000;
  header.from_host = true;
  uint8_t frame[1000 + kLinkOverhead] = {};
  (void)finish_frame(header, 0, frame);
  size_t room = 0;
  uint8_t* space = rig.device->peer->space(&room);
  ASSERT_GE(room, 500u);
  std::copy_n(frame, 500, space);
  rig.device->peer->received(500, rig.now_us);
  const uint64_t later = rig.now_us + 100'000;  // 5 ms of silence are over
  rig.device->peer->poll(later);
  while (rig.device->peer->output(later).size > 0) {
    rig.device->peer->sent(rig.device->peer->output(later).size, later);
  }
  EXPECT_GT(rig.device->peer->wakeup_us(later), later);
}

TEST(LinkPeer, SequenceNumbersWrap) {
  RigSetup setup = both_ways();
  setup.first_sequence = 0xFFFFFFF0;
  Rig rig(setup);
  ASSERT_TRUE(rig.connect());
  rig.to_host.faults.flip = rig.to_device.faults.flip = 1e-5;
  rig.device->producers[0].total = 4'000'000;
  rig.host->producers[0].total = 1'000'000;
  EXPECT_TRUE(rig.run(10'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  EXPECT_EQ(rig.host->consumers[0].delivered, 4'000'000u);
  EXPECT_LT(rig.device->senders[0]->next_sequence(), 0x80000000u);
}

TEST(LinkPeer, OverrunLeavesExactGaps) {
  RigSetup setup;
  setup.in[0].unit_bytes = 6;
  Rig rig(setup);
  ASSERT_TRUE(rig.connect());
  End::Producer& p = rig.device->producers[0];
  p.may_drop = true;
  p.block = 600;
  p.total = 6'000'000;
  p.bytes_per_step = 6000;  // 60 MB/s into a link of 30
  EXPECT_TRUE(rig.run(10'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  EXPECT_GT(p.gaps.size(), 1u);
  EXPECT_EQ(rig.host->consumers[0].gaps, p.gaps);
  uint64_t lost = 0;
  for (const auto& gap : p.gaps) lost += gap.second;
  EXPECT_EQ(rig.host->consumers[0].delivered + lost, 6'000'000u);
}

TEST(LinkPeer, StallShorterThanTheBufferLosesNothing) {
  RigSetup setup;
  setup.in[0].ring_bytes = 512 * 1024;
  setup.in[0].slots = 128;
  setup.in[0].credit_bytes = 1 << 20;
  Rig rig(setup);
  ASSERT_TRUE(rig.connect());
  End::Producer& p = rig.device->producers[0];
  p.may_drop = true;
  p.block = 400;
  p.total = 4'000'000;
  p.bytes_per_step = 400;  // 4 MB/s x 120 ms = 480,000 bytes
  rig.run(200'000, [] { return false; });
  rig.to_host.stall(120'000);
  EXPECT_TRUE(rig.run(5'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  EXPECT_TRUE(p.gaps.empty());
  EXPECT_EQ(rig.host->consumers[0].delivered, 4'000'000u);
  EXPECT_EQ(rig.device->senders[0]->counters().frames_again, 0u);
}

TEST(LinkPeer, KilledHostGoesOnWhereItWas) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  rig.device->producers[0].total = 10'000'000;
  rig.host->consumers[0].bytes_per_step = 1777;
  rig.run(200'000, [] { return false; });
  const uint64_t taken = rig.host->consumers[0].delivered;
  EXPECT_GT(taken, 100'000u);
  rig.restart_host();
  rig.host->consumers[0].bytes_per_step = ~uint64_t{0};
  EXPECT_TRUE(rig.run(10'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  EXPECT_EQ(rig.host->consumers[0].expected_offset, 10'000'000u);
  EXPECT_TRUE(rig.host->consumers[0].gaps.empty());
}

TEST(LinkPeer, ReplugCostsOnlyTheTimeToConnect) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  rig.device->producers[0].total = 10'000'000;
  rig.host->producers[0].total = 1'000'000;
  rig.run(100'000, [] { return false; });
  rig.replug();
  EXPECT_TRUE(rig.run(2'000, [&] { return rig.host->peer->state() == LinkState::connected; }));
  EXPECT_TRUE(rig.run(10'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  EXPECT_EQ(rig.host->consumers[0].delivered, 10'000'000u);
  EXPECT_EQ(rig.device->consumers[0].delivered, 1'000'000u);
}

TEST(LinkPeer, ResetDeviceIsReported) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  rig.device->producers[0].total = 10'000'000;
  rig.run(100'000, [] { return false; });
  rig.reset_device();
  rig.run(3'000'000, [&] { return rig.host->peer->state() == LinkState::failed; });
  EXPECT_EQ(rig.host->peer->failure(), LinkFailure::device_restarted);
}

TEST(LinkPeer, SilentDeviceResetIsNoticedWhenNothingFlows) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  rig.run(50'000, [] { return false; });
  rig.reset_device();
  // The keepalive probe after 400 ms meets a device that does not know the connection.
  EXPECT_TRUE(rig.run(500'000, [&] { return rig.host->peer->state() == LinkState::failed; }));
  EXPECT_EQ(rig.host->peer->failure(), LinkFailure::device_restarted);
}

TEST(LinkPeer, MessagesKeepTheirBoundaries) {
  RigSetup setup;
  setup.in[0].max_payload = 64;
  setup.in[0].ring_bytes = 4096;
  Rig rig(setup);
  ASSERT_TRUE(rig.connect());
  rig.to_host.faults.drop = 1e-4;
  End::Producer& p = rig.device->producers[0];
  p.messages = true;
  p.block = 100;
  p.total = 100'000;
  EXPECT_TRUE(rig.run(10'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  std::vector<uint64_t> ends;
  for (uint64_t at = 100; at <= 100'000; at += 100) ends.push_back(at);
  EXPECT_EQ(rig.host->consumers[0].message_ends, ends);
}

TEST(LinkPeer, UrgentStreamOvertakesBulk) {
  RigSetup setup;
  setup.in.resize(2);
  setup.in[0].priority = 1;
  setup.in[1].stream = 1;
  setup.in[1].max_payload = 256;
  setup.in[1].ring_bytes = 2048;
  setup.bytes_per_s = 1'000'000;
  Rig rig(setup);
  ASSERT_TRUE(rig.connect());
  rig.device->producers[0].total = 10'000'000;
  rig.run(300'000, [] { return false; });
  rig.device->producers[1].messages = true;
  rig.device->producers[1].block = 100;
  rig.device->producers[1].total = 100;
  // Behind at most what the cable holds (8,192 bytes), a frame of 4,116 bytes and one step.
  EXPECT_TRUE(rig.run(15'000, [&] { return rig.host->consumers[1].delivered == 100; }));
}

TEST(LinkPeer, EndOfStreamArrivesBehindTheLastByte) {
  Rig rig(both_ways());
  ASSERT_TRUE(rig.connect());
  rig.to_device.faults.drop = 1e-4;
  rig.host->producers[0].total = 500'000;
  rig.host->producers[0].then_end = true;
  EXPECT_TRUE(rig.run(5'000'000, [&] { return rig.device->consumers[0].ended; })) << rig.error();
  EXPECT_EQ(rig.device->consumers[0].delivered, 500'000u);
}

}  // namespace
}  // namespace millrace::link
