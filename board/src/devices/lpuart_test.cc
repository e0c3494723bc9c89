// SPDX-License-Identifier: Apache-2.0
// Expected times: SBR 13, OSR 16 at 24 MHz is 208 ticks a bit, 2080 a frame of 10 bits; a tick is
// 25 cycles, so a frame takes 52,000 cycles and a bit 5,200.
#include "devices/lpuart.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "devices/testing/device_fixture.h"

namespace millrace::board {
namespace {

constexpr uint32_t kGlobal = 0x08, kBaud = 0x10, kStat = 0x14, kCtrl = 0x18, kData = 0x1C,
                   kFifo = 0x28, kWater = 0x2C;
constexpr uint32_t kTdre = 1u << 23, kTc = 1u << 22, kRdrf = 1u << 21, kIdle = 1u << 20,
                   kOr = 1u << 19, kTe = 1u << 19, kRe = 1u << 18, kEdge = 1u << 30;
constexpr Cycles kFrame = 52'000, kBit = 5'200;
constexpr unsigned kIrq = 25;

class LpuartTest : public testing::DeviceFixture {
 protected:
  // Turned on and past the preamble, at time kFrame.
  void begin(uint32_t fifo = 0x88, uint32_t water = 0x00020002, uint32_t control = kTe | kRe) {
    put(uart, kBaud, 0x0F00000D);
    put(uart, kWater, water);
    put(uart, kFifo, fifo);
    put(uart, kCtrl, control);
    run_to(kFrame);
  }
  unsigned transmit_count() { return get(uart, kWater) >> 8 & 7; }
  unsigned receive_count() { return get(uart, kWater) >> 24 & 7; }

  std::vector<std::pair<uint8_t, Cycles>> sent;
  std::map<unsigned, bool> dma;
  Lpuart uart{host, clocks, 6,
              [this](uint8_t byte, Cycles when) {
                sent.push_back({byte, when});
              },
              [this](unsigned source, bool level) { dma[source] = level; }};
};

TEST_F(LpuartTest, ResetValues) {
  EXPECT_EQ(get(uart, 0x00), 0x04010003u);
  EXPECT_EQ(get(uart, 0x04), 0x00000202u);
  EXPECT_EQ(get(uart, kBaud), 0x0F000004u);
  EXPECT_EQ(get(uart, kStat), kTdre | kTc);
  EXPECT_EQ(get(uart, kFifo), 0x00C00011u);
  EXPECT_EQ(get(uart, kData), 0x1000u);  // RXEMPT
  EXPECT_EQ(uart.base(), 0x40198000u);
}

TEST_F(LpuartTest, EnablingSendsOneIdleFrameFirst) {
  put(uart, kBaud, 0x0F00000D);
  put(uart, kCtrl, kTe);
  put(uart, kData, 'a');
  EXPECT_EQ(get(uart, kStat) & kTc, 0u);
  run_to(3 * kFrame);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0], std::make_pair(uint8_t{'a'}, 2 * kFrame));
}

TEST_F(LpuartTest, BytesLeaveBackToBackAtTheBaudRate) {
  begin();
  for (char c : std::string("abcd")) put(uart, kData, static_cast<uint8_t>(c));
  EXPECT_EQ(transmit_count(), 3u);  // one is in the shift register
  run_to(6 * kFrame);
  ASSERT_EQ(sent.size(), 4u);
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(sent[i], std::make_pair(static_cast<uint8_t>('a' + i), (i + 2) * kFrame));
  }
  EXPECT_EQ(get(uart, kStat) & (kTdre | kTc), kTdre | kTc);
}

TEST_F(LpuartTest, WatermarkSetsTdreAndItsInterrupt) {
  begin();
  put(uart, kCtrl, kTe | kRe | kTdre);  // TIE
  EXPECT_TRUE(host.lines[kIrq]);
  for (int i = 0; i < 4; ++i) put(uart, kData, 'x');
  EXPECT_FALSE(host.lines[kIrq]);  // 3 in the FIFO, watermark 2
  run_to(2 * kFrame - 1);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(2 * kFrame);
  EXPECT_TRUE(host.lines[kIrq]);
  put(uart, kCtrl, kTe | kRe | kTc);  // TCIE
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(5 * kFrame - 1);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(5 * kFrame);
  EXPECT_TRUE(host.lines[kIrq]);
}

