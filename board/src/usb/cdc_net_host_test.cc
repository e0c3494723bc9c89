// SPDX-License-Identifier: Apache-2.0
#include "usb/cdc_net_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/link/ntb16.h"
#include "usb/testing/fake_net_device.h"
#include "usb/testing/usb_host_fixture.h"

namespace millrace::board {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct NoSerial final : UsbEnumerator::Listener {
  void device_ready(const UsbDeviceInfo&) override {}
  void device_gone() override {}
  void device_failed(const std::string&) override {}
};

class CdcNetTest : public testing::UsbHostFixture, public EthernetClient {
 protected:
  explicit CdcNetTest(bool is_ncm, const UsbHostProfile& profile = testing::quick_profile())
      : UsbHostFixture(profile),
        function(device, is_ncm),
        enumerator(usb, no_serial),
        net(usb, enumerator) {
    net.set_client(this);
  }
  void link_changed() override { ++link_changes; }
  void received(std::span<const uint8_t> frame, uint64_t ns) override {
    frames.emplace_back(frame.begin(), frame.end());
    frame_ns.push_back(ns);
  }
  void woken(uint64_t ns) override { woken_ns.push_back(ns); }

  void plug() {
    usb.plug_in();
    run(100'000 * kUs);
  }
  static Bytes frame(size_t size, unsigned first = 0) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>((first + i) % 251);
    return bytes;
  }
  // From the device, with a zero-length end behind whole packets.
  void transfer_in(const Bytes& bytes, bool has_end = true) {
    size_t at = 0;
    while (at < bytes.size()) {
      const size_t size = std::min<size_t>(512, bytes.size() - at);
      device.ins[4].packets.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                         bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
    }
    if (bytes.size() % 512 == 0 && has_end) device.ins[4].packets.emplace_back();
    usb.endpoint_changed(4, true, now());
  }
  // Blocks that arrived at the device, told apart by short packets; clears them.
  std::vector<Bytes> transfers_out() {
    std::vector<Bytes> list;
    testing::FakeUsbDevice::Out& out = device.outs[3];
    Bytes transfer;
    size_t at = 0;
    for (const size_t size : out.sizes) {
      transfer.insert(transfer.end(), out.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      out.bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
      at += size;
      if (size < 512) list.push_back(std::exchange(transfer, Bytes()));
    }
    if (!transfer.empty()) list.push_back(transfer);
    out.bytes.clear();
    out.sizes.clear();
    return list;
  }

  NoSerial no_serial;
  testing::FakeNetFunction function;
  UsbEnumerator enumerator;
  CdcNetHost net;
  std::vector<Bytes> frames;
  std::vector<uint64_t> frame_ns, woken_ns;
  unsigned link_changes = 0;
};

class CdcEcmTest : public CdcNetTest {
 protected:
  CdcEcmTest() : CdcNetTest(false) {}
  explicit CdcEcmTest(const UsbHostProfile& profile) : CdcNetTest(false, profile) {}
};

TEST_F(CdcEcmTest, SwitchesTheDataInterfaceOnAndSetsTheFilter) {
  plug();
  EXPECT_EQ(net.problem(), "");
  ASSERT_TRUE(net.is_configured());
  EXPECT_TRUE(net.has_carrier());  // until it says otherwise
  EXPECT_THAT(function.log, ElementsAre(0x101, link::kSetEthernetPacketFilter));
  EXPECT_EQ(function.packet_filter, 0x0E);  // directed, broadcast, all multicast
  EXPECT_EQ(net.info().kind, EthernetKind::ecm);
  EXPECT_EQ(to_string(net.info().mac), "02:00:00:12:34:56");
  EXPECT_EQ(net.info().mtu, 1500u);
  EXPECT_EQ(net.info().urb_bytes, 1514u);
  EXPECT_EQ(net.info().urbs, 60u);  // 60 * 1518 / 1514
  EXPECT_EQ(net.info().description, "16c0:0483 \"Fake device\", high speed");
  EXPECT_THAT(net.findings(), ElementsAre());
  EXPECT_THAT(enumerator.device().findings, ElementsAre());
}

TEST_F(CdcEcmTest, AFrameIsATransferEitherWay) {
  plug();
  for (const size_t size : {14, 60, 511, 513, 1514}) transfer_in(frame(size, 5));
  transfer_in(frame(1024));  // whole packets: ends with an empty one
  run(1000 * kUs);
  EXPECT_THAT(frames, ElementsAre(frame(14, 5), frame(60, 5), frame(511, 5), frame(513, 5),
                                  frame(1514, 5), frame(1024)));
  EXPECT_EQ(net.counts().frames_in, 6u);
  EXPECT_EQ(net.counts().bytes_in, 14u + 60 + 511 + 513 + 1514 + 1024);
  EXPECT_TRUE(net.send(frame(60)));
  EXPECT_TRUE(net.send(frame(1514, 9)));
  run(1000 * kUs);
  EXPECT_THAT(transfers_out(), ElementsAre(frame(60), frame(1514, 9)));
  EXPECT_EQ(net.counts().frames_out, 2u);
}

TEST_F(CdcEcmTest, FramesArriveInOrderOfTimeOfTheBus) {
  plug();
  const uint64_t before = usb.ns();
  transfer_in(frame(60));
  transfer_in(frame(60));
  run(1000 * kUs);
  ASSERT_EQ(frame_ns.size(), 2u);
  // An IN transaction of 60 bytes takes at least 55 + 60 byte times of 1/60 us (USB 2.0 5.8.4).
  EXPECT_GE(frame_ns[1] - frame_ns[0], (55 + 60) * 1000 / 60);
  EXPECT_LT(frame_ns[1], before + 125'000);
  EXPECT_GE(frame_ns[0], before);
}

TEST_F(CdcEcmTest, AFrameOfWholePacketsGetsAByteMoreAsLinuxDoes) {
  plug();
  ASSERT_TRUE(net.send(frame(1024)));
  run(1000 * kUs);
  Bytes padded = frame(1024);
  padded.push_back(0);
  EXPECT_THAT(transfers_out(), ElementsAre(padded));
}

TEST_F(CdcEcmTest, OrAZeroLengthPacketIfTheProfileSaysSo) {
  UsbHostProfile profile = testing::quick_profile();
  profile.ecm_ends_with_zlp = 1;
  class Zlp : public CdcEcmTest {
   public:
    explicit Zlp(const UsbHostProfile& p) : CdcEcmTest(p) {}
    void TestBody() override {
      plug();
      ASSERT_TRUE(net.send(frame(1024)));
      run(1000 * kUs);
      EXPECT_THAT(device.outs[3].sizes, ElementsAre(512u, 512u, 0u));
    }
  };
  Zlp(profile).TestBody();
}

TEST_F(CdcEcmTest, TooShortAndTooLongFramesAreRefused) {
  plug();
  EXPECT_FALSE(net.send(frame(13)));
  EXPECT_FALSE(net.send(frame(1515)));
  EXPECT_EQ(net.counts().dropped_out, 2u);
  transfer_in(frame(13));
  run(1000 * kUs);
  EXPECT_EQ(net.counts().bad_in, 1u);
  EXPECT_TRUE(frames.empty());
}

TEST_F(CdcEcmTest, NoFrameBeforeItIsConfigured) {
  EXPECT_FALSE(net.send(frame(60)));
  EXPECT_FALSE(net.has_carrier());
}

TEST_F(CdcEcmTest, ADeviceThatTakesNothingFillsSixtyTransfersAndTheQueue) {
  device.outs[3].room = 0;
  plug();
  unsigned taken = 0;
  while (net.send(frame(100))) ++taken;
  EXPECT_EQ(taken, 60u + 1000);  // net_queue_frames
  EXPECT_EQ(net.queued(), 1000u);
  device.outs[3].room = SIZE_MAX;
  usb.endpoint_changed(3, false, now());
  run(20'000 * kUs);
  EXPECT_EQ(net.queued(), 0u);
  EXPECT_EQ(transfers_out().size(), 1060u);
}

TEST_F(CdcEcmTest, ALostCarrierStopsBothDirections) {
  plug();
  function.notify_connection(false);
  run(10'000 * kUs);
  EXPECT_FALSE(net.has_carrier());
  EXPECT_EQ(net.counts().notifications, 1u);
  EXPECT_FALSE(net.send(frame(60)));
  const unsigned naks = device.ins[4].naks;
  transfer_in(frame(60));
  run(10'000 * kUs);
  EXPECT_EQ(device.ins[4].naks, naks);  // nobody asks
  EXPECT_TRUE(frames.empty());
  function.notify_connection(true);
  run(10'000 * kUs);
  EXPECT_TRUE(net.has_carrier());
  EXPECT_EQ(frames.size(), 1u);
}

TEST_F(CdcEcmTest, StallsAreClearedInBothDirections) {
  plug();
  device.ins[4].stalled = device.outs[3].stalled = true;
  usb.endpoint_changed(4, true, now());
  net.send(frame(60));
  net.send(frame(61));
  run(5000 * kUs);
  EXPECT_EQ(net.counts().stalls, 2u);
  transfer_in(frame(70));
  run(5000 * kUs);
  EXPECT_THAT(frames, ElementsAre(frame(70)));
  // The one that was refused is lost, as in Linux.
  EXPECT_THAT(transfers_out(), ElementsAre(frame(61)));
}

TEST_F(CdcEcmTest, MoreThanAFrameIsAnErrorAndTheNextOneComes) {
  plug();
  transfer_in(frame(2048));
  transfer_in(frame(60));
  run(5000 * kUs);
  EXPECT_GE(net.counts().errors, 1u);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back(), frame(60));
}

TEST_F(CdcEcmTest, AReplugBeginsAnew) {
  plug();
  net.send(frame(60));
  usb.unplug();
  run(1000 * kUs);
  EXPECT_FALSE(net.is_configured());
  EXPECT_EQ(net.problem(), "the device was disconnected");
  function.log.clear();
  plug();
  EXPECT_TRUE(net.has_carrier());
  EXPECT_EQ(net.problem(), "");
  EXPECT_THAT(function.log, ElementsAre(0x101, link::kSetEthernetPacketFilter));
  transfers_out();
  net.send(frame(99));
  transfer_in(frame(60));
  run(1000 * kUs);
  EXPECT_THAT(transfers_out(), ElementsAre(frame(99)));
  EXPECT_EQ(frames.size(), 1u);
}

TEST_F(CdcEcmTest, AtFullSpeedFourTransfersArePending) {
  usb.set_offered_speed(UsbSpeed::full);
  plug();
  ASSERT_TRUE(net.is_configured());
  EXPECT_EQ(net.info().urbs, 4u);
  EXPECT_EQ(net.info().out_urbs, 4u);
  EXPECT_THAT(net.info().description, HasSubstr("full speed"));
  net.send(frame(128));
  run(5000 * kUs);
  EXPECT_THAT(device.outs[3].sizes, ElementsAre(64u, 64u, 1u));
}

TEST_F(CdcEcmTest, AMacAddressThatIsNoneIsASentence) {
  device.strings[testing::kMacString] = testing::string_descriptor("0200001234");
  plug();
  EXPECT_FALSE(net.is_configured());
  EXPECT_TRUE(net.is_offered());
  EXPECT_THAT(net.problem(), HasSubstr("CDC-ECM function: string 4 is no MAC address"));
  usb.unplug();
  device.strings.erase(testing::kMacString);
  plug();
  EXPECT_THAT(net.problem(), HasSubstr("the device refuses it (STALL)"));
  usb.unplug();
  device.strings[testing::kMacString] = testing::string_descriptor("02000012abcd");
  plug();
  EXPECT_TRUE(net.is_configured());
  EXPECT_THAT(net.findings(), ElementsAre(HasSubstr("has lower-case digits")));
}

TEST_F(CdcEcmTest, AFilterThatIsRefusedDoesNotMatter) {
  function.refused = link::kSetEthernetPacketFilter;
  plug();
  EXPECT_TRUE(net.has_carrier());
}

TEST_F(CdcEcmTest, ADeviceWithoutNetworkIsASentence) {
  device.configuration = testing::cdc_configuration();
  plug();
  EXPECT_FALSE(net.is_configured());
  EXPECT_FALSE(net.is_offered());
  EXPECT_THAT(net.problem(), HasSubstr("16c0:0483 has no CDC-ECM or CDC-NCM function"));
}

TEST_F(CdcEcmTest, WakesWhenAsked) {
  const uint64_t start = usb.ns();
  net.wake_at(start + 50'000);
  net.wake_at(start + 20'000);
  run(100 * kUs);
  ASSERT_EQ(woken_ns.size(), 1u);
  EXPECT_GE(woken_ns[0], start + 20'000);
  EXPECT_LE(woken_ns[0], start + 20'034);  // two ticks of 60 MHz
  net.wake_at(usb.ns() + 1000);
  net.wake_at(UINT64_MAX);
  run(100 * kUs);
  EXPECT_EQ(woken_ns.size(), 1u);
}

class CdcNcmTest : public CdcNetTest {
 protected:
  explicit CdcNcmTest(const UsbHostProfile& profile = testing::quick_profile())
      : CdcNetTest(true, profile) {}
  void connect() {
    plug();
    function.notify_connection(true);
    run(10'000 * kUs);
    ASSERT_TRUE(net.has_carrier()) << net.problem();
  }
  static Bytes block_of(const std::vector<Bytes>& datagrams, uint16_t sequence) {
    Bytes block(16384);
    link::Ntb16Writer writer;
    writer.begin(block.data(), block.size(), {.max_bytes = block.size()});
    for (const Bytes& d : datagrams) EXPECT_TRUE(writer.append(d.data(), d.size()));
    block.resize(writer.finish(sequence));
    return block;
  }
  static std::vector<Bytes> datagrams_of(const Bytes& block) {
    std::vector<Bytes> list;
    link::Ntb16Reader reader(block.data(), block.size());
    link::NtbDatagram d;
    link::NtbStatus status = reader.next(&d);
    for (; status == link::NtbStatus::datagram; status = reader.next(&d)) {
      list.emplace_back(block.begin() + static_cast<std::ptrdiff_t>(d.offset),
                        block.begin() + static_cast<std::ptrdiff_t>(d.offset + d.length));
    }
    EXPECT_EQ(status, link::NtbStatus::end) << link::describe(status);
    EXPECT_EQ(reader.block_bytes(), block.size());
    return list;
  }
};

TEST_F(CdcNcmTest, NegotiatesInTheOrderOfLinux) {
  function.parameters.in_max_bytes = 65536;
  function.parameters.formats = 3;
  plug();
  ASSERT_TRUE(net.is_configured()) << net.problem();
  EXPECT_FALSE(net.has_carrier());  // until it says so
  EXPECT_THAT(function.log,
              ElementsAre(0x101, 0x100, link::kGetNtbParameters, link::kSetNtbFormat, 0x101,
                          link::kSetNtbInputSize, link::kSetEthernetPacketFilter));
  EXPECT_EQ(function.ntb_in, 16384u);
  EXPECT_EQ(net.info().ntb_in, 16384u);
  EXPECT_EQ(net.info().urbs, 5u);  // 60 * 1518 / 16384
  EXPECT_EQ(net.info().ntb_out, 8192u);
  EXPECT_EQ(net.info().out_urbs, 11u);
  EXPECT_THAT(net.findings(), ElementsAre());
  EXPECT_THAT(enumerator.device().findings, ElementsAre());
}

TEST_F(CdcNcmTest, ASizeThatTheDeviceOffersIsNotAskedFor) {
  connect();
  EXPECT_THAT(function.log, ElementsAre(0x101, 0x100, link::kGetNtbParameters, 0x101,
                                        link::kSetEthernetPacketFilter));
  EXPECT_EQ(net.info().ntb_in, 8192u);
}

TEST_F(CdcNcmTest, TakesEveryDatagramOfABlock) {
  connect();
  transfer_in(block_of({frame(14), frame(60, 1), frame(1514, 2)}, 0));
  transfer_in(block_of({frame(77)}, 1));
  run(1000 * kUs);
  EXPECT_THAT(frames, ElementsAre(frame(14), frame(60, 1), frame(1514, 2), frame(77)));
  EXPECT_EQ(net.counts().transfers_in, 2u);
  EXPECT_EQ(net.counts().bad_in, 0u);
  EXPECT_EQ(net.counts().sequence_gaps, 0u);
}

TEST_F(CdcNcmTest, BlocksThatAreWrongAndGapsAreCounted) {
  connect();
  transfer_in(frame(100));
  transfer_in(block_of({frame(60)}, 4));
  transfer_in(block_of({frame(60)}, 6));
  run(1000 * kUs);
  EXPECT_EQ(net.counts().bad_in, 1u);
  EXPECT_EQ(net.counts().sequence_gaps, 1u);
  EXPECT_EQ(frames.size(), 2u);
}

TEST_F(CdcNcmTest, ALoneFrameLeavesAfterThreePeriodsOfTheTimer) {
  connect();
  transfers_out();
  const Cycles start = now();
  net.send(frame(60));
  while (device.outs[3].bytes.empty() && now() - start < 10'000 * kUs) run(kUs);
  EXPECT_NEAR(static_cast<double>(now() - start) / kUs, 3 * 400, 5);
  run(100 * kUs);
  const std::vector<Bytes> blocks = transfers_out();
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_THAT(datagrams_of(blocks[0]), ElementsAre(frame(60)));
  // Header, table with room for 40 datagrams and the end, the payload at a multiple of 4.
  EXPECT_EQ(blocks[0].size(), 12u + 8 + 41 * 4 + (-14 & 3) + 60);
}

TEST_F(CdcNcmTest, FramesThatComeTogetherGoTogether) {
  connect();
  std::vector<Bytes> sent;
  for (unsigned i = 0; i < 4; ++i) {
    sent.push_back(frame(64 + i, i));
    EXPECT_TRUE(net.send(sent.back()));
    run(100 * kUs);
  }
  EXPECT_EQ(net.queued(), 4u);
  run(2000 * kUs);
  const std::vector<Bytes> blocks = transfers_out();
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(datagrams_of(blocks[0]), sent);
  EXPECT_EQ(net.counts().frames_out, 4u);
  EXPECT_EQ(net.counts().transfers_out, 1u);
}

TEST_F(CdcNcmTest, FortyFramesGoAtOnce) {
  connect();
  transfers_out();
  for (unsigned i = 0; i < 40; ++i) net.send(frame(60, i));
  run(100 * kUs);
  const std::vector<Bytes> blocks = transfers_out();
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(datagrams_of(blocks[0]).size(), 40u);
  EXPECT_EQ(net.queued(), 0u);
}

TEST_F(CdcNcmTest, ABlockThatIsNearlyFullIsFilledUp) {
  connect();
  transfers_out();
  // Five frames of 1514 bytes take 186 + 5 * 1516 of 8192; a sixth does not fit.
  for (unsigned i = 0; i < 6; ++i) net.send(frame(1514, i));
  run(1000 * kUs);
  std::vector<Bytes> blocks = transfers_out();
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].size(), 8192u);
  EXPECT_EQ(datagrams_of(blocks[0]).size(), 5u);
  run(2000 * kUs);
  blocks = transfers_out();
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_THAT(datagrams_of(blocks[0]), ElementsAre(frame(1514, 5)));
}

TEST_F(CdcNcmTest, WithoutATimerEveryFrameGoesAlone) {
  UsbHostProfile profile = testing::quick_profile();
  profile.ncm_timer_us = 0;
  class NoTimer : public CdcNcmTest {
   public:
    explicit NoTimer(const UsbHostProfile& p) : CdcNcmTest(p) {}
    void TestBody() override {
      connect();
      for (unsigned i = 0; i < 3; ++i) net.send(frame(60, i));
      run(100 * kUs);
      EXPECT_EQ(transfers_out().size(), 3u);
    }
  };
  NoTimer(profile).TestBody();
}

TEST_F(CdcNcmTest, ParametersThatMakeNoSenseAreFindings) {
  function.parameters.in_max_bytes = 100;
  function.parameters.out_max_bytes = 1000;
  function.parameters.out_divisor = 3;
  function.parameters.out_payload_remainder = 7;
  function.parameters.in_ndp_alignment = 0;
  connect();
  EXPECT_THAT(net.findings(),
              ElementsAre(HasSubstr("dwNtbInMaxSize is 100, must be at least 2048"),
                          HasSubstr("dwNtbOutMaxSize is 1000, must be at least 2048"),
                          HasSubstr("wNdpInAlignment is 0, must be a power of two"),
                          HasSubstr("wNdpOutPayloadRemainder is 7, must be less than")));
  EXPECT_TRUE(net.send(frame(1514)));  // goes nowhere: no block of 1000 bytes holds it
  EXPECT_TRUE(net.send(frame(60)));
  run(3000 * kUs);
  EXPECT_EQ(net.counts().dropped_out, 1u);
  EXPECT_EQ(transfers_out().size(), 1u);
}

TEST_F(CdcNcmTest, WhatCannotBeUsedIsASentence) {
  function.parameter_bytes = Bytes(27);
  plug();
  EXPECT_EQ(net.problem(), "CDC-NCM function: GET_NTB_PARAMETERS: 27 bytes came, 28 are needed");
  usb.unplug();
  function.parameter_bytes.reset();
  function.refused = 11;
  plug();
  EXPECT_EQ(net.problem(), "CDC-NCM function: SET_INTERFACE(1, 0): the device refuses it (STALL)");
}

TEST_F(CdcNcmTest, UnpluggedWhileItIsSetUpItStaysSilent) {
  usb.plug_in();
  for (unsigned i = 0; i < 400; ++i) {
    run(100 * kUs);
    if (function.setting == 0 && !function.log.empty()) break;
  }
  usb.unplug();
  run(50'000 * kUs);
  EXPECT_FALSE(net.is_configured());
  plug();
  EXPECT_TRUE(net.is_configured());
}

}  // namespace
}  // namespace millrace::board
