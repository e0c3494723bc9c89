// SPDX-License-Identifier: Apache-2.0
#include "usb/cdc_acm_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "usb/testing/usb_host_fixture.h"

namespace millrace::board {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;

class CdcAcmHostTest : public testing::UsbHostFixture {
 protected:
  explicit CdcAcmHostTest(const UsbHostProfile& profile = testing::quick_profile())
      : UsbHostFixture(profile), serial(usb) {}

  void plug() {
    usb.plug_in();
    run(100'000 * kUs);
    ASSERT_TRUE(serial.is_ready()) << serial.problem();
  }
  void open() {
    plug();
    serial.open();
    run(1000 * kUs);
  }
  // From the device: a transfer in packets, with a zero-length end if the last is full.
  void send(const Bytes& bytes) {
    size_t at = 0;
    do {
      const size_t size = std::min<size_t>(512, bytes.size() - at);
      device.ins[4].packets.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                         bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
    } while (at < bytes.size());
    if (bytes.size() % 512 == 0) device.ins[4].packets.emplace_back();
    usb.endpoint_changed(4, true, now());
  }
  Bytes read(size_t size = 100'000) {
    Bytes bytes(size);
    bytes.resize(serial.read(bytes));
    return bytes;
  }
  static Bytes pattern(size_t size, unsigned first = 0) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>((first + i) % 251);
    return bytes;
  }
  // bRequest and wValue of the class requests.
  std::vector<std::pair<unsigned, unsigned>> class_requests() const {
    std::vector<std::pair<unsigned, unsigned>> list;
    for (const auto& r : device.class_requests) list.push_back({r.setup[1], r.setup[2]});
    return list;
  }