TEST_F(LpuartTest, AFullTransmitFifoDropsAndFlags) {
  begin();
  for (int i = 0; i < 6; ++i) put(uart, kData, static_cast<uint32_t>('0' + i));
  EXPECT_EQ(get(uart, kFifo) & (1u << 17), 1u << 17);
  put(uart, kFifo, 0x88 | 1u << 17);
  EXPECT_EQ(get(uart, kFifo) & (1u << 17), 0u);
  run_to(20 * kFrame);
  EXPECT_EQ(sent.size(), 5u);  // the sixth is lost
}

TEST_F(LpuartTest, FlushEmptiesTheFifoButNotTheShiftRegister) {
  begin();
  for (int i = 0; i < 4; ++i) put(uart, kData, 'x');
  put(uart, kFifo, 0x8088);
  EXPECT_EQ(transmit_count(), 0u);
  run_to(20 * kFrame);
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(LpuartTest, InputIsPacedAndReadBackInOrder) {
  begin();
  for (char c : std::string("hello")) uart.receive(static_cast<uint8_t>(c));
  run_to(2 * kFrame - 1);
  EXPECT_EQ(receive_count(), 0u);
  EXPECT_EQ(get(uart, kStat) & (1u << 24), 1u << 24);  // RAF
  run_to(3 * kFrame);
  EXPECT_EQ(get(uart, kStat) & kRdrf, 0u);  // 2 words, watermark 2
  run_to(4 * kFrame);
  EXPECT_EQ(get(uart, kStat) & (kRdrf | kEdge), kRdrf | kEdge);
  EXPECT_EQ(get(uart, kData), uint32_t{'h'});
  EXPECT_EQ(get(uart, kData), uint32_t{'e'});
  run_to(6 * kFrame);
  EXPECT_EQ(get(uart, kData), uint32_t{'l'});
  EXPECT_EQ(get(uart, kData), uint32_t{'l'});
  EXPECT_EQ(get(uart, kData), uint32_t{'o'});
  EXPECT_EQ(get(uart, kData), 0x1000u);
  EXPECT_EQ(get(uart, kFifo) & (1u << 16), 1u << 16);  // RXUF
}

TEST_F(LpuartTest, OverrunDropsUntilTheFlagIsCleared) {
  begin();
  for (char c : std::string("123456")) uart.receive(static_cast<uint8_t>(c));
  run_to(6 * kFrame);  // five have come
  EXPECT_EQ(get(uart, kStat) & kOr, kOr);
  EXPECT_EQ(get(uart, kData), uint32_t{'1'});
  run_to(7 * kFrame);
  EXPECT_EQ(receive_count(), 3u);  // '6' was not stored though there was room
  put(uart, kStat, kOr);
  EXPECT_EQ(get(uart, kStat) & kOr, 0u);
  uart.receive('7');
  run_to(8 * kFrame);
  EXPECT_EQ(receive_count(), 4u);
}

TEST_F(LpuartTest, IdleComesOneFrameAfterTheLastStopBit) {
  begin(0x88, 0x00020002, kTe | kRe | kIdle | 1u << 2);  // ILIE, ILT
  uart.receive(0x55);
  run_to(3 * kFrame - 1);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(3 * kFrame);
  EXPECT_TRUE(host.lines[kIrq]);
  put(uart, kStat, kIdle);
  EXPECT_FALSE(host.lines[kIrq]);
  run_to(9 * kFrame);
  EXPECT_FALSE(host.lines[kIrq]);  // not again without a word
  EXPECT_EQ(get(uart, kData), 0x55u);
  uart.receive(0x56);
  run_to(11 * kFrame);
  EXPECT_EQ(get(uart, kData), 0x856u);  // IDLINE
}

TEST_F(LpuartTest, WithoutIltTheOnesAtTheEndCountAsIdle) {
  begin();
  uart.receive(0xE0);  // three ones before the stop bit: 4 bits of the 10 are there at its end
  run_to(2 * kFrame + 6 * kBit - 1);
  EXPECT_EQ(get(uart, kStat) & kIdle, 0u);
  run_to(2 * kFrame + 6 * kBit);
  EXPECT_EQ(get(uart, kStat) & kIdle, kIdle);
}

TEST_F(LpuartTest, RxidenMakesAPartFilledFifoReady) {
  begin(0x88 | 2u << 10);  // two characters
  uart.receive('a');
  run_to(4 * kFrame - 1);
  EXPECT_EQ(get(uart, kStat) & kRdrf, 0u);
  run_to(4 * kFrame);
  EXPECT_EQ(get(uart, kStat) & kRdrf, kRdrf);
  get(uart, kData);
  EXPECT_EQ(get(uart, kStat) & kRdrf, 0u);
}

TEST_F(LpuartTest, InputWaitsWhileTheReceiverIsOff) {
  for (size_t i = 0; i < Lpuart::kMaxInput; ++i) ASSERT_TRUE(uart.receive('x'));
  EXPECT_FALSE(uart.receive('y'));
  run_to(10 * kFrame);
  EXPECT_EQ(uart.waiting_input(), Lpuart::kMaxInput);
}

TEST_F(LpuartTest, LoopBackReceivesWhatIsSent) {
  begin(0x88, 0, kTe | kRe | 1u << 7);
  put(uart, kData, 0x42);
  run_to(2 * kFrame);
  EXPECT_EQ(get(uart, kData), 0x42u);
  EXPECT_TRUE(sent.empty());
}

TEST_F(LpuartTest, ParityTakesTheTopBit) {
  // 8 data bits with even parity are M = 1 and PE = 1: a frame of 11 bits, bit 8 the parity.
  begin(0x88, 0, kTe | kRe | 1u << 4 | 1u << 1);
  run_to(11 * kBit);  // preamble
  uart.receive(0x07);
  put(uart, kData, 0x107);
  run_to(22 * kBit);
  EXPECT_EQ(get(uart, kData), 0x107u);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0], std::make_pair(uint8_t{7}, 22 * kBit));
}

