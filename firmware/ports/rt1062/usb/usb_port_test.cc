// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/rt1062/usb/usb_port.h"

#include "firmware/app/stream_device.h"
#include "firmware/ports/rt1062/usb/testing/usb_fixture.h"
#include "millrace/link/classic_stream.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::rt1062 {
namespace {

class UsbPortTest : public UsbFixture {
 protected:
  UsbPortTest() { enumerate(); }
  size_t write(const Bytes& bytes) { return port.write(bytes.data(), bytes.size()); }
};

TEST_F(UsbPortTest, InfoSaysWhatTheHostGets) {
  const firmware::PortInfo info = port.info();
  EXPECT_STREQ(info.board, "Teensy 4.1");
  EXPECT_EQ(info.usb_speed_mbit, 480u);
  EXPECT_EQ(info.tx_buffer_bytes, 128u * 1024);
  EXPECT_EQ(info.rx_buffer_bytes, 8u * 512);
  EXPECT_EQ(info.boot_counter, 7u);
}

TEST_F(UsbPortTest, FlushEndsTheTransfer) {
  write(pattern(100));
  EXPECT_TRUE(drain().empty());
  port.flush();
  EXPECT_EQ(joined(drain()), pattern(100));
}

TEST_F(UsbPortTest, WhatIsForgottenLeavesAfterATime) {
  write(pattern(100));
  now_us = UsbPort::kFlushAfterUs - 1;
  port.idle(1000);
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(chip.sleeps, 0u);  // it must come back in time
  now_us = UsbPort::kFlushAfterUs;
  port.idle(1000);
  EXPECT_EQ(joined(drain()), pattern(100));
  EXPECT_EQ(chip.sleeps, 1u);
}

// The end of a full ring is not the end of a message.
TEST_F(UsbPortTest, WaitingForRoomDoesNotEndTheTransfer) {
  while (write(pattern(4096)) == 4096) {
  }
  now_us += 10 * UsbPort::kFlushAfterUs;
  port.idle(1000);
  for (const Bytes& packet : drain()) EXPECT_EQ(packet.size(), 512u);
}

TEST_F(UsbPortTest, SleepsOnlyWhenThereIsNothingToDo) {
  port.idle(1000);
  EXPECT_EQ(chip.sleeps, 1u);
  port.idle(999);  // a tick is longer
  EXPECT_EQ(chip.sleeps, 1u);
  EXPECT_EQ(chip.out(3, pattern(5)), Handshake::ack);
  port.idle(1000);
  EXPECT_EQ(chip.sleeps, 1u);
  uint8_t byte[8];
  EXPECT_EQ(port.read(byte, 8), 5u);
  port.idle(1000);
  EXPECT_EQ(chip.sleeps, 2u);
  chip.bus_reset(true);
  port.idle(1000);
  EXPECT_EQ(chip.sleeps, 2u);
}

TEST_F(UsbPortTest, ResetLosesTheLinkOnce) {
  EXPECT_TRUE(port.connected());
  EXPECT_FALSE(port.take_link_lost());
  chip.bus_reset(true);
  EXPECT_FALSE(port.connected());
  EXPECT_EQ(write(pattern(10)), 0u);
  EXPECT_TRUE(port.take_link_lost());
  EXPECT_FALSE(port.take_link_lost());
  EXPECT_EQ(control_out(0x00, 9, 1, 0), Handshake::ack);
  EXPECT_FALSE(port.take_link_lost());
  EXPECT_EQ(write(pattern(10)), 10u);
}

// Reset and configured between two looks: the old session is gone all the same.
TEST_F(UsbPortTest, QuickReconfigurationLosesTheLink) {
  write(pattern(512));
  EXPECT_EQ(control_out(0x00, 9, 1, 0), Handshake::ack);
  EXPECT_TRUE(port.connected());
  EXPECT_EQ(write(pattern(512)), 0u);
  EXPECT_TRUE(port.take_link_lost());
  EXPECT_TRUE(drain().empty());
}

// What the host has sent before it closed the port is still read; what it did not fetch is not left
// for the next one.
TEST_F(UsbPortTest, ClosedPortForgetsWhatWasToBeSent) {
  set_dtr(true);
  write(pattern(2000));
  EXPECT_EQ(chip.out(3, pattern(5)), Handshake::ack);
  set_dtr(false);
  EXPECT_TRUE(port.take_link_lost());
  EXPECT_FALSE(port.take_link_lost());
  EXPECT_TRUE(drain().empty());
  uint8_t byte[8];
  EXPECT_EQ(port.read(byte, 8), 5u);
}

// The application of firmware/app over all of it: a classic run of 100 frames of 2,048 bytes.
TEST_F(UsbPortTest, CarriesAClassicRun) {
  firmware::StreamDevice application(port, firmware::StreamDeviceOptions());
  uint8_t handshake[link::kHandshakeBytes];
  link::encode_handshake({2048, 100, 0}, handshake);
  EXPECT_EQ(chip.out(3, handshake), Handshake::ack);
  Bytes expected(100 * 2048);
  link::StreamCursor({link::kDefaultSeed, 2048, 100}).read(expected.data(), expected.size());
  Bytes received;
  bool ended = false;
  for (int step = 0; step < 20'000 && !ended; ++step) {
    now_us += 10;
    application.poll();
    for (int tokens = 0; tokens < 3; ++tokens) {
      Bytes packet;
      if (chip.in(4, &packet) != Handshake::ack) break;
      received.insert(received.end(), packet.begin(), packet.end());
      ended = packet.size() < 512;
      if (!ended) continue;
      EXPECT_EQ(received.size(), expected.size());
      break;
    }
  }
  EXPECT_TRUE(ended);  // by an empty packet: 100 * 2048 is a multiple of 512
  EXPECT_EQ(received, expected);
  EXPECT_EQ(bulk_in.revived(), 0u);
}

}  // namespace
}  // namespace millrace::rt1062
