// SPDX-License-Identifier: Apache-2.0
#include "packet_assembler.h"

#include <gmock/gmock.h>

#include "testing/capture_builder.h"

namespace millrace::capture {
namespace {

constexpr uint8_t kOut = 0xe1, kIn = 0x69, kSetup = 0x2d, kPing = 0xb4, kSof = 0xa5;
constexpr uint8_t kData0 = 0xc3, kData1 = 0x4b, kAck = 0xd2, kNak = 0x5a, kStall = 0x1e;

class Sink final : public PacketSink {
 public:
  struct Done {
    Transfer transfer;
    Bytes data;
  };
  void submitted(DeviceKey, uint8_t, TransferType, int64_t, uint32_t, bool) override {}
  void completed(const Transfer& t) override {
    done.push_back({t, Bytes(t.data, t.data + t.size)});
  }
  void abandoned(DeviceKey, uint8_t, int64_t, uint32_t, Abandoned) override {}
  void lost(DeviceKey) override {}
  void nak(DeviceKey, uint8_t, int64_t) override { ++naks; }
  void data_packet(DeviceKey, uint8_t, int64_t, uint64_t index, uint32_t) override {
    microframes.push_back(index);
  }
  std::vector<Done> done;
  std::vector<uint64_t> microframes;
  int naks = 0;
};

class PacketAssemblerTest : public ::testing::Test {
 protected:
  void packet(const Bytes& bytes) {
    CaptureRecord record;
    record.link_type = kLinkUsb20High;
    record.time_ns = now_;
    record.data = bytes.data();
    record.size = record.original_size = bytes.size();
    assembler_.take(record);
    now_ += 1000;
  }
  void transaction(uint8_t token, const Bytes& data, uint8_t pid, uint8_t handshake,
                   uint8_t endpoint = 1) {
    packet(token_packet(token, 5, endpoint));
    if (pid != 0) packet(data_packet(pid, data));
    if (handshake != 0) packet({handshake});
  }
  Sink sink_;
  PacketAssembler assembler_{&sink_};
  int64_t now_ = 0;
};

// USB 2.0, 8.3.5.1: the token that is printed everywhere: SETUP to address 0, endpoint 0.
TEST_F(PacketAssemblerTest, ChecksTheCrcOfTokens) {
  EXPECT_EQ(token_packet(kSetup, 0, 0), (Bytes{0x2d, 0x00, 0x10}));
  EXPECT_TRUE(token_is_good(0x1000));
  for (unsigned bit = 0; bit < 16; ++bit) {
    EXPECT_FALSE(token_is_good(static_cast<uint16_t>(0x1000 ^ 1u << bit))) << bit;
  }
}

// The device descriptor request, DATA0 80 06 00 01 00 00 40 00, has the CRC DD 94.
TEST_F(PacketAssemblerTest, ChecksTheCrcOfData) {
  const Bytes request = {0x80, 6, 0, 1, 0, 0, 0x40, 0};
  const Bytes packet = data_packet(kData0, request);
  EXPECT_EQ(packet[9], 0xdd);
  EXPECT_EQ(packet[10], 0x94);
  for (size_t size = 0; size < 20; ++size) {
    const Bytes any = data_packet(kData0, Bytes(size, 0xa5));
    EXPECT_EQ(usb_crc16(any.data() + 1, any.size() - 1), kGoodCrc16) << size;
  }
}

TEST_F(PacketAssemblerTest, AShortPacketEndsATransfer) {
  transaction(kIn, Bytes(512, 1), kData0, kAck);
  transaction(kIn, {}, 0, kNak);
  transaction(kIn, Bytes(10, 2), kData1, kAck);
  ASSERT_EQ(sink_.done.size(), 1u);
  const Transfer& t = sink_.done[0].transfer;
  EXPECT_EQ(t.endpoint, 0x81);
  EXPECT_EQ(t.actual, 522u);
  EXPECT_EQ(t.packets, 2u);
  EXPECT_EQ(t.submit_ns, 0);
  EXPECT_EQ(t.end_ns, 7000);  // the eighth packet
  EXPECT_EQ(sink_.naks, 1);
}

TEST_F(PacketAssemblerTest, DataWithoutItsAcknowledgementDoesNotCount) {
  transaction(kOut, {1, 2}, kData0, kNak);
  transaction(kOut, {1, 2}, kData0, 0);
  transaction(kOut, {1, 2}, kData0, kAck);
  transaction(kOut, {1, 2}, kData0, kAck);  // the host did not see it
  transaction(kOut, {3}, kData1, kAck);
  ASSERT_EQ(sink_.done.size(), 2u);
  EXPECT_EQ(sink_.done[0].data, (Bytes{1, 2}));
  EXPECT_EQ(sink_.done[1].data, (Bytes{3}));
  EXPECT_EQ(assembler_.totals().repeated, 1u);
  EXPECT_EQ(assembler_.totals().unanswered, 1u);
}

TEST_F(PacketAssemblerTest, AControlTransferHasThreeStages) {
  const Bytes setup = {0x80, 6, 0, 1, 0, 0, 18, 0};
  transaction(kSetup, setup, kData0, kAck, 0);
  transaction(kIn, Bytes(18, 9), kData1, kAck, 0);
  EXPECT_TRUE(sink_.done.empty());
  transaction(kOut, {}, kData1, kAck, 0);
  ASSERT_EQ(sink_.done.size(), 1u);
  EXPECT_TRUE(sink_.done[0].transfer.has_setup);
  EXPECT_EQ(sink_.done[0].transfer.type, TransferType::control);
  EXPECT_EQ(sink_.done[0].data, Bytes(18, 9));
}

TEST_F(PacketAssemblerTest, AStallEndsWithEpipe) {
  transaction(kIn, {}, 0, kStall);
  ASSERT_EQ(sink_.done.size(), 1u);
  EXPECT_EQ(sink_.done[0].transfer.status, -32);
}

TEST_F(PacketAssemblerTest, InterruptPacketsAreTransfersEach) {
  assembler_.describe(device_key(0, 5), 0x81, TransferType::interrupt, 8);
  transaction(kIn, Bytes(8, 1), kData0, kAck);
  transaction(kIn, Bytes(8, 2), kData1, kAck);
  EXPECT_EQ(sink_.done.size(), 2u);
}

TEST_F(PacketAssemblerTest, PacketsAreCountedByMicroframe) {
  transaction(kPing, {}, 0, kAck);
  transaction(kOut, Bytes(512), kData0, kAck);
  now_ = 125'000;
  transaction(kOut, Bytes(1), kData1, kAck);
  EXPECT_THAT(sink_.microframes, testing::ElementsAre(0, 1));
  EXPECT_EQ(assembler_.totals().pings, 1u);
}

TEST_F(PacketAssemblerTest, DamageIsCountedAndLeftOut) {
  packet({});
  packet({0x00});
  packet({kSof, 0, 0});
  packet({kAck});
  packet(data_packet(kData0, {1}));
  packet(token_packet(kOut, 5, 1));
  Bytes damaged = data_packet(kData0, {1, 2, 3});
  damaged[2] ^= 0x10;
  packet(damaged);
  packet({kAck});
  EXPECT_TRUE(sink_.done.empty());
  EXPECT_EQ(assembler_.totals().bad_pid, 1u);
  EXPECT_EQ(assembler_.totals().bad_crc, 2u);
  EXPECT_EQ(assembler_.totals().out_of_place, 3u);
}

TEST_F(PacketAssemblerTest, AnEndlessTransferIsHandedOnInPieces) {
  for (int i = 0; i < 200; ++i) {
    transaction(kIn, Bytes(512), i % 2 == 0 ? kData0 : kData1, kAck);
  }
  assembler_.finish();
  ASSERT_EQ(sink_.done.size(), 2u);
  EXPECT_EQ(sink_.done[0].transfer.actual, PacketAssembler::kMaxTransfer);
  EXPECT_EQ(sink_.done[1].transfer.actual, 200 * 512 - PacketAssembler::kMaxTransfer);
}

}  // namespace
}  // namespace millrace::capture
