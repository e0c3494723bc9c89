// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/ecm_link.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "firmware/ports/rt1062/usb/testing/network_rig.h"

namespace millrace::rt1062 {
namespace {

using firmware::Frame;

class EcmLinkTest : public testing::Test, protected NetworkRig {
 protected:
  EcmLinkTest() { EXPECT_TRUE(added); }
  ~EcmLinkTest() override { EXPECT_EQ(chip.bus_errors, 0u); }

  void bring_up(bool high_speed = true) {
    ASSERT_TRUE(enumerate(high_speed));
    ASSERT_EQ(select(3, 1), Handshake::ack);
    ASSERT_TRUE(ecm_link.take_link_up());
  }
  bool send_frame(const Bytes& bytes) { return NetworkRig::send(6, bytes, SIZE_MAX); }
  std::vector<Bytes> received() {
    std::vector<Bytes> all;
    Frame f;
    while (ecm_link.receive(&f)) all.emplace_back(f.data, f.data + f.size);
    return all;
  }
  bool transmit(const Bytes& f) {
    uint8_t* place = ecm_link.reserve(f.size());
    if (place == nullptr) return false;
    std::memcpy(place, f.data(), f.size());
    ecm_link.commit(f.size());
    return true;
  }
  std::optional<Bytes> fetch_frame() { return fetch(1, SIZE_MAX); }
};

TEST_F(EcmLinkTest, FramesOfEverySizeBothWays) {
  bring_up();
  for (size_t size : {14u, 60u, 511u, 512u, 513u, 1024u, 1025u, 1514u}) {
    ASSERT_TRUE(send_frame(frame(size, 1))) << size;
    EXPECT_EQ(received(), std::vector<Bytes>{frame(size, 1)});
    ASSERT_TRUE(transmit(frame(size, 2)));
    ecm_link.flush();
    EXPECT_EQ(fetch_frame(), frame(size, 2)) << "an empty packet ends " << size;
    EXPECT_FALSE(fetch_frame());
  }
}

TEST_F(EcmLinkTest, ManyFramesInOrder) {
  bring_up();
  for (uint32_t round = 0; round < 10; ++round) {
    std::vector<Bytes> frames;
    for (uint32_t i = 0; i < EcmLink::kRxBuffers; ++i) {
      frames.push_back(frame(60 + i, round * 100 + i));
      ASSERT_TRUE(send_frame(frames.back()));
    }
    EXPECT_FALSE(send_frame(frame(60, 0))) << "all buffers are full";
    EXPECT_EQ(received(), frames);
  }
  EXPECT_EQ(ecm_link.counters().rx_buffers_low, 0u);
  EXPECT_EQ(ecm_link.counters().rx_frames, 10u * EcmLink::kRxBuffers);
}

TEST_F(EcmLinkTest, NoRoomUntilOneIsSent) {
  bring_up();
  uint32_t sent = 0;
  while (ecm_link.can_send()) ASSERT_TRUE(transmit(frame(74, sent++)));
  EXPECT_EQ(sent, EcmLink::kTxBuffers);
  for (uint32_t i = 0; i < sent; ++i) {
    EXPECT_EQ(fetch_frame(), frame(74, i));
    EXPECT_TRUE(ecm_link.can_send());
  }
  EXPECT_EQ(ecm_link.counters().tx_waits, 1u);
}

TEST_F(EcmLinkTest, WhatIsLongerThanABufferIsOneBadFrame) {
  bring_up();
  ASSERT_TRUE(send_frame(frame(5000, 1)));
  ASSERT_TRUE(send_frame(frame(2048, 1)));
  ASSERT_TRUE(send_frame(frame(60, 2)));
  EXPECT_EQ(received(), std::vector<Bytes>{frame(60, 2)});
  EXPECT_EQ(ecm_link.counters().rx_bad_transfers, 2u);
}

TEST_F(EcmLinkTest, WhatIsShorterThanAHeaderIsBadAndNothingIsNothing) {
  bring_up();
  ASSERT_TRUE(send_frame(frame(13, 1)));
  ASSERT_TRUE(send_frame({}));
  EXPECT_TRUE(received().empty());
  EXPECT_EQ(ecm_link.counters().rx_bad_transfers, 1u);
}

TEST_F(EcmLinkTest, LongerThanAFrameIsNotSent) {
  bring_up();
  EXPECT_NE(ecm_link.reserve(1514), nullptr);
  EXPECT_EQ(ecm_link.reserve(1515), nullptr);
}

TEST_F(EcmLinkTest, AFailedTransferIsCountedAndTheNextComes) {
  bring_up();
  chip.corrupt_next = 1;
  EXPECT_FALSE(send_frame(frame(60, 1))) << "halted, until it is seen";
  EXPECT_TRUE(received().empty());
  ASSERT_TRUE(send_frame(frame(60, 2)));
  EXPECT_EQ(received(), std::vector<Bytes>{frame(60, 2)});
  EXPECT_EQ(ecm_link.counters().rx_failed_transfers, 1u);
}

TEST_F(EcmLinkTest, AResetForgetsEverything) {
  bring_up();
  ASSERT_TRUE(send_frame(frame(60, 1)));
  ASSERT_TRUE(transmit(frame(74, 1)));
  chip.bus_reset(true);
  ASSERT_EQ(control_out(0x00, 9, 1, 0), Handshake::ack);
  ASSERT_EQ(select(3, 1), Handshake::ack);
  EXPECT_TRUE(ecm_link.has_work());
  EXPECT_TRUE(ecm_link.take_link_up());
  EXPECT_TRUE(received().empty());
  ASSERT_TRUE(transmit(frame(74, 5)));
  ecm_link.flush();
  EXPECT_EQ(fetch_frame(), frame(74, 5));
}

TEST_F(EcmLinkTest, BothFunctionsAtOnce) {
  bring_up();
  ASSERT_EQ(select(1, 1), Handshake::ack);
  ASSERT_TRUE(ncm_link.take_link_up());
  EXPECT_FALSE(ecm_link.take_link_up()) << "the other's link stays as it is";
  ASSERT_TRUE(send_frame(frame(60, 1)));
  EXPECT_EQ(received(), std::vector<Bytes>{frame(60, 1)});
}

TEST_F(EcmLinkTest, FullSpeed) {
  bring_up(false);
  for (size_t size : {60u, 64u, 128u, 1514u}) {
    ASSERT_TRUE(send_frame(frame(size, 1)));
    EXPECT_EQ(received(), std::vector<Bytes>{frame(size, 1)});
    ASSERT_TRUE(transmit(frame(size, 2)));
    ecm_link.flush();
    EXPECT_EQ(fetch_frame(), frame(size, 2));
  }
}

}  // namespace
}  // namespace millrace::rt1062
