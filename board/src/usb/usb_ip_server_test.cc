// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_ip_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "usb/testing/usb_host_fixture.h"
#include "usb/testing/usb_ip_bytes.h"

namespace millrace::board {
namespace {

using testing::Bytes;
using testing::get_be;
using ::testing::HasSubstr;
using testing::ip_unlink;
using testing::IpSubmit;

constexpr uint32_t error(int32_t value) { return static_cast<uint32_t>(value); }

class UsbIpServerTest : public testing::UsbHostFixture, public UsbEnumerator::Listener {
 protected:
  void device_ready(const UsbDeviceInfo&) override {}
  void device_gone() override {}
  void device_failed(const std::string&) override {}

  void enumerate() {
    usb.plug_in();
    run(100'000 * kUs);
    ASSERT_TRUE(enumerator.is_ready());
  }
  void import() {
    enumerate();
    ASSERT_TRUE(server.import_without_request());
  }
  void give(const Bytes& bytes) { EXPECT_EQ(server.receive(bytes), bytes.size()); }
  Bytes take() {
    const Bytes bytes(server.output().begin(), server.output().end());
    server.consume(bytes.size());
    return bytes;
  }
  // Everything that comes within a millisecond.
  Bytes answer(const Bytes& bytes) {
    give(bytes);
    run(1000 * kUs);
    return take();
  }
  void send(const Bytes& packet) {
    device.ins[4].packets.push_back(packet);
    usb.endpoint_changed(4, true, now());
  }
  static IpSubmit bulk_in(uint32_t sequence, uint32_t length) {
    IpSubmit s;
    s.sequence = sequence;
    s.in = true;
    s.endpoint = 4;
    s.length = length;
    return s;
  }
  static IpSubmit bulk_out(uint32_t sequence, const Bytes& data) {
    IpSubmit s;
    s.sequence = sequence;
    s.endpoint = 3;
    s.data = data;
    return s;
  }

  UsbEnumerator enumerator{usb, *this};
  UsbIpServer server{usb, enumerator};
};

TEST_F(UsbIpServerTest, ListsTheDeviceWithItsInterfaces) {
  EXPECT_EQ(answer(testing::ip_devlist()), (Bytes{1, 0x11, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0}));
  enumerate();
  const Bytes list = answer(testing::ip_devlist());
  // Operation 8, count 4, device 0x138, two interfaces of 4.
  ASSERT_EQ(list.size(), 8u + 4 + 0x138 + 2 * 4);
  EXPECT_EQ(get_be(list, 8), 1u);
  const std::span<const uint8_t> d = std::span<const uint8_t>(list).subspan(12);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(&d[256])), "1-1");
  EXPECT_EQ(get_be(d, 288), 1u);  // bus
  EXPECT_EQ(get_be(d, 292), 1u);  // device
  EXPECT_EQ(get_be(d, 296), 3u);  // high speed
  EXPECT_EQ(get_be(d, 300, 2), 0x16C0u);
  EXPECT_EQ(get_be(d, 302, 2), 0x0483u);
  EXPECT_EQ(get_be(d, 304, 2), 0x0280u);
  EXPECT_EQ(Bytes(d.begin() + 306, d.begin() + 312), (Bytes{0xEF, 2, 1, 1, 1, 2}));
  EXPECT_EQ(Bytes(d.begin() + 312, d.end()), (Bytes{2, 2, 1, 0, 0x0A, 0, 0, 0}));
}

TEST_F(UsbIpServerTest, ImportsTheDeviceByItsBusId) {
  EXPECT_EQ(answer(testing::ip_import("1-1")), (Bytes{1, 0x11, 0, 3, 0, 0, 0, 1}));
  enumerate();
  EXPECT_EQ(answer(testing::ip_import("1-2")), (Bytes{1, 0x11, 0, 3, 0, 0, 0, 1}));
  EXPECT_FALSE(server.is_imported());
  const Bytes reply = answer(testing::ip_import("1-1"));
  EXPECT_EQ(reply.size(), 320u);
  EXPECT_EQ(get_be(reply, 4), 0u);
  EXPECT_TRUE(server.is_imported());
  EXPECT_FALSE(server.import_without_request());
}

TEST_F(UsbIpServerTest, ControlReadAnswersWithTheDescriptor) {
  import();
  IpSubmit s;
  s.sequence = 0x12345678;
  s.in = true;
  s.length = 64;
  s.setup = {0x80, 6, 0, 1, 0, 0, 64, 0};
  const Bytes reply = answer(s.bytes());
  ASSERT_EQ(reply.size(), 48u + 18);
  EXPECT_EQ(get_be(reply, 0), 3u);
  EXPECT_EQ(get_be(reply, 4), 0x12345678u);
  for (const size_t at : {8, 12, 16, 20}) EXPECT_EQ(get_be(reply, at), 0u) << at;
  EXPECT_EQ(get_be(reply, 24), 18u);
  EXPECT_EQ(Bytes(reply.begin() + 48, reply.end()), device.device);
}

TEST_F(UsbIpServerTest, BulkDataGoesBothWays) {
  import();
  Bytes data(1000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 3);
  const Bytes sent = answer(bulk_out(1, data).bytes());
  EXPECT_EQ(sent.size(), 48u);
  EXPECT_EQ(get_be(sent, 24), 1000u);
  EXPECT_EQ(device.outs[3].bytes, data);
  EXPECT_TRUE(answer(bulk_in(2, 1024).bytes()).empty());
  EXPECT_FALSE(server.idle());
  send(Bytes(300, 9));
  run(1000 * kUs);
  const Bytes got = take();
  ASSERT_EQ(got.size(), 348u);
  EXPECT_EQ(get_be(got, 4), 2u);
  EXPECT_EQ(got[48], 9);
  EXPECT_TRUE(server.idle());
  EXPECT_EQ(server.counts().bytes_in, 300u);
  EXPECT_EQ(server.counts().bytes_out, 1000u);
}

TEST_F(UsbIpServerTest, ZeroPacketFlagEndsAFullTransfer) {
  import();
  IpSubmit s = bulk_out(1, Bytes(512, 1));
  answer(s.bytes());
  s.flags = 0x40;
  answer(s.bytes());
  EXPECT_EQ(device.outs[3].sizes, (std::vector<size_t>{512, 512, 0}));
  IpSubmit in = bulk_in(2, 512);
  in.flags = 1;  // URB_SHORT_NOT_OK
  send(Bytes(5, 1));
  EXPECT_EQ(get_be(answer(in.bytes()), 20), error(-121));
}

TEST_F(UsbIpServerTest, AnUnlinkedTransferIsAnsweredOnceWithConnectionReset) {
  import();
  give(bulk_in(7, 1024).bytes());
  run(100 * kUs);
  const Bytes reply = answer(ip_unlink(8, 7));
  ASSERT_EQ(reply.size(), 48u);
  EXPECT_EQ(get_be(reply, 0), 4u);
  EXPECT_EQ(get_be(reply, 4), 8u);
  EXPECT_EQ(get_be(reply, 20), error(-104));
  EXPECT_TRUE(server.idle());
}

TEST_F(UsbIpServerTest, UnlinkOfWhatIsOverAnswersZero) {
  import();
  send(Bytes(5, 1));
  EXPECT_EQ(answer(bulk_in(7, 512).bytes()).size(), 53u);
  const Bytes reply = answer(ip_unlink(8, 7));
  ASSERT_EQ(reply.size(), 48u);
  EXPECT_EQ(get_be(reply, 0), 4u);
  EXPECT_EQ(get_be(reply, 20), 0u);
}

TEST_F(UsbIpServerTest, UnlinkOfWhatIsOnItsWayBackFollowsTheReply) {
  import();
  send(Bytes(5, 1));
  give(bulk_in(7, 512).bytes());
  // The transaction ends; the completion comes one tick later.
  while (device.ins[4].acked == 0) run(1);
  give(ip_unlink(8, 7));
  run(1000 * kUs);
  const Bytes reply = take();
  ASSERT_EQ(reply.size(), 53u + 48);
  EXPECT_EQ(get_be(reply, 0), 3u);
  EXPECT_EQ(get_be(reply, 53), 4u);
  EXPECT_EQ(get_be(reply, 53 + 20), 0u);
}

TEST_F(UsbIpServerTest, StallAndClearHaltReachTheHost) {
  import();
  device.ins[4].stalled = true;
  EXPECT_EQ(get_be(answer(bulk_in(1, 512).bytes()), 20), error(-32));
  device.ins[4].stalled = false;
  send(Bytes(5, 1));
  EXPECT_TRUE(answer(bulk_in(2, 512).bytes()).empty());  // halted
  IpSubmit clear;
  clear.sequence = 3;
  clear.setup = {0x02, 1, 0, 0, 0x84, 0, 0, 0};
  const Bytes replies = answer(clear.bytes());
  EXPECT_EQ(replies.size(), 48u + 53);
}

TEST_F(UsbIpServerTest, SetConfigurationOpensThePipesAgain) {
  import();
  IpSubmit s;
  s.setup = {0x00, 9, 0, 0, 0, 0, 0, 0};
  answer(s.bytes());
  EXPECT_FALSE(usb.is_open(0x84));
  EXPECT_EQ(get_be(answer(bulk_in(2, 512).bytes()), 20), error(-2));
  s.setup[2] = 1;
  answer(s.bytes());
  EXPECT_TRUE(usb.is_open(0x84));
  device.ins[4].toggle = false;
  send(Bytes(5, 1));
  EXPECT_EQ(answer(bulk_in(3, 512).bytes()).size(), 53u);
}

TEST_F(UsbIpServerTest, SetInterfaceChangesTheEndpointsOfOneInterface) {
  // Interface 1 has no endpoint in setting 0, both in setting 1, as CDC-NCM has it.
  Bytes& c = device.configuration;
  c[56] = 0;
  c.insert(c.begin() + 61, {9, 4, 1, 1, 2, 0x0A, 0, 0, 0});
  c[2] = 84;
  import();
  EXPECT_FALSE(usb.is_open(0x84));
  IpSubmit s;
  s.setup = {0x01, 11, 1, 0, 1, 0, 0, 0};
  answer(s.bytes());
  EXPECT_TRUE(usb.is_open(0x84) && usb.is_open(0x03) && usb.is_open(0x82));
  s.setup[2] = 0;
  answer(s.bytes());
  EXPECT_FALSE(usb.is_open(0x84));
  EXPECT_TRUE(usb.is_open(0x82));
}

TEST_F(UsbIpServerTest, WhatCannotBeIsRefusedAndTheStreamStaysInStep) {
  import();
  IpSubmit wrong_device = bulk_out(1, Bytes(100, 1));
  wrong_device.device = 0x00010002;
  EXPECT_EQ(get_be(answer(wrong_device.bytes()), 20), error(-19));
  IpSubmit address;
  address.setup = {0x00, 5, 9, 0, 0, 0, 0, 0};
  EXPECT_EQ(get_be(answer(address.bytes()), 20), error(-32));
  IpSubmit mismatch;
  mismatch.in = true;
  mismatch.length = 8;
  mismatch.setup = {0x80, 6, 0, 1, 0, 0, 18, 0};
  EXPECT_EQ(get_be(answer(mismatch.bytes()), 20), error(-22));
  EXPECT_EQ(get_be(answer(bulk_in(4, UsbIpServer::kMaxTransfer + 1).bytes()), 20), error(-90));
  const Bytes large(UsbIpServer::kMaxTransfer + 1, 1);
  EXPECT_EQ(get_be(answer(bulk_out(5, large).bytes()), 20), error(-90));
  EXPECT_EQ(server.counts().refused, 5u);
  EXPECT_EQ(answer(bulk_out(6, Bytes(3, 1)).bytes()).size(), 48u);
  EXPECT_EQ(device.outs[3].bytes, Bytes(3, 1));
}

TEST_F(UsbIpServerTest, NumberAndSizeOfTransfersAreBounded) {
  import();
  for (uint32_t i = 0; i < UsbIpServer::kMaxUrbs; ++i) give(bulk_in(i + 1, 512).bytes());
  EXPECT_EQ(get_be(answer(bulk_in(1000, 512).bytes()), 20), error(-12));
  EXPECT_EQ(get_be(answer(ip_unlink(1001, 1)), 20), error(-104));
  server.disconnect();
  run(1000 * kUs);
  EXPECT_TRUE(server.idle());
  ASSERT_TRUE(server.import_without_request());
  for (uint32_t i = 0; i < 8; ++i) give(bulk_in(i + 1, UsbIpServer::kMaxTransfer).bytes());
  EXPECT_EQ(get_be(answer(bulk_in(1000, 1).bytes()), 20), error(-12));
}

TEST_F(UsbIpServerTest, AClientThatDoesNotReadIsNotReadFrom) {
  import();
  IpSubmit wrong = bulk_in(1, 1);
  wrong.device = 5;
  const Bytes one = wrong.bytes();
  size_t sent = 0;
  for (int i = 0; i < 100'000; ++i) {
    const size_t size = server.receive(one);
    sent += size;
    if (size == 0) break;
  }
  EXPECT_LE(server.output().size(), UsbIpServer::kMaxOutput + 48);
  EXPECT_EQ(sent, server.output().size());
  server.consume(1000);
  EXPECT_EQ(server.receive(one), one.size());
}

// The header's word 8: 0xFFFFFFFF by the documentation of the protocol, 0 by Linux's drivers.
TEST_F(UsbIpServerTest, SaysThatATransferIsNotIsochronousAsTheClientDoes) {
  enumerate();
  ASSERT_TRUE(server.import_without_request());
  uint32_t sequence = 0;
  for (const uint32_t none : {0u, 0xFFFFFFFFu, 0u}) {
    IpSubmit submit = bulk_out(++sequence, {1, 2, 3});
    submit.packets = none;
    const Bytes reply = answer(submit.bytes());
    ASSERT_EQ(reply.size(), 48u);
    EXPECT_EQ(testing::get_be(reply, 32), none);
  }
}

TEST_F(UsbIpServerTest, BrokenProtocolIsASentence) {
  struct Case {
    Bytes bytes;
    const char* says;
    bool imported;
  };
  IpSubmit endpoint = bulk_in(1, 1);
  endpoint.endpoint = 16;
  IpSubmit isochronous = bulk_in(1, 1);
  isochronous.packets = 8;
  Bytes command = bulk_in(1, 1).bytes();
  command[3] = 9;
  const Case cases[] = {
      {{1, 0x10, 0x80, 5, 0, 0, 0, 0}, "version 0x0110", false},
      {{1, 0x11, 0x80, 9, 0, 0, 0, 0}, "unknown operation 0x8009", false},
      {endpoint.bytes(), "endpoint 16", true},
      {isochronous.bytes(), "isochronous", true},
      {command, "unknown command 0x00000009", true},
  };
  enumerate();
  for (const Case& c : cases) {
    if (c.imported) {
      ASSERT_TRUE(server.import_without_request());
    }
    server.receive(c.bytes);
    EXPECT_THAT(server.problem(), HasSubstr(c.says));
    EXPECT_EQ(server.receive(c.bytes), 0u);
    server.disconnect();
    EXPECT_EQ(server.problem(), "");
  }
}

TEST_F(UsbIpServerTest, AnySplitOfTheStreamGivesTheSameAnswers) {
  enumerate();
  Bytes stream = testing::ip_devlist();
  const auto add = [&stream](const Bytes& b) { stream.insert(stream.end(), b.begin(), b.end()); };
  add(testing::ip_import("1-1"));
  add(bulk_out(1, Bytes(50, 1)).bytes());
  add(bulk_in(2, 512).bytes());
  add(ip_unlink(3, 2));
  Bytes whole;
  for (size_t split = 0; split <= stream.size(); ++split) {
    const auto middle = stream.begin() + static_cast<std::ptrdiff_t>(split);
    give(Bytes(stream.begin(), middle));
    give(Bytes(middle, stream.end()));
    run(1000 * kUs);
    const Bytes answers = take();
    if (split == 0) whole = answers;
    EXPECT_EQ(answers, whole) << split;
    server.disconnect();
    run(10 * kUs);
  }
  // Two lists, two replies.
  EXPECT_EQ(whole.size(), 332u + 320 + 2 * 48);
}

TEST_F(UsbIpServerTest, LosingTheDeviceAnswersEveryTransfer) {
  import();
  give(bulk_in(1, 512).bytes());
  give(bulk_in(2, 512).bytes());
  device.pull_up = false;
  usb.connection_changed(now());
  run(1000 * kUs);
  const Bytes replies = take();
  ASSERT_EQ(replies.size(), 96u);
  EXPECT_EQ(get_be(replies, 20), error(-108));
  EXPECT_EQ(get_be(answer(bulk_in(3, 512).bytes()), 20), error(-108));
}

TEST_F(UsbIpServerTest, AServerThatGoesTakesItsTransfersAlong) {
  enumerate();
  {
    UsbIpServer other(usb, enumerator);
    ASSERT_TRUE(other.import_without_request());
    other.receive(bulk_in(1, 512).bytes());
    other.receive(bulk_out(2, Bytes(5000, 1)).bytes());
    run(5 * kUs);
  }
  send(Bytes(5, 1));
  run(1000 * kUs);
  EXPECT_EQ(device.ins[4].packets.size(), 1u);
}

}  // namespace
}  // namespace millrace::board
