// SPDX-License-Identifier: Apache-2.0
// Peers that are not what they should be, and numbers at their ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "millrace/link/bytes.h"
#include "millrace/link/link_peer.h"
#include "testing/link_rig.h"

namespace millrace::link {
namespace {

using testing::Rig;
using testing::RigSetup;

using Bytes = std::vector<uint8_t>;

Bytes take_output(LinkPeer& peer, uint64_t now) {
  Bytes out;
  for (OutputBytes o = peer.output(now); o.size > 0; o = peer.output(now)) {
    out.insert(out.end(), o.data, o.data + o.size);
    peer.sent(o.size, now);
  }
  return out;
}

void give(LinkPeer& peer, const Bytes& bytes, uint64_t now) {
  size_t at = 0;
  while (at < bytes.size()) {
    size_t room = 0;
    uint8_t* space = peer.space(&room);
    const size_t n = std::min(room, bytes.size() - at);
    std::memcpy(space, bytes.data() + at, n);
    peer.received(n, now);
    at += n;
  }
}

RigSetup troubled_both_ways() {
  RigSetup setup;
  setup.out.resize(1);
  setup.out[0].max_payload = 1024;
  return setup;
}

TEST(LinkTrouble, ALostAckOfWhatWasReleasedIsAskedFor) {
  for (const bool is_device : {true, false}) {
    Rig rig(troubled_both_ways());
    ASSERT_TRUE(rig.connect());
    testing::End& from = is_device ? *rig.device : *rig.host;
    testing::End& to = is_device ? *rig.host : *rig.device;
    testing::Cable& back = is_device ? rig.to_device : rig.to_host;
    to.consumers[0].bytes_per_step = 0;
    from.producers[0].total = 100;
    // All has arrived, and the sender knows; nothing of it is taken.
    ASSERT_TRUE(rig.run(1'000'000, [&] { return to.receivers[0]->next_offset() == 100; }));
    rig.run(20'000, [] { return false; });
    EXPECT_FALSE(from.senders[0]->drained());
    // It is taken, and whatever would tell is lost.
    to.consumers[0].bytes_per_step = 1000;
    back.faults.drop = 1;
    rig.run(20'000, [] { return false; });
    EXPECT_EQ(to.receivers[0]->offset(), 100u);
    EXPECT_FALSE(from.senders[0]->drained());
    back.faults.drop = 0;
    EXPECT_TRUE(rig.run(1'000'000, [&] { return from.senders[0]->drained(); })) << is_device;
  }
}

TEST(LinkTrouble, AnotherHostOnTheSamePortIsNamed) {
  Rig rig(troubled_both_ways());
  ASSERT_TRUE(rig.connect());
  // Another program says HELLO on the same line again and again; both hosts hear all answers.
  testing::End other(LinkRole::host, rig.setup, 77);
  for (int i = 0; i < 10 && rig.host->peer->state() != LinkState::failed; ++i) {
    other.peer->connect(0, 0, rig.now_us);
    const Bytes hello = take_output(*other.peer, rig.now_us);
    rig.to_device.write(hello.data(), hello.size());
    rig.run(20'000, [&] { return rig.host->peer->state() == LinkState::failed; });
  }
  ASSERT_EQ(rig.host->peer->state(), LinkState::failed);
  const LinkFailure failure = rig.host->peer->failure();
  EXPECT_TRUE(failure == LinkFailure::session_unknown || failure == LinkFailure::other_host);
}

TEST(LinkTrouble, OtherVersionsAreNamedByBothEnds) {
  Rig rig(troubled_both_ways());
  LinkPeer& device = *rig.device->peer;
  LinkHello hello;
  hello.nonce = hello.host_instance = 1;
  hello.version_min = 2;
  hello.version_max = 3;
  Bytes frame(LinkHello::kBytes + kLinkOverhead);
  FrameHeader header;
  header.type = FrameType::hello;
  header.from_host = true;
  header.payload = static_cast<uint32_t>(encode(hello, frame.data() + kLinkHeaderBytes));
  finish_frame(header, 0, frame.data());
  give(device, frame, 1'000'000);
  const Bytes notice = take_output(device, 1'000'000);
  ASSERT_EQ(notice.size(), LinkNotice::kBytes + kLinkOverhead);
  EXPECT_EQ(device.state(), LinkState::idle);
  LinkPeer& host = *rig.host->peer;
  host.connect(0, 0, 1);
  give(host, notice, 2);
  ASSERT_EQ(host.state(), LinkState::failed);
  EXPECT_EQ(host.failure(), LinkFailure::other_version);
  EXPECT_EQ(host.other_version_max(), 1);
}

TEST(LinkTrouble, TooSmallFramesForTheDeviceAreRefused) {
  RigSetup setup = troubled_both_ways();
  setup.in[0].unit_bytes = 2048;  // a frame holds whole samples
  Rig rig(setup);
  LinkHello hello;
  hello.nonce = hello.host_instance = 1;
  hello.max_payload = 1024;
  Bytes frame(LinkHello::kBytes + kLinkOverhead);
  FrameHeader header;
  header.type = FrameType::hello;
  header.from_host = true;
  header.payload = static_cast<uint32_t>(encode(hello, frame.data() + kLinkHeaderBytes));
  finish_frame(header, 0, frame.data());
  give(*rig.device->peer, frame, 1'000'000);
  const Bytes answer = take_output(*rig.device->peer, 1'000'000);
  LinkNotice notice;
  ASSERT_TRUE(decode(answer.data() + kLinkHeaderBytes, LinkNotice::kBytes, &notice));
  EXPECT_EQ(notice.code, NoticeCode::frame_limit);
}

TEST(LinkTrouble, ReplayedFramesOfAnOldConnectionChangeNothing) {
  Rig rig(troubled_both_ways());
  ASSERT_TRUE(rig.connect());
  rig.run(2'000, [] { return false; });  // until the device has credit
  rig.device->producers[0].total = 40'000;
  rig.device->produce(rig.now_us);
  rig.device->peer->poll(rig.now_us);
  const Bytes old = take_output(*rig.device->peer, rig.now_us);
  ASSERT_GT(old.size(), 30'000u);
  rig.replug();
  ASSERT_TRUE(rig.run(5'000'000, [&] { return rig.all_delivered(); })) << rig.error();
  give(*rig.host->peer, old, rig.now_us);
  rig.host->consume();
  EXPECT_EQ(rig.host->error, "");
  EXPECT_GE(rig.host->peer->scanner().counters().old_frames, 7u);
  EXPECT_EQ(rig.host->consumers[0].delivered, 40'000u);
}

// The WELCOME that `device` says to a HELLO, changed by `change` on its way to `host`.
template <class Change>
void welcome_changed(LinkPeer& device, LinkPeer& host, uint64_t now, Change change) {
  give(device, take_output(host, now), now);
  const Bytes answer = take_output(device, now);
  LinkWelcome welcome;
  ASSERT_GE(answer.size(), LinkWelcome::kFixedBytes + kLinkOverhead);
  ASSERT_TRUE(decode(answer.data() + kLinkHeaderBytes, answer.size() - kLinkOverhead, &welcome));
  change(&welcome);
  Bytes frame(LinkWelcome::kMaxBytes + kLinkOverhead);
  FrameHeader header;
  header.type = FrameType::welcome;
  header.payload = static_cast<uint32_t>(encode(welcome, frame.data() + kLinkHeaderBytes));
  frame.resize(finish_frame(header, 0, frame.data()));
  give(host, frame, now);
}

TEST(LinkTrouble, ANewSessionInPlaceOfTheWantedOneIsRefused) {
  Rig rig(troubled_both_ways());
  ASSERT_TRUE(rig.connect());
  LinkPeer& host = *rig.host->peer;
  host.connect(host.session(), host.boot_id(), rig.now_us);
  welcome_changed(*rig.device->peer, host, rig.now_us,
                  [](LinkWelcome* w) { w->status = WelcomeStatus::new_session; });
  ASSERT_EQ(host.state(), LinkState::failed);
  EXPECT_EQ(host.failure(), LinkFailure::bad_answer);
}

TEST(LinkTrouble, AResumeWhereNothingWasSentIsRefused) {
  Rig rig(troubled_both_ways());
  ASSERT_TRUE(rig.connect());
  LinkPeer& host = *rig.host->peer;
  host.connect(host.session(), host.boot_id(), rig.now_us);
  welcome_changed(*rig.device->peer, host, rig.now_us, [](LinkWelcome* w) {
    for (size_t i = 0; i < w->stream_count; ++i) {
      if (w->streams[i].from_host) w->streams[i].first_sequence += 3;
    }
  });
  ASSERT_EQ(host.state(), LinkState::failed);
  EXPECT_EQ(host.failure(), LinkFailure::bad_answer);
}

TEST(LinkTrouble, ASessionWhoseEndArrivedIsKnownAfterACrash) {
  Rig rig(troubled_both_ways());
  ASSERT_TRUE(rig.connect());
  rig.host->producers[0].total = 3'000;
  rig.host->producers[0].then_end = true;
  ASSERT_TRUE(rig.run(1'000'000, [&] { return rig.device->receivers[0]->ended(); }));
  rig.restart_host();
  ASSERT_TRUE(rig.run(1'000'000, [&] { return rig.host->peer->state() == LinkState::connected; }));
  EXPECT_TRUE(rig.host->senders[0]->ended());
  EXPECT_TRUE(rig.host->senders[0]->drained());
  EXPECT_EQ(rig.host->senders[0]->offset(), 3'000u);
  EXPECT_EQ(rig.device->consumers[0].delivered, 3'000u);
}

TEST(LinkTrouble, OffsetsPassFourGigabytes) {
  constexpr uint64_t kStart = (uint64_t{1} << 32) - 10'000;
  std::vector<uint8_t> ring(16384), credit(16384);
  std::vector<SenderSlot> slots(16);
  std::vector<ReceiverSlot> receiver_slots(16);
  SenderOptions options;
  options.max_payload = 1000;
  StreamSender sender({ring.data(), ring.size(), slots.data(), 16}, options);
  StreamReceiver receiver({credit.data(), 16384, receiver_slots.data(), 16}, 0);
  sender.reset(0xFFFFFFFE, kStart);
  sender.reconnect(false, 1, kLinkMaxPayload);
  receiver.reset(0xFFFFFFFE, kStart);
  AckEntry ack;
  receiver.fill_ack(&ack);
  (void)sender.on_ack(ack);
  uint64_t offset = kStart;
  std::vector<uint8_t> block(1000);
  for (int i = 0; i < 20; ++i) {
    testing::fill_pattern(1, offset, block.data(), block.size());
    ASSERT_EQ(sender.write(block.data(), block.size(), 0), block.size());
    sender.end_of_message();
    uint32_t sequence = 0, bytes = 0;
    ASSERT_TRUE(sender.pick(&sequence));
    const uint8_t* frame = sender.frame(sequence, &bytes);
    sender.mark_sent(sequence, static_cast<uint32_t>(i), 0);
    FrameHeader header;
    ASSERT_EQ(parse_header(frame, bytes, &header), HeaderStatus::complete);
    ASSERT_EQ(receiver.on_frame(header, frame + kLinkHeaderBytes), ReceiveStatus::in_order);
    size_t seen = 0;
    for (Chunk chunk = receiver.peek(); chunk.kind == ChunkKind::data; chunk = receiver.peek()) {
      ASSERT_EQ(chunk.offset, offset + seen);
      ASSERT_EQ(std::memcmp(chunk.data, block.data() + seen, chunk.size), 0);
      seen += chunk.size;
      receiver.consume(chunk.size);
    }
    EXPECT_EQ(seen, 1000u);
    offset += 1000;
    receiver.fill_ack(&ack);
    (void)sender.on_ack(ack);
  }
  EXPECT_EQ(receiver.offset(), kStart + 20'000);
  EXPECT_TRUE(sender.drained());
}

TEST(LinkTrouble, GapLargerThanFourGigabytesIsExact) {
  std::vector<uint8_t> ring(4096), credit(4096);
  std::vector<SenderSlot> slots(8);
  std::vector<ReceiverSlot> receiver_slots(8);
  SenderOptions options;
  options.max_payload = 512;
  options.unit_bytes = 4;
  StreamSender sender({ring.data(), ring.size(), slots.data(), 8}, options);
  StreamReceiver receiver({credit.data(), 4096, receiver_slots.data(), 8}, 0);
  sender.reset(0, 0);
  receiver.reset(0, 0);
  std::vector<uint8_t> block(1u << 20);
  uint64_t lost = 0;
  for (int i = 0; i < 5000; ++i) {  // no block fits the ring: 5,000 MiB are lost
    EXPECT_FALSE(sender.write_or_drop(block.data(), block.size(), 0));
    lost += block.size();
  }
  AckEntry ack;
  receiver.fill_ack(&ack);
  (void)sender.on_ack(ack);
  ASSERT_TRUE(sender.write_or_drop(block.data(), 8, 0));
  sender.end_of_message();
  uint32_t sequence = 0, bytes = 0;
  uint64_t gap = 0;
  for (uint32_t order = 1; gap < lost || sender.pick(&sequence); ++order) {
    ASSERT_TRUE(sender.pick(&sequence)) << "stuck after " << gap;
    const uint8_t* frame = sender.frame(sequence, &bytes);
    sender.mark_sent(sequence, order, 0);
    FrameHeader header;
    ASSERT_EQ(parse_header(frame, bytes, &header), HeaderStatus::complete);
    ASSERT_EQ(receiver.on_frame(header, frame + kLinkHeaderBytes), ReceiveStatus::in_order);
    const Chunk chunk = receiver.peek();
    if (chunk.kind == ChunkKind::gap) {
      EXPECT_EQ(chunk.offset, gap);
      gap += chunk.gap_bytes;
      receiver.consume(0);
    }
    receiver.fill_ack(&ack);
    (void)sender.on_ack(ack);
  }
  EXPECT_EQ(gap, lost);
  const Chunk chunk = receiver.peek();
  EXPECT_EQ(chunk.kind, ChunkKind::data);
  EXPECT_EQ(chunk.offset, lost);
  EXPECT_EQ(chunk.size, 8u);
}

}  // namespace
}  // namespace millrace::link
