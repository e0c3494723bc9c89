// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/ncm_link.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "firmware/ports/rt1062/usb/testing/network_rig.h"
#include "millrace/link/bytes.h"

namespace millrace::rt1062 {
namespace {

using firmware::Frame;

class NcmLinkTest : public testing::Test, protected NetworkRig {
 protected:
  NcmLinkTest() { EXPECT_TRUE(added); }
  ~NcmLinkTest() override { EXPECT_EQ(chip.bus_errors, 0u); }

  void bring_up(bool high_speed = true) {
    ASSERT_TRUE(enumerate(high_speed));
    ASSERT_EQ(select(1, 1), Handshake::ack);
    ASSERT_TRUE(link().take_link_up());
  }
  NcmLink& link() { return ncm_link; }

  Bytes block(const std::vector<Bytes>& frames, uint16_t sequence, size_t pad_to = 0) {
    Bytes bytes(NcmLink::kNtbBytes);
    link::Ntb16Writer writer;
    writer.begin(bytes.data(), bytes.size(), link::out_limits(parameters));
    for (const Bytes& f : frames) EXPECT_TRUE(writer.append(f.data(), f.size()));
    const size_t size = writer.finish(sequence);
    bytes.resize(std::max(size, pad_to));
    return bytes;
  }
  bool send_block(const Bytes& bytes) { return NetworkRig::send(5, bytes, NcmLink::kNtbBytes); }

