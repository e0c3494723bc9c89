// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_capture.h"

#include <gtest/gtest.h>

#include "usb/testing/usb_host_fixture.h"
#include "usb/usb_crc.h"

namespace millrace::board {
namespace {

using testing::Bytes;

TEST(UsbCrc, Crc5OfKnownPackets) {
  // Packets as analysers print them: SETUP to address 0, 2D 00 10; SOF 1, A5 01 E8.
  EXPECT_EQ(usb_token_bits(0), 0x1000);
  EXPECT_EQ(usb_token_bits(1), 0xE801);
  // The examples of the USB-IF's "CRC in USB", five bits in the order they are sent: 10111 for
  // address 0x15 endpoint 0xE, 11100 for 0x3A/0xA, 01110 for 0x70/4. The first is the lowest.
  EXPECT_EQ(usb_token_bits(0x15 | 0xE << 7) >> 11, 0b11101);
  EXPECT_EQ(usb_token_bits(0x3A | 0xA << 7) >> 11, 0b00111);
  EXPECT_EQ(usb_token_bits(0x70 | 0x4 << 7) >> 11, 0b01110);
}

TEST(UsbCrc, Crc16OfKnownPackets) {
  const Bytes text = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  EXPECT_EQ(usb_crc16(text), 0xB4C8);  // the check value of CRC-16/USB
  EXPECT_EQ(usb_crc16(Bytes{}), 0);
  // GET_DESCRIPTOR(device, 64): C3 80 06 00 01 00 00 40 00 DD 94.
  const Bytes setup = {0x80, 6, 0, 1, 0, 0, 0x40, 0};
  EXPECT_EQ(usb_crc16(setup), 0x94DD);
}

struct Packet {
  uint32_t interface = 0;
  uint64_t ns = 0;
  Bytes bytes;
};

uint32_t le(const Bytes& bytes, size_t at, unsigned size = 4) {
  uint32_t value = 0;
  for (unsigned i = 0; i < size; ++i) value |= uint32_t{bytes.at(at + i)} << 8 * i;
  return value;
}

class UsbCaptureTest : public testing::UsbHostFixture {
 protected:
  void capture(const UsbCaptureOptions& options) {
    monitor = std::make_unique<UsbCapture>(options, [this](std::span<const uint8_t> bytes) {
      file.insert(file.end(), bytes.begin(), bytes.end());
    });
    usb.set_monitor(monitor.get());
  }
  // Walks through the blocks, checking lengths.
  std::vector<Packet> packets() {
    std::vector<Packet> list;
    links.clear();
    size_t at = 0;
    while (at < file.size()) {
      const uint32_t type = le(file, at);
      const uint32_t length = le(file, at + 4);
      EXPECT_EQ(length % 4, 0u);
      EXPECT_EQ(le(file, at + length - 4), length);
      if (type == 1) links.push_back(le(file, at + 8, 2));
      if (type == 6) {
        Packet p;
        p.interface = le(file, at + 8);
        p.ns = uint64_t{le(file, at + 12)} << 32 | le(file, at + 16);
        const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at + 28);
        p.bytes.assign(begin, begin + le(file, at + 20));
        EXPECT_EQ(le(file, at + 20), le(file, at + 24));
        list.push_back(p);
      }
      at += length;
    }
    EXPECT_EQ(at, file.size());
    return list;
  }
  std::vector<unsigned> pids() {
    std::vector<unsigned> list;
    for (const Packet& p : packets()) list.push_back(p.bytes[0]);
    return list;
  }

