// SPDX-License-Identifier: Apache-2.0
#include "usb_decode.h"

#include <gtest/gtest.h>

#include "testing/capture_builder.h"
#include "usbmon_text.h"

namespace millrace::capture {
namespace {

CaptureRecord record_of(const Bytes& data, uint16_t link_type, bool is_big = false) {
  CaptureRecord record;
  record.link_type = link_type;
  record.is_big_endian = is_big;
  record.has_time = true;
  record.time_ns = 123'000;
  record.data = data.data();
  record.size = record.original_size = data.size();
  return record;
}

TEST(DecodeUsbmon, BothHeadersInBothByteOrders) {
  TestUrb urb;
  urb.id = 0xffff888012345678;
  urb.type = 'C';
  urb.endpoint = 0x81;
  urb.device = 17;
  urb.bus = 0x0102;
  urb.status = -32;
  urb.length = 3;
  urb.data = {7, 8, 9};
  for (const bool is_long : {false, true}) {
    for (const bool is_big : {false, true}) {
      const Bytes data = usbmon(urb, is_long, is_big).data;
      UrbEvent event;
      ASSERT_EQ(decode_usbmon(record_of(data, is_long ? 220 : 189, is_big), &event),
                DecodeStatus::event);
      EXPECT_EQ(event.id, urb.id);
      EXPECT_EQ(event.type, UrbEventType::completion);
      EXPECT_EQ(event.transfer, TransferType::bulk);
      EXPECT_EQ(event.endpoint, 0x81);
      EXPECT_EQ(event.device, 17);
      EXPECT_EQ(event.bus, 0x0102);
      EXPECT_EQ(event.status, -32);
      EXPECT_EQ(Bytes(event.data, event.data + event.size), urb.data);
      EXPECT_EQ(event.time_ns, 123'000);
    }
  }
}

TEST(DecodeUsbmon, DataStandsBehindIsochronousDescriptors) {
  TestUrb urb;
  urb.type = 'C';
  urb.transfer = 0;
  urb.endpoint = 0x83;
  urb.length = 2;
  urb.data = {5, 6};
  urb.descriptors = Bytes(48);
  for (const bool is_long : {false, true}) {
    const Bytes data = usbmon(urb, is_long).data;
    UrbEvent event;
    ASSERT_EQ(decode_usbmon(record_of(data, is_long ? 220 : 189), &event), DecodeStatus::event);
    EXPECT_EQ(Bytes(event.data, event.data + event.size), urb.data);
  }
}

TEST(DecodeUsbmon, MoreDescriptorsThanBytesLeaveNoData) {
  TestUrb urb;
  urb.type = 'C';
  urb.endpoint = 0x81;
  urb.length = 2;
  urb.data = {5, 6};
  Bytes data = usbmon(urb).data;
  data[60] = data[61] = data[62] = data[63] = 0xff;
  UrbEvent event;
  ASSERT_EQ(decode_usbmon(record_of(data, 220), &event), DecodeStatus::event);
  EXPECT_EQ(event.size, 0u);
}

TEST(DecodeUsbmon, RefusesWhatCannotBe) {
  const Bytes good = usbmon(TestUrb()).data;
  UrbEvent event;
  EXPECT_EQ(decode_usbmon(record_of(Bytes(63), 220), &event), DecodeStatus::too_short);
  EXPECT_EQ(decode_usbmon(record_of(Bytes(47), 189), &event), DecodeStatus::too_short);
  for (const auto& [at, value] : {std::pair<size_t, uint8_t>{8, 'X'}, {9, 4}, {10, 0x10}}) {
    Bytes bad = good;
    bad[at] = value;
    EXPECT_EQ(decode_usbmon(record_of(bad, 220), &event), DecodeStatus::bad_value) << at;
  }
}

Bytes usbpcap(bool is_up, uint8_t endpoint, uint8_t transfer, uint32_t length, const Bytes& rest,
              uint16_t header = 27, uint32_t status = 0) {
  return ByteWriter()
      .u16(header)
      .u64(0xffffe00012345678)
      .u32(status)
      .u16(9)
      .u8(is_up)
      .u16(2)
      .u16(300)
      .u8(endpoint)
      .u8(transfer)
      .u32(length)
      .raw(rest)
      .bytes;
}

TEST(DecodeUsbPcap, InDataComesOnItsWayUp) {
  UrbEvent event;
  const Bytes data = usbpcap(true, 0x82, 3, 2, {1, 2});
  ASSERT_EQ(decode_usbpcap(record_of(data, 249), &event), DecodeStatus::event);
  EXPECT_EQ(event.type, UrbEventType::completion);
  EXPECT_EQ(event.bus, 2);
  EXPECT_EQ(event.device, 300);
  EXPECT_EQ(Bytes(event.data, event.data + event.size), (Bytes{1, 2}));
  EXPECT_TRUE(event.length_known);
  const Bytes asked = usbpcap(false, 0x82, 3, 0, {});
  ASSERT_EQ(decode_usbpcap(record_of(asked, 249), &event), DecodeStatus::event);
  EXPECT_FALSE(event.length_known);
}

TEST(DecodeUsbPcap, StagesOfAControlTransfer) {
  UrbEvent event;
  const Bytes setup = {0x80, 6, 0, 1, 0, 0, 18, 0};
  const Bytes down = usbpcap(false, 0x80, 2, 8, joined({{0}, setup}), 28);
  ASSERT_EQ(decode_usbpcap(record_of(down, 249), &event), DecodeStatus::event);
  EXPECT_EQ(event.type, UrbEventType::submission);
  EXPECT_TRUE(event.has_setup);
  EXPECT_EQ(event.endpoint, 0x80);
  EXPECT_EQ(event.length, 18u);
  const Bytes up = usbpcap(true, 0x80, 2, 2, {3, 18, 1}, 28, 0xc0000004);
  ASSERT_EQ(decode_usbpcap(record_of(up, 249), &event), DecodeStatus::event);
  EXPECT_EQ(event.status, -32);  // EPIPE: stalled
  EXPECT_EQ(Bytes(event.data, event.data + event.size), (Bytes{18, 1}));
}

TEST(DecodeUsbPcap, RefusesHeadersThatDoNotFit) {
  UrbEvent event;
  EXPECT_EQ(decode_usbpcap(record_of(Bytes(26), 249), &event), DecodeStatus::too_short);
  const Bytes long_header = usbpcap(true, 0x82, 3, 0, {}, 1000);
  EXPECT_EQ(decode_usbpcap(record_of(long_header, 249), &event), DecodeStatus::too_short);
  const Bytes info = usbpcap(true, 0x82, 0xfe, 0, {});
  EXPECT_EQ(decode_usbpcap(record_of(info, 249), &event), DecodeStatus::not_an_urb);
  const Bytes no_stage = usbpcap(true, 0x80, 2, 0, {});
  EXPECT_EQ(decode_usbpcap(record_of(no_stage, 249), &event), DecodeStatus::bad_value);
}

// The examples of Linux' Documentation/usb/usbmon.rst.
TEST(UsbmonText, ReadsTheLinesOfItsManual) {
  UrbEvent event;
  ASSERT_TRUE(
      parse_usbmon_line("d5ea89a0 3575914555 S Ci:1:001:0 s a3 00 0000 0003 0004 4 <", &event));
  EXPECT_EQ(event.id, 0xd5ea89a0u);
  EXPECT_EQ(event.time_ns, 3'575'914'555'000);
  EXPECT_EQ(event.endpoint, 0x80);
  EXPECT_EQ(event.bus, 1);
  EXPECT_TRUE(event.has_setup);
  EXPECT_EQ(event.setup, (std::array<uint8_t, 8>{0xa3, 0, 0, 0, 3, 0, 4, 0}));
  EXPECT_EQ(event.length, 4u);
  ASSERT_TRUE(parse_usbmon_line("d5ea89a0 3575914560 C Ci:1:001:0 0 4 = 01050000", &event));
  EXPECT_EQ(event.type, UrbEventType::completion);
  EXPECT_EQ(Bytes(event.data, event.data + event.size), (Bytes{1, 5, 0, 0}));
  ASSERT_TRUE(
      parse_usbmon_line("dd65f0e8 4128379752 S Bo:1:005:2 -115 31 = 55534243 5e000000", &event));
  EXPECT_EQ(event.endpoint, 2);
  EXPECT_EQ(event.status, -115);
  EXPECT_EQ(event.length, 31u);
  EXPECT_EQ(event.size, 8u);
  ASSERT_TRUE(parse_usbmon_line("dd65f0e8 4128379808 C Bo:1:005:2 0 31 >", &event));
  EXPECT_FALSE(event.data_was_expected);
}

TEST(UsbmonText, OldFormInterruptAndIsochronous) {
  UrbEvent event;
  ASSERT_TRUE(parse_usbmon_line("c1 100 C Ii:002:01 0:8 2 = 0102", &event));
  EXPECT_EQ(event.bus, 0);
  EXPECT_EQ(event.device, 2);
  EXPECT_EQ(event.transfer, TransferType::interrupt);
  EXPECT_EQ(event.size, 2u);
  ASSERT_TRUE(parse_usbmon_line("c1 100 C Zi:1:002:3 0:1:5:0 2 0:0:16 0:16:16 32 = 0a0b", &event));
  EXPECT_EQ(event.length, 32u);
  EXPECT_EQ(event.size, 2u);
}

TEST(UsbmonText, EveryPrefixAndNonsenseIsRefusedOrHarmless) {
  const std::string line = "d5ea89a0 3575914555 S Ci:1:001:0 s a3 00 0000 0003 0004 4 <";
  UrbEvent event;
  for (size_t size = 0; size < line.size() - 3; ++size) {
    EXPECT_FALSE(parse_usbmon_line(line.substr(0, size), &event)) << size;
  }
  for (const char* bad :
       {"", "d5 1 X Ci:1:001:0 0 0", "d5 1 C Qi:1:001:0 0 0", "d5 1 C Ci:1:999:0 0 0",
        "d5 1 C Ci:1:001:16 0 0", "d5 99999999999999999999 C Ci:1:001:0 0 0",
        "d5 1 C Ci:1:001:0 0 -4", "d5 1 C Ci:1:001:0:7 0 4"}) {
    EXPECT_FALSE(parse_usbmon_line(bad, &event)) << bad;
  }
}

}  // namespace
}  // namespace millrace::capture