  std::vector<Bytes> received() {
    std::vector<Bytes> all;
    Frame f;
    while (link().receive(&f)) all.emplace_back(f.data, f.data + f.size);
    return all;
  }
  bool transmit(const Bytes& f) {
    uint8_t* place = link().reserve(f.size());
    if (place == nullptr) return false;
    std::memcpy(place, f.data(), f.size());
    link().commit(f.size());
    return true;
  }
  std::optional<std::vector<Bytes>> fetch_block(uint16_t* sequence = nullptr) {
    const std::optional<Bytes> bytes = fetch(6, ncm.ntb_input_bytes());
    if (!bytes) return std::nullopt;
    std::vector<Bytes> all;
    link::Ntb16Reader reader(bytes->data(), bytes->size());
    if (sequence != nullptr) *sequence = reader.sequence();
    link::NtbDatagram d;
    link::NtbStatus status;
    while ((status = reader.next(&d)) == link::NtbStatus::datagram) {
      const auto from = bytes->begin() + static_cast<long>(d.offset);
      all.emplace_back(from, from + static_cast<long>(d.length));
    }
    EXPECT_EQ(status, link::NtbStatus::end);
    return all;
  }
};

TEST_F(NcmLinkTest, LinkIsUpOnceForEachSetting1) {
  ASSERT_TRUE(enumerate());
  EXPECT_FALSE(link().take_link_up());
  EXPECT_EQ(select(1, 1), Handshake::ack);
  EXPECT_TRUE(link().has_work());
  EXPECT_TRUE(link().take_link_up());
  EXPECT_FALSE(link().take_link_up());
  EXPECT_FALSE(link().has_work());
  EXPECT_EQ(select(1, 0), Handshake::ack);
  EXPECT_FALSE(link().take_link_up());
  EXPECT_FALSE(link().can_send());
  EXPECT_EQ(select(1, 1), Handshake::ack);
  EXPECT_TRUE(link().take_link_up());
  EXPECT_EQ(link().counters().link_ups, 2u);
}

TEST_F(NcmLinkTest, SeveralFramesOfABlockComeInOrder) {
  bring_up();
  const std::vector<Bytes> frames = {frame(60, 1), frame(14, 2), frame(1514, 3), frame(61, 4)};
  ASSERT_TRUE(send_block(block(frames, 0)));
  EXPECT_TRUE(link().has_work());
  EXPECT_EQ(received(), frames);
  EXPECT_EQ(link().counters().rx_frames, 4u);
  EXPECT_EQ(link().counters().rx_transfers, 1u);
  EXPECT_EQ(link().counters().rx_frames_max, 4u);
  EXPECT_FALSE(link().has_work());
}

TEST_F(NcmLinkTest, FullBlocksNeedNoEmptyPacketAndBearOne) {
  bring_up();
  for (uint16_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(send_block(block({frame(1000, i)}, i, NcmLink::kNtbBytes)));
    if (i % 2 == 1) {
      ASSERT_EQ(chip.out(5, {}), Handshake::ack);
    }
    EXPECT_EQ(received(), std::vector<Bytes>{frame(1000, i)});
  }
  EXPECT_EQ(link().counters().rx_bad_transfers, 0u);
  EXPECT_EQ(link().counters().rx_transfers, 20u);
}

TEST_F(NcmLinkTest, ABlockOfWholePacketsEndsWithAnEmptyOne) {
  bring_up();
  Bytes bytes = block({frame(60, 7)}, 0, 1024);
  ASSERT_TRUE(send_block(bytes));  // 512, 512, 0
  EXPECT_EQ(received(), std::vector<Bytes>{frame(60, 7)});
}

TEST_F(NcmLinkTest, AsManyBlocksAsBuffersWaitThenNak) {
  bring_up();
  for (uint16_t i = 0; i < NcmLink::kRxBuffers; ++i) {
    ASSERT_TRUE(send_block(block({frame(60, i)}, i)));
  }
  EXPECT_FALSE(send_block(block({frame(60, 99)}, 99)));
  const std::vector<Bytes> all = received();
  ASSERT_EQ(all.size(), size_t{NcmLink::kRxBuffers});
  EXPECT_EQ(all.back(), frame(60, NcmLink::kRxBuffers - 1));
  EXPECT_EQ(link().counters().rx_buffers_low, 0u);
  EXPECT_TRUE(send_block(block({frame(60, 99)}, NcmLink::kRxBuffers)));
  EXPECT_EQ(received(), std::vector<Bytes>{frame(60, 99)});
}

TEST_F(NcmLinkTest, MalformedAndMissingBlocksAreCounted) {
  bring_up();
  Bytes bytes = block({frame(60, 1), frame(60, 2)}, 10);
  bytes[0] = 'X';
  ASSERT_TRUE(send_block(bytes));
  EXPECT_TRUE(received().empty());
  EXPECT_EQ(link().counters().rx_bad_transfers, 1u);
  ASSERT_TRUE(send_block(block({frame(60, 1)}, 11)));
  ASSERT_TRUE(send_block(block({frame(60, 2)}, 14)));
  EXPECT_EQ(received().size(), 2u);
  EXPECT_EQ(link().counters().rx_missing_transfers, 2u);
  // The second datagram outside: the first is good.
  bytes = block({frame(60, 1), frame(60, 2)}, 15);
  link::store_le16(bytes.data() + bytes.size() - 8, 0x7fff);
  ASSERT_TRUE(send_block(bytes));
  EXPECT_EQ(received(), std::vector<Bytes>{frame(60, 1)});
  EXPECT_EQ(link().counters().rx_bad_transfers, 2u);
}

TEST_F(NcmLinkTest, AFailedTransferIsCountedAndTheNextComes) {
  bring_up();
  chip.corrupt_next = 1;
  EXPECT_FALSE(send_block(block({frame(60, 1)}, 0))) << "halted, until it is seen";
  EXPECT_TRUE(received().empty());
  EXPECT_EQ(link().counters().rx_failed_transfers, 1u);
  ASSERT_TRUE(send_block(block({frame(60, 2)}, 1)));
  EXPECT_EQ(received(), std::vector<Bytes>{frame(60, 2)});
}

TEST_F(NcmLinkTest, OneFrameLeavesAtOnce) {
  bring_up();
  ASSERT_TRUE(transmit(frame(74, 1)));
  EXPECT_FALSE(fetch_block()) << "not before flush()";
  link().flush();
  EXPECT_EQ(fetch_block(), std::vector<Bytes>{frame(74, 1)});
  EXPECT_FALSE(fetch_block());
}

TEST_F(NcmLinkTest, FramesShareABlockUnderLoad) {
  bring_up();
  for (uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(transmit(frame(74, i)));
    link().flush();
  }
  for (uint32_t i = 2; i < 7; ++i) {
    ASSERT_TRUE(transmit(frame(74, i)));
    link().flush();
  }
  uint16_t sequence = 99;
  EXPECT_EQ(fetch_block(&sequence)->size(), 1u);
  EXPECT_EQ(sequence, 0);
  EXPECT_EQ(fetch_block(&sequence)->size(), 1u);
  EXPECT_EQ(sequence, 1);
  EXPECT_FALSE(fetch_block()) << "held until somebody calls";
  EXPECT_TRUE(link().has_work());
  link().flush();
  EXPECT_EQ(fetch_block(&sequence), (std::vector<Bytes>{frame(74, 2), frame(74, 3), frame(74, 4),
                                                        frame(74, 5), frame(74, 6)}));
  EXPECT_EQ(sequence, 2);
  EXPECT_EQ(link().counters().tx_frames_max, 5u);
}

TEST_F(NcmLinkTest, AllBuffersFullThenNoRoomUntilOneIsSent) {
  bring_up();
  uint32_t sent = 0;
  while (link().can_send()) ASSERT_TRUE(transmit(frame(1514, sent++)));
  // 8192 less header 12 and table 8 + 4 (n + 1): five frames of 1514, each aligned to 4.
  EXPECT_EQ(sent, 5u * NcmLink::kTxBuffers);
  EXPECT_EQ(link().counters().tx_waits, 1u);
  EXPECT_EQ(link().counters().tx_buffers_low, 0u);
  uint32_t got = 0;
  while (got < sent) {
    const auto frames = fetch_block();
    ASSERT_TRUE(frames);
    for (const Bytes& f : *frames) EXPECT_EQ(f, frame(1514, got++));
    EXPECT_TRUE(link().can_send());
  }
}

// 12 + 2 to align + n + table: total 512 for n = 482.
TEST_F(NcmLinkTest, ABlockThatFillsItsPacketsIsFollowedByAnEmptyPacket) {
  bring_up();
  ASSERT_TRUE(transmit(frame(482, 1)));
  link().flush();
  Bytes bytes;
  ASSERT_EQ(chip.in(6, &bytes), Handshake::ack);
  EXPECT_EQ(bytes.size(), 512u);
  ASSERT_EQ(chip.in(6, &bytes), Handshake::ack);
  EXPECT_EQ(bytes.size(), 0u);
  EXPECT_EQ(chip.in(6, &bytes), Handshake::nak);
}

TEST_F(NcmLinkTest, BlocksStayWithinTheHostsLimitAndAFullOneHasNoEmptyPacket) {
  ASSERT_TRUE(enumerate());
  ASSERT_EQ(control_out(0x21, 0x86, 0, 0, {0, 8, 0, 0}), Handshake::ack);
  ASSERT_EQ(select(1, 1), Handshake::ack);
  ASSERT_TRUE(link().take_link_up());
  ASSERT_TRUE(transmit(frame(1000, 1)));
  ASSERT_TRUE(transmit(frame(1000, 2)));
  ASSERT_TRUE(transmit(frame(1000, 3)));
  link().flush();
  EXPECT_EQ(fetch_block()->size(), 2u);
  EXPECT_EQ(fetch_block()->size(), 1u);
  // 14 + 1002 = 1016, next 1018 (1018 + 14 is a multiple of 4), 1018 + 1010 = 2028, table of 20:
  // 2048 exactly.
  ASSERT_TRUE(transmit(frame(1002, 1)));
  ASSERT_TRUE(transmit(frame(1010, 2)));
  link().flush();
  Bytes bytes;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(chip.in(6, &bytes), Handshake::ack);
    EXPECT_EQ(bytes.size(), 512u);
  }
  EXPECT_EQ(chip.in(6, &bytes), Handshake::nak);
}

TEST_F(NcmLinkTest, AResetForgetsEverything) {
  bring_up();
  ASSERT_TRUE(send_block(block({frame(60, 1), frame(60, 2)}, 0)));
  Frame f;
  ASSERT_TRUE(link().receive(&f));
  ASSERT_TRUE(transmit(frame(74, 1)));
  chip.bus_reset(true);
  EXPECT_FALSE(link().receive(&f));
  EXPECT_EQ(link().reserve(60), nullptr);
  link().flush();
  ASSERT_EQ(control_out(0x00, 9, 1, 0), Handshake::ack);
  ASSERT_EQ(select(1, 1), Handshake::ack);
  EXPECT_TRUE(link().take_link_up());
  EXPECT_TRUE(received().empty());
  ASSERT_TRUE(transmit(frame(74, 5)));
  link().flush();
  EXPECT_EQ(fetch_block(), std::vector<Bytes>{frame(74, 5)});
}

TEST_F(NcmLinkTest, FullSpeed) {
  bring_up(false);
  ASSERT_TRUE(send_block(block({frame(300, 1)}, 0)));
  EXPECT_EQ(received(), std::vector<Bytes>{frame(300, 1)});
  ASSERT_TRUE(transmit(frame(300, 2)));
  link().flush();
  EXPECT_EQ(fetch_block(), std::vector<Bytes>{frame(300, 2)});
}

TEST_F(NcmLinkTest, APrimeThatTheControllerMissedIsMadeUpFor) {
  bring_up();
  chip.lose_primes = true;
  ASSERT_TRUE(transmit(frame(74, 1)));
  link().flush();
  EXPECT_FALSE(fetch_block());
  chip.lose_primes = false;
  link().revive();
  EXPECT_EQ(fetch_block(), std::vector<Bytes>{frame(74, 1)});
}

}  // namespace
}  // namespace millrace::rt1062