  Bytes file;
  std::vector<uint32_t> links;
  std::unique_ptr<UsbCapture> monitor;
};

TEST_F(UsbCaptureTest, AnUrbIsASubmissionAndACompletion) {
  start();
  capture({});
  Transfer t(*this, 0, 18);
  t.urb.setup = {0x80, 6, 0, 1, 0, 0, 18, 0};
  complete(t);
  const std::vector<Packet> p = packets();
  EXPECT_EQ(le(file, 0), 0x0A0D0D0Au);
  EXPECT_EQ(links, std::vector<uint32_t>{220});
  ASSERT_EQ(p.size(), 2u);
  EXPECT_EQ(p[0].bytes.size(), 64u);
  EXPECT_EQ(p[0].bytes[8], 'S');
  EXPECT_EQ(p[0].bytes[9], 2);      // control
  EXPECT_EQ(p[0].bytes[10], 0x80);  // IN
  EXPECT_EQ(p[0].bytes[14], 0);     // setup is valid
  EXPECT_EQ(p[0].bytes[15], '<');
  EXPECT_EQ(le(p[0].bytes, 28), static_cast<uint32_t>(-115));
  EXPECT_EQ(le(p[0].bytes, 32), 18u);
  EXPECT_EQ(Bytes(p[0].bytes.begin() + 40, p[0].bytes.begin() + 48),
            Bytes(t.urb.setup.begin(), t.urb.setup.end()));
  EXPECT_EQ(p[1].bytes[8], 'C');
  EXPECT_EQ(le(p[1].bytes, 0), le(p[0].bytes, 0));  // one id
  EXPECT_EQ(p[1].bytes[14], '-');
  EXPECT_EQ(le(p[1].bytes, 28), 0u);
  EXPECT_EQ(le(p[1].bytes, 36), 18u);
  EXPECT_EQ(Bytes(p[1].bytes.begin() + 64, p[1].bytes.end()), device.device);
  EXPECT_EQ(le(p[1].bytes, 16) * 1'000'000'000ull + le(p[1].bytes, 24) * 1000ull,
            p[1].ns / 1000 * 1000);
  EXPECT_GT(p[1].ns, p[0].ns);
}

TEST_F(UsbCaptureTest, OutDataGoesWithTheSubmission) {
  start();
  capture({});
  Transfer t(*this, 0x03, 700);
  complete(t);
  device.outs[3].stalled = true;
  complete(t);
  const std::vector<Packet> p = packets();
  ASSERT_EQ(p.size(), 4u);
  EXPECT_EQ(p[0].bytes.size(), 764u);
  EXPECT_EQ(p[0].bytes[9], 3);  // bulk
  EXPECT_EQ(p[0].bytes[10], 3);
  EXPECT_EQ(p[1].bytes.size(), 64u);
  EXPECT_EQ(p[1].bytes[15], '>');
  EXPECT_EQ(le(p[1].bytes, 32), 700u);
  EXPECT_EQ(le(p[3].bytes, 28), static_cast<uint32_t>(-32));
}

TEST_F(UsbCaptureTest, PacketsAreThoseOfTheWire) {
  start();
  capture({false, true, false});
  Transfer t(*this, 0, 18);
  t.urb.setup = {0x80, 6, 0, 1, 0, 0, 0x40, 0};
  complete(t);
  const std::vector<Packet> p = packets();
  EXPECT_EQ(links, (std::vector<uint32_t>{295, 294}));
  // SETUP DATA0 ACK, IN DATA1 ACK, OUT DATA1 ACK.
  EXPECT_EQ(pids(), (std::vector<unsigned>{0x2D, 0xC3, 0xD2, 0x69, 0x4B, 0xD2, 0xE1, 0x4B, 0xD2}));
  ASSERT_EQ(p.size(), 9u);
  EXPECT_EQ(p[0].bytes, (Bytes{0x2D, 0x00, 0x10}));
  EXPECT_EQ(p[1].bytes, (Bytes{0xC3, 0x80, 6, 0, 1, 0, 0, 0x40, 0, 0xDD, 0x94}));
  EXPECT_EQ(p[4].bytes.size(), 21u);
  EXPECT_EQ(p[7].bytes, (Bytes{0x4B, 0, 0}));
  for (size_t i = 1; i < p.size(); ++i) EXPECT_GT(p[i].ns, p[i - 1].ns) << i;
  // 19 bytes of 16.67 ns from the token to the data.
  EXPECT_EQ(p[1].ns - p[0].ns, 19u * 50 / 3);
}

TEST_F(UsbCaptureTest, FullSpeedHasItsOwnLinkType) {
  start(UsbSpeed::full);
  capture({false, true, true});
  device.ins[4].packets = {Bytes(64, 1), Bytes(3, 1)};
  Transfer t(*this, 0x84, 128);
  complete(t);
  for (const Packet& p : packets()) EXPECT_EQ(p.interface, 1u);
}

TEST_F(UsbCaptureTest, FramesOnlyIfAskedFor) {
  start();
  capture({true, true, true});
  run(10 * kMicroframe);
  std::vector<Packet> p = packets();
  ASSERT_EQ(p.size(), 10u);
  EXPECT_EQ(links, (std::vector<uint32_t>{220, 295, 294}));
  for (size_t i = 0; i < p.size(); ++i) {
    EXPECT_EQ(p[i].interface, 1u);
    EXPECT_EQ(p[i].bytes[0], 0xA5);
    EXPECT_EQ(p[i].ns, p[0].ns + i * 125'000);
  }
  file.clear();
  capture({true, true, false});
  run(10 * kMicroframe);
  EXPECT_TRUE(packets().empty());
}

TEST_F(UsbCaptureTest, NakNyetPingAndStallAreShown) {
  start();
  capture({false, true, false});
  device.outs[3].room = 1;
  Transfer t(*this, 0x03, 1024);
  usb.submit(t.urb);
  run(100 * kUs);
  device.outs[3].stalled = true;
  usb.endpoint_changed(3, false, now());
  wait(t);
  // OUT DATA0 NYET, PING NAK, PING STALL.
  EXPECT_EQ(pids(), (std::vector<unsigned>{0xE1, 0xC3, 0x96, 0xB4, 0x5A, 0xB4, 0x1E}));
  file.clear();
  capture({false, true, false});
  device.dead = true;
  Transfer u(*this, 0x84, 512);
  complete(u);
  EXPECT_EQ(pids(), (std::vector<unsigned>{0x69, 0x69, 0x69}));
}

}  // namespace
}  // namespace millrace::board