  CdcAcmHost serial;
};

using Range = std::pair<unsigned, unsigned>;

TEST_F(CdcAcmHostTest, SetsTheLineWhenFoundAndDtrWhenOpened) {
  open();
  EXPECT_THAT(class_requests(), ElementsAre(Range{0x20, 0}, Range{0x22, 3}));
  EXPECT_THAT(device.class_requests[0].data, ElementsAre(0x80, 0x25, 0, 0, 0, 0, 8));  // 9600 8N1
  EXPECT_EQ(device.class_requests[0].setup[0], 0x21);
  serial.set_dtr(false);
  run(1000 * kUs);
  serial.set_line_coding({1'000'000, 2, 1, 7});
  run(1000 * kUs);
  serial.close();
  run(1000 * kUs);
  EXPECT_THAT(class_requests(), ElementsAre(Range{0x20, 0}, Range{0x22, 3}, Range{0x22, 2},
                                            Range{0x20, 0}, Range{0x22, 0}));
  EXPECT_THAT(device.class_requests[3].data, ElementsAre(0x40, 0x42, 0x0F, 0, 2, 1, 7));
}

TEST_F(CdcAcmHostTest, LineStatesThatWereNotSentYetAreReplaced) {
  open();
  for (int i = 0; i < 1000; ++i) serial.set_dtr(i % 2 == 0);
  run(10'000 * kUs);
  // The one on the wire (DTR on), and the last.
  EXPECT_THAT(class_requests(),
              ElementsAre(Range{0x20, 0}, Range{0x22, 3}, Range{0x22, 3}, Range{0x22, 2}));
}

TEST_F(CdcAcmHostTest, ReadsWhatTheDeviceSends) {
  open();
  const Bytes bytes = pattern(10'000);
  send(bytes);
  run(1000 * kUs);
  EXPECT_EQ(serial.readable(), 10'000u);
  Bytes got = read(1);
  while (got.size() < bytes.size()) {
    const Bytes more = read(777);
    ASSERT_FALSE(more.empty());
    got.insert(got.end(), more.begin(), more.end());
  }
  EXPECT_EQ(got, bytes);
  EXPECT_EQ(serial.counts().bytes_in, 10'000u);
  EXPECT_TRUE(read().empty());
}

TEST_F(CdcAcmHostTest, WritesInBuffersOfTwentyPackets) {
  open();
  const Bytes bytes = pattern(25'000);
  EXPECT_EQ(serial.writable(), 16u * 10240);
  EXPECT_EQ(serial.write(bytes), 25'000u);
  EXPECT_EQ(serial.writable(), 13u * 10240);
  EXPECT_FALSE(serial.is_write_idle());
  run(2000 * kUs);
  EXPECT_TRUE(serial.is_write_idle());
  EXPECT_EQ(device.outs[3].bytes, bytes);
  const size_t short_packet = 25'000 - 20'480 - 8 * 512;
  EXPECT_EQ(device.outs[3].sizes.back(), short_packet);
}

TEST_F(CdcAcmHostTest, AWriterIsHeldBackByADeviceThatDoesNotRead) {
  device.outs[3].room = 3;
  open();
  const Bytes bytes = pattern(300'000);
  EXPECT_EQ(serial.write(bytes), 16u * 10240);
  EXPECT_EQ(serial.write(bytes), 0u);
  run(10'000 * kUs);
  EXPECT_EQ(serial.writable(), 0u);
  device.outs[3].room = SIZE_MAX;
  usb.endpoint_changed(3, false, now());
  run(10'000 * kUs);
  EXPECT_TRUE(serial.is_write_idle());
  EXPECT_EQ(device.outs[3].bytes, pattern(16 * 10240));
}

TEST_F(CdcAcmHostTest, AReaderThatDoesNotReadStopsTheDeviceWithNothingLost) {
  device.ins[4].endless = true;
  open();
  run(50'000 * kUs);
  EXPECT_EQ(serial.readable(), 65536u);
  // The buffer is full and so are 16 URBs of 1024 bytes.
  EXPECT_EQ(device.ins[4].counter, 65536u + 16 * 1024);
  EXPECT_EQ(serial.counts().throttled, 16u);
  uint64_t at = 0;
  for (int i = 0; i < 200; ++i) {
    const Bytes bytes = read(5000);
    ASSERT_FALSE(bytes.empty());
    ASSERT_EQ(bytes, pattern(bytes.size(), static_cast<unsigned>(at % 251)));
    at += bytes.size();
    run(100 * kUs);
  }
}

TEST_F(CdcAcmHostTest, CloseTakesEverythingBackAndOpenStartsAgain) {
  open();
  send(pattern(100));
  run(1000 * kUs);
  serial.close();
  EXPECT_EQ(serial.readable(), 0u);
  serial.open();  // the URBs are on their way back
  run(1000 * kUs);
  send(pattern(50));
  run(1000 * kUs);
  EXPECT_EQ(read(), pattern(50));
}

TEST_F(CdcAcmHostTest, AStalledEndpointIsClearedAndGoesOn) {
  open();
  device.ins[4].stalled = true;
  usb.endpoint_changed(4, true, now());
  device.on_request = [this](const testing::FakeUsbDevice::Request& r) -> std::optional<Bytes> {
    if (r.setup[0] == 2 && r.setup[1] == 1 && r.setup[4] == 0x84) {
      device.ins[4].stalled = false;
      device.ins[4].toggle = false;
    }
    return Bytes();
  };
  run(1000 * kUs);
  EXPECT_EQ(serial.counts().stalls, 1u);
  send(pattern(700));
  run(1000 * kUs);
  EXPECT_EQ(read(), pattern(700));
}

TEST_F(CdcAcmHostTest, ADeviceThatComesBackIsUsedAgain) {
  open();
  device.pull_up = false;
  usb.connection_changed(now());
  EXPECT_FALSE(serial.is_ready());
  EXPECT_EQ(serial.problem(), "the device was disconnected");
  EXPECT_EQ(serial.write(pattern(5)), 0u);
  device.pull_up = true;
  usb.connection_changed(now());
  device.class_requests.clear();
  run(200'000 * kUs);
  EXPECT_TRUE(serial.is_ready());
  EXPECT_EQ(serial.problem(), "");
  EXPECT_THAT(class_requests(), ElementsAre(Range{0x20, 0}, Range{0x22, 3}));
  send(pattern(600));
  EXPECT_EQ(serial.write(pattern(10)), 10u);
  run(1000 * kUs);
  EXPECT_EQ(read(), pattern(600));
  EXPECT_EQ(device.outs[3].bytes, pattern(10));
}

TEST_F(CdcAcmHostTest, ADeviceWithoutAnAcmFunctionIsASentence) {
  device.configuration[22] = 0xFF;  // class of interface 0
  usb.plug_in();
  run(200'000 * kUs);
  EXPECT_FALSE(serial.is_ready());
  EXPECT_THAT(serial.problem(), ::testing::HasSubstr("16c0:0483 has no CDC-ACM function"));
}

TEST_F(CdcAcmHostTest, NotificationsAreTaken) {
  open();
  device.ins[2].packets = {Bytes(10, 0), Bytes(10, 1)};
  run(10'000 * kUs);
  EXPECT_EQ(serial.counts().notifications, 2u);
}

TEST_F(CdcAcmHostTest, ADesktopReadsAtItsRate) {
  // 9.0 packets a microframe, 50 ms: 9 * 512 * 400.
  class Desktop : public CdcAcmHostTest {
   public:
    Desktop() : CdcAcmHostTest(testing::quick_profile("xhci-desktop")) {}
    void TestBody() override {
      device.ins[4].endless = true;
      open();
      serial.set_changed([this] { serial.read(scratch); });
      serial.read(scratch);
      run(10'000 * kUs);
      const uint64_t before = usb.counts().bytes_in;
      run(50'000 * kUs);
      EXPECT_EQ(usb.counts().bytes_in - before, 9u * 512 * 400);
    }
    Bytes scratch = Bytes(65536);
  };
  Desktop().TestBody();
}

class CdcAcmWindowsTest : public CdcAcmHostTest {
 protected:
  CdcAcmWindowsTest() : CdcAcmHostTest(testing::quick_profile("windows-serial")) {}
};

TEST_F(CdcAcmWindowsTest, AReadCostsTimeAndEndsAtAShortPacket) {
  open();
  send(pattern(128));
  send(pattern(128, 128));
  send(pattern(600));
  run(1000 * kUs);
  EXPECT_EQ(serial.readable(), 856u);
  EXPECT_EQ(read(), pattern(128));
  EXPECT_TRUE(read().empty());  // 25 us
  run(25 * kUs - 10);
  EXPECT_TRUE(read().empty());
  run(20);
  EXPECT_EQ(read(100), pattern(100, 128));
  run(25 * kUs);
  EXPECT_EQ(read(), pattern(28, 228));
  run(25 * kUs);
  EXPECT_EQ(read(), pattern(600));
}

TEST_F(CdcAcmWindowsTest, TheReadRateIsFortyThousandASecond) {
  open();
  Bytes scratch(4096);
  serial.set_changed([&] { serial.read(scratch); });
  for (int i = 0; i < 3000; ++i) device.ins[4].packets.push_back(pattern(128));
  usb.endpoint_changed(4, true, now());
  const uint64_t before = serial.counts().bytes_in;
  run(50'000 * kUs);
  // 2,000 reads of 128 bytes: 5.12 MB/s, as published for 128-byte frames.
  EXPECT_NEAR(static_cast<double>(serial.counts().bytes_in - before), 128 * 2000, 128 * 4);
}

TEST(CdcAcmStall, AReaderThatIsElsewhereReadsAgainAfterwards) {
  UsbHostProfile profile = testing::quick_profile();
  profile.reader_stalls = {{2000, 3000}};
  class Stalled : public CdcAcmHostTest {
   public:
    explicit Stalled(const UsbHostProfile& p) : CdcAcmHostTest(p) {}
    void TestBody() override {
      plug();
      serial.open();
      unsigned calls = 0;
      serial.set_changed([&] { ++calls; });
      run(2500 * kUs);
      send(pattern(10));
      run(1000 * kUs);
      EXPECT_TRUE(read().empty());
      calls = 0;
      run(1499 * kUs);
      EXPECT_EQ(calls, 0u);
      run(2 * kUs);
      EXPECT_EQ(calls, 1u);  // told that it may
      EXPECT_EQ(read(), pattern(10));
    }
  };
  Stalled(profile).TestBody();
}

}  // namespace
}  // namespace millrace::board