TEST_F(LpuartTest, DmaRequestsFollowTheFlags) {
  begin();
  put(uart, kBaud, 0x0F00000D | 1u << 23 | 1u << 21);
  EXPECT_TRUE(dma[70]);  // LPUART6 TX
  for (int i = 0; i < 4; ++i) put(uart, kData, 'x');
  EXPECT_FALSE(dma[70]);
  for (int i = 0; i < 3; ++i) uart.receive('x');
  run_to(4 * kFrame);
  EXPECT_TRUE(dma[71]);
  get(uart, kData);
  EXPECT_FALSE(dma[71]);
}

TEST_F(LpuartTest, AFrameInProgressKeepsItsRealTimeWhenTheCoreSlowsDown) {
  begin();
  put(uart, kData, 'x');
  run_to(kFrame + kFrame / 2);
  set_clocks(300'000'000);
  run_to(kFrame + kFrame / 2 + kFrame / 4);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second, kFrame + kFrame / 2 + kFrame / 4);
}

TEST_F(LpuartTest, SoftwareResetHoldsTheRegisters) {
  begin();
  put(uart, kGlobal, 2);
  put(uart, kBaud, 1);
  EXPECT_EQ(get(uart, kBaud), 0x0F000004u);
  put(uart, kGlobal, 0);
  put(uart, kBaud, 1);
  EXPECT_EQ(get(uart, kBaud), 1u);
}

TEST_F(LpuartTest, WhatIsNotModelledIsReported) {
  put(uart, kCtrl, 1u << 16);      // SBK
  put(uart, kBaud, 1u << 31 | 4);  // MAEN1
  get(uart, 0x30);
  const std::vector<testing::FakeHost::Unknown> expected = {
      {kCtrl, true}, {kBaud, true}, {0x30, false}};
  EXPECT_EQ(host.unknown, expected);
}

TEST_F(LpuartTest, ASnapshotInTheMiddleOfAFrameGoesOn) {
  begin();
  put(uart, kData, 'p');
  put(uart, kData, 'q');
  uart.receive('r');
  run_to(kFrame + 100);
  std::vector<std::pair<uint8_t, Cycles>> other_sent;
  Lpuart other(host, clocks, 6, [&](uint8_t byte, Cycles when) {
    other_sent.push_back({byte, when});
  });
  ASSERT_TRUE(copy_state(uart, other));
  run_to(3 * kFrame);
  EXPECT_EQ(other_sent, sent);
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_EQ(get(other, kData), uint32_t{'r'});
}

}  // namespace
}  // namespace millrace::board
