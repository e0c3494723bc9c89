// SPDX-License-Identifier: Apache-2.0
// Transfers: each rule with its section of IMXRT1060RM chapter 42. What the tests expect comes from
// the manual's tables and from arithmetic shown here.
#include "usb/usb_endpoints.h"

#include "usb/testing/usb_otg_fixture.h"

namespace millrace::board {
namespace {

using Sizes = std::vector<unsigned>;

class UsbTransferTest : public testing::UsbOtgFixture {
 protected:
  void SetUp() override { start(); }
  uint32_t token(unsigned number) { return word(td_at(number) + 4); }
  uint32_t remaining(unsigned number) { return token(number) >> 16; }
  bool active(unsigned number) { return (token(number) & usb::kTokenActive) != 0; }
};

// 42.7 ENDPTPRIME: the bit clears, and ENDPTSTAT sets, when the endpoint is primed.
TEST_F(UsbTransferTest, PrimeTakesTimeThenSetsStat) {
  configure_bulk();
  td(0, 512);
  prime(5, 0);
  EXPECT_EQ(get(usb::kEndptPrime), mask(5));
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  EXPECT_EQ(in(2), Handshake::nak);
  EXPECT_EQ(otg.ready_at(2, true, now()), now() + timing.usb_prime_cycles);
  run(timing.usb_prime_cycles - 1);
  EXPECT_EQ(get(usb::kEndptPrime), mask(5));
  run(1);
  EXPECT_EQ(get(usb::kEndptPrime), 0u);
  EXPECT_EQ(get(usb::kEndptStat), mask(5));
  EXPECT_EQ(cable.take(), "in2 ");
  EXPECT_EQ(in(2), Handshake::ack);
}

// 42.5.5.1: the descriptor is copied to the queue head's overlay.
TEST_F(UsbTransferTest, PrimeFillsTheOverlay) {
  configure_bulk();
  td(3, 512, kData + 0x123);
  queue(5, 3);
  const uint32_t head = kList + 5 * 64;
  EXPECT_EQ(word(head + 4), td_at(3));
  for (uint32_t i = 0; i < 28; i += 4) EXPECT_EQ(word(head + 8 + i), word(td_at(3) + i)) << i;
}

// Table "Variable length transfer protocol example (ZLT = 0)" of 42.5.6.3: INT(n / packet) + 1.
TEST_F(UsbTransferTest, ZltZeroEndsWithAShortPacket) {
  const struct {
    uint32_t bytes, packet;
    Sizes sizes;
  } rows[] = {
      {511, 256, {256, 255}}, {512, 256, {256, 256, 0}},
      {512, 512, {512, 0}},   {2048, 512, {512, 512, 512, 512, 0}},
      {0, 512, {0}},          {1, 512, {1}},
  };
  for (const auto& row : rows) {
    configure_bulk(0, row.packet);
    td(0, row.bytes);
    queue(5, 0);
    EXPECT_EQ(drain(2), row.sizes) << row.bytes << "/" << row.packet;
    EXPECT_FALSE(active(0));
    EXPECT_EQ(remaining(0), 0u);
  }
}

// The same with ZLT = 1: MAXINT(n / packet).
TEST_F(UsbTransferTest, ZltOneEndsWithTheLastByte) {
  const struct {
    uint32_t bytes, packet;
    Sizes sizes;
  } rows[] = {
      {511, 256, {256, 255}}, {512, 256, {256, 256}}, {512, 512, {512}},
      {0, 512, {0}},          {513, 512, {512, 1}},
  };
  for (const auto& row : rows) {
    configure_bulk(kZlt, row.packet);
    td(0, row.bytes);
    queue(5, 0);
    EXPECT_EQ(drain(2), row.sizes) << row.bytes << "/" << row.packet;
  }
}

// 42.5.5.2: the current offset is in page pointer 0; the low 12 bits of the others do not count.
TEST_F(UsbTransferTest, DataFollowsThePagePointers) {
  configure_bulk();
  for (uint32_t i = 0; i < testing::kMemoryBytes - 0x2000; ++i) {
    host.memory[0x2000 + i] = static_cast<uint8_t>(i ^ i >> 8);
  }
  const uint32_t buffer = kData + 0xF10;  // 0xF0 bytes to the end of its page
  td(0, 1024, buffer);
  set_word(td_at(0) + 12, kData + 0x5ABC);  // page 1 is elsewhere
  queue(5, 0);
  std::vector<uint8_t> got;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(in(2), Handshake::ack);
    got.insert(got.end(), packet.bytes.begin(), packet.bytes.begin() + packet.size);
  }
  ASSERT_EQ(got.size(), 1024u);
  for (uint32_t i = 0; i < 1024; ++i) {
    const uint32_t at = i < 0xF0 ? 0x2F10 + i : 0x7000 + i - 0xF0;
    ASSERT_EQ(got[i], host.memory[at]) << i;
  }
}

// 20 KB is what five pages hold if the first offset is 0; a byte more is a buffer error.
TEST_F(UsbTransferTest, FivePagesAreTheMost) {
  configure_bulk();
  td(0, 20480);
  queue(5, 0);
  EXPECT_EQ(drain(2).size(), 40u);  // 40 * 512
  td(1, 20480, kData + 1);
  queue(5, 1);
  for (int i = 0; i < 39; ++i) ASSERT_EQ(in(2), Handshake::ack);
  EXPECT_EQ(in(2), Handshake::timeout);
  EXPECT_EQ(token(1) & 0xFF, usb::kTokenHalted | usb::kTokenBufferError);
  EXPECT_NE(get(usb::kUsbSts) & usb::kUei, 0u);
}

// 42.5.6.3: packet-level errors are retried by the hardware.
TEST_F(UsbTransferTest, LostAcknowledgementSendsTheSamePacketAgain) {
  configure_bulk();
  td(0, 1024);
  queue(5, 0);
  host.memory[0x2000] = 1;
  host.memory[0x2200] = 2;
  EXPECT_EQ(in(2, false), Handshake::ack);
  EXPECT_FALSE(packet.data1);
  EXPECT_EQ(in(2), Handshake::ack);
  EXPECT_FALSE(packet.data1);
  EXPECT_EQ(packet.bytes[0], 1);
  EXPECT_EQ(in(2), Handshake::ack);
  EXPECT_TRUE(packet.data1);
  EXPECT_EQ(packet.bytes[0], 2);
}

// 42.5.6.6.4: UI and ENDPTCOMPLETE with IOC; without, only memory and ENDPTSTAT tell.
TEST_F(UsbTransferTest, CompletionIsToldIfIocIsSet) {
  configure_bulk();
  td(0, 100, kData, kEnd, 0);
  queue(5, 0);
  EXPECT_EQ(drain(2), Sizes{100});
  EXPECT_FALSE(active(0));
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  EXPECT_EQ(get(usb::kEndptComplete), 0u);
  EXPECT_EQ(get(usb::kUsbSts) & usb::kUi, 0u);
  td(1, 100);
  queue(5, 1);
  EXPECT_EQ(drain(2), Sizes{100});
  EXPECT_EQ(get(usb::kEndptComplete), mask(5));
  EXPECT_EQ(get(usb::kUsbSts) & usb::kUi, usb::kUi);
  put(usb::kEndptComplete, mask(5));
  EXPECT_EQ(get(usb::kEndptComplete), 0u);
  // The token is in the descriptor and in the overlay: 0 bytes left, IOC kept, not active.
  EXPECT_EQ(token(1), kIoc);
  EXPECT_EQ(word(kList + 5 * 64 + usb::kQhToken), kIoc);
}

// 42.5.6.3: the next pointer is followed when the terminate bit is clear.
TEST_F(UsbTransferTest, ListsAreFollowedToTheirEnd) {
  configure_bulk(0);
  for (unsigned i = 0; i < 4; ++i) td(i, 2048, kData + 2048 * i, i == 3 ? kEnd : td_at(i + 1), 0);
  queue(5, 0);
  // Each full descriptor of 2048 bytes with ZLT 0 is 4 packets and an empty one.
  Sizes expected;
  for (int i = 0; i < 4; ++i) expected.insert(expected.end(), {512, 512, 512, 512, 0});
  EXPECT_EQ(drain(2), expected);
  for (unsigned i = 0; i < 4; ++i) EXPECT_FALSE(active(i)) << i;
}

// 42.5.6.3: the next descriptor is fetched behind the last byte of this one.
TEST_F(UsbTransferTest, NextDescriptorTakesAFetch) {
  configure_bulk();
  td(0, 512, kData, td_at(1));
  td(1, 512);
  queue(5, 0);
  EXPECT_EQ(in(2), Handshake::ack);
  // Momentarily set by hardware during re-priming (42.7 ENDPTPRIME).
  EXPECT_EQ(get(usb::kEndptPrime), mask(5));
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  EXPECT_EQ(in(2), Handshake::nak);
  EXPECT_EQ(otg.ready_at(2, true, now()), now() + timing.usb_dtd_fetch_cycles);
  run(timing.usb_dtd_fetch_cycles);
  EXPECT_EQ(get(usb::kEndptPrime), 0u);
  EXPECT_EQ(get(usb::kEndptStat), mask(5));
  EXPECT_EQ(in(2), Handshake::ack);
}

// 42.5.6.6.3, case 2: a descriptor added to a primed list is found when the last is retired.
TEST_F(UsbTransferTest, DescriptorAddedWhilePrimedIsTaken) {
  configure_bulk();
  td(0, 512);
  queue(5, 0);
  td(1, 512);
  set_word(td_at(0), td_at(1));
  put(usb::kUsbCmd, get(usb::kUsbCmd) | usb::kAtdtw);
  EXPECT_EQ(get(usb::kEndptStat), mask(5));
  EXPECT_NE(get(usb::kUsbCmd) & usb::kAtdtw, 0u);
  EXPECT_EQ(drain(2), (Sizes{512, 512}));
}

// The same: ATDTW is cleared where the hardware may not see what is added.
TEST_F(UsbTransferTest, AddTripwireIsClearedInTheHazard) {
  configure_bulk();
  td(0, 512);
  queue(5, 0);
  put(usb::kUsbCmd, get(usb::kUsbCmd) | usb::kAtdtw);
  EXPECT_EQ(in(2), Handshake::ack);  // the last descriptor: ENDPTSTAT will go
  EXPECT_EQ(get(usb::kUsbCmd) & usb::kAtdtw, 0u);
  EXPECT_EQ(get(usb::kEndptStat), mask(5));
  put(usb::kUsbCmd, get(usb::kUsbCmd) | usb::kAtdtw);
  EXPECT_EQ(get(usb::kUsbCmd) & usb::kAtdtw, 0u);
  run(timing.usb_retire_cycles);
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  put(usb::kUsbCmd, get(usb::kUsbCmd) | usb::kAtdtw);
  EXPECT_NE(get(usb::kUsbCmd) & usb::kAtdtw, 0u);
}

// As the Teensy core appends: at every time around the end of the list nothing is lost.
TEST_F(UsbTransferTest, TripwireLosesNothingAtAnyTime) {
  for (Cycles delay = 0; delay < 2 * timing.usb_retire_cycles; ++delay) {
    configure_bulk();
    td(0, 512);
    td(1, 512);
    queue(5, 0);
    ASSERT_EQ(in(2), Handshake::ack);
    run(delay);
    set_word(td_at(0), td_at(1));
    if ((get(usb::kEndptPrime) & mask(5)) == 0) {
      uint32_t stat = 0;
      do {
        put(usb::kUsbCmd, get(usb::kUsbCmd) | usb::kAtdtw);
        stat = get(usb::kEndptStat);
        run(20);
      } while ((get(usb::kUsbCmd) & usb::kAtdtw) == 0);
      if ((stat & mask(5)) == 0) prime(5, 1);
    }
    run(timing.usb_prime_cycles);
    ASSERT_EQ(drain(2), Sizes{512}) << delay;
  }
}

// 42.7 ENDPTPRIME while the list ends: the prime is done once its last descriptor is retired.
TEST_F(UsbTransferTest, PrimeWhileTheListClosesIsDoneAfterwards) {
  configure_bulk();
  td(0, 512);
  td(1, 512);
  queue(5, 0);
  ASSERT_EQ(in(2), Handshake::ack);
  prime(5, 1);
  EXPECT_EQ(get(usb::kEndptPrime), mask(5));
  EXPECT_EQ(otg.ready_at(2, true, now()),
            now() + timing.usb_retire_cycles + timing.usb_prime_cycles);
  EXPECT_EQ(drain(2), Sizes{512});
}

// 42.5.6.3: a short packet completes the descriptor; the bytes that did not come stay in the token.
TEST_F(UsbTransferTest, ShortPacketRetiresAReceiveDescriptor) {
  configure_bulk();
  td(0, 2048, kData, td_at(1), 0);
  td(1, 512, kData + 2048);
  queue(4, 0);
  EXPECT_EQ(out(2, false, 512, 1), Handshake::ack);
  EXPECT_EQ(out(2, true, 100, 2), Handshake::nyet);
  EXPECT_FALSE(active(0));
  EXPECT_EQ(remaining(0), 2048u - 612);
  EXPECT_EQ(host.memory[0x2000], 1);
  EXPECT_EQ(host.memory[0x2200], 2);
  // USBSTS.UI is set when a short packet is detected, without IOC too.
  EXPECT_EQ(get(usb::kEndptComplete), mask(4));
  EXPECT_NE(get(usb::kUsbSts) & usb::kUi, 0u);
  run(timing.usb_dtd_fetch_cycles);
  EXPECT_EQ(out(2, false, 512), Handshake::nyet);
  EXPECT_EQ(remaining(1), 0u);
}

// Note of the response matrix 42.5.6.3.4: NYET unless the descriptor has packets remaining.
TEST_F(UsbTransferTest, NyetTellsThatTheDescriptorIsFull) {
  configure_bulk();
  td(0, 1024);
  queue(4, 0);
  EXPECT_EQ(otg.ping(0, 2, now()), Handshake::ack);
  EXPECT_EQ(out(2, false, 512), Handshake::ack);
  EXPECT_EQ(out(2, true, 512), Handshake::nyet);
  EXPECT_EQ(otg.ping(0, 2, now()), Handshake::nak);
  EXPECT_EQ(out(2, false, 512), Handshake::nak);
}

// USB 2.0 8.5.1: NYET and PING are of high speed.
TEST_F(UsbTransferTest, FullSpeedKnowsNoNyet) {
  otg.reset_begin(now());
  otg.reset_end(UsbSpeed::full, now());
  configure_bulk(kZlt, 64);
  td(0, 64);
  queue(4, 0);
  EXPECT_EQ(out(2, false, 64), Handshake::ack);
}

// USB 2.0 8.6.4: a repeated packet is acknowledged and dropped.
TEST_F(UsbTransferTest, RepeatedToggleIsDropped) {
  configure_bulk();
  td(0, 2048);
  queue(4, 0);
  EXPECT_EQ(out(2, false, 512, 1), Handshake::ack);
  EXPECT_EQ(out(2, false, 512, 99), Handshake::ack);
  EXPECT_EQ(host.memory[0x2200], 0);
  EXPECT_EQ(out(2, true, 512, 2), Handshake::ack);
  EXPECT_EQ(host.memory[0x2200], 2);
}

// 42.7 ENDPTCTRL: RXR and TXR reset the data PID; they read 0.
TEST_F(UsbTransferTest, ToggleResetStartsAtData0) {
  configure_bulk();
  td(0, 1024);
  queue(5, 0);
  EXPECT_EQ(in(2), Handshake::ack);
  put(usb::kEndptCtrl0 + 8, 0x00C800C8);
  EXPECT_EQ(get(usb::kEndptCtrl0 + 8), 0x00880088u);
  EXPECT_EQ(in(2), Handshake::ack);
  EXPECT_FALSE(packet.data1);
}

// 42.5.6.3 and 42.5.6.7.6: too many bytes are a buffer error; the queue head halts.
TEST_F(UsbTransferTest, OverlongPacketHaltsTheEndpoint) {
  configure_bulk();
  td(0, 100, kData, td_at(1));
  td(1, 512);
  queue(4, 0);
  EXPECT_EQ(out(2, false, 101), Handshake::nak);
  EXPECT_EQ(token(0), 100u << 16 | kIoc | usb::kTokenHalted | usb::kTokenBufferError);
  EXPECT_EQ(word(kList + 4 * 64 + usb::kQhToken), token(0));
  EXPECT_EQ(word(kList + 4 * 64 + usb::kQhCurrent), td_at(0));
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  EXPECT_EQ(get(usb::kEndptComplete), mask(4));
  EXPECT_EQ(get(usb::kUsbSts) & 3, usb::kUi | usb::kUei);
  EXPECT_TRUE(active(1));
  // Halted: a prime that does not clear the bit fails.
  put(usb::kEndptPrime, mask(4));
  run(timing.usb_prime_cycles);
  EXPECT_EQ(get(usb::kEndptPrime) | get(usb::kEndptStat), 0u);
  queue(4, 1);
  EXPECT_EQ(out(2, false, 512), Handshake::nyet);
}

// 42.5.6.7.6: a packet above the maximum of the queue head.
TEST_F(UsbTransferTest, PacketLongerThanTheMaximumIsAnError) {
  configure_bulk(kZlt, 64);
  td(0, 512);
  queue(4, 0);
  EXPECT_EQ(out(2, false, 65), Handshake::nak);
  EXPECT_EQ(token(0) & 0xFF, usb::kTokenHalted | usb::kTokenBufferError);
}

// Table of the response matrix: STALL wins over everything but a disabled endpoint.
TEST_F(UsbTransferTest, StallAnswersUntilItIsCleared) {
  configure_bulk();
  td(0, 512);
  queue(4, 0);
  put(usb::kEndptCtrl0 + 8, 0x00890089);
  EXPECT_EQ(cable.take(), "out2 out2 in2 ");  // primed, then stalled
  EXPECT_EQ(in(2), Handshake::stall);
  EXPECT_EQ(out(2, false, 512), Handshake::stall);
  EXPECT_EQ(otg.ping(0, 2, now()), Handshake::stall);
  EXPECT_EQ(setup({}, 2), Handshake::timeout);  // SETUP to a bulk endpoint is ignored
  put(usb::kEndptCtrl0 + 8, 0x00880088);
  EXPECT_EQ(in(2), Handshake::nak);
  EXPECT_EQ(out(2, false, 512), Handshake::nyet);
}

// 42.7 ENDPTCTRL.RXE, TXE; response matrix 42.5.6.3.4.
TEST_F(UsbTransferTest, DisabledEndpointDoesNotAnswer) {
  EXPECT_EQ(in(3), Handshake::timeout);
  EXPECT_EQ(out(3, false, 1), Handshake::timeout);
  EXPECT_EQ(otg.ping(0, 3, now()), Handshake::timeout);
  EXPECT_EQ(setup({}, 3), Handshake::timeout);
  EXPECT_EQ(in(8), Handshake::timeout);
}

// 42.7 ENDPTNAK, ENDPTNAKEN, USBSTS.NAKI.
TEST_F(UsbTransferTest, NaksAreCountedByBitAndInterrupt) {
  configure_bulk();
  put(usb::kUsbIntr, usb::kNaki);
  put(usb::kEndptNakEn, mask(4));
  EXPECT_EQ(in(2), Handshake::nak);
  EXPECT_EQ(get(usb::kEndptNak), mask(5));
  EXPECT_FALSE(host.lines[113]);
  EXPECT_EQ(otg.ping(0, 2, now()), Handshake::nak);
  EXPECT_EQ(get(usb::kEndptNak), mask(5) | mask(4));
  EXPECT_NE(get(usb::kUsbSts) & usb::kNaki, 0u);
  EXPECT_TRUE(host.lines[113]);
  put(usb::kUsbSts, usb::kNaki);  // read-only
  EXPECT_TRUE(host.lines[113]);
  put(usb::kEndptNak, mask(4));
  EXPECT_EQ(get(usb::kUsbSts) & usb::kNaki, 0u);
  EXPECT_FALSE(host.lines[113]);
}

// 42.5.6.6.5: flushing cancels what is primed.
TEST_F(UsbTransferTest, FlushDeprimes) {
  configure_bulk();
  td(0, 512);
  queue(5, 0);
  prime(4, 0);
  put(usb::kEndptFlush, mask(5) | mask(4));
  EXPECT_EQ(get(usb::kEndptFlush), 0u);
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  EXPECT_EQ(get(usb::kEndptPrime), 0u);
  EXPECT_EQ(in(2), Handshake::nak);
  EXPECT_EQ(otg.ready_at(2, false, now()), kNever);
  EXPECT_TRUE(active(0));
}

// 42.5.6.6.5: ENDPTFLUSH stays set while a packet is in progress.
TEST_F(UsbTransferTest, FlushWaitsForThePacketInProgress) {
  configure_bulk();
  td(0, 1024);
  queue(5, 0);
  otg.in(0, 2, &packet, now());
  put(usb::kEndptFlush, mask(5));
  EXPECT_EQ(get(usb::kEndptFlush), mask(5));
  EXPECT_EQ(get(usb::kEndptStat), mask(5));
  otg.in_done(2, true, now());
  EXPECT_EQ(get(usb::kEndptFlush), 0u);
  EXPECT_EQ(get(usb::kEndptStat), 0u);
}

// 42.7 USBMODE.SDIS: no double buffering; every packet is answered NYET at high speed.
TEST_F(UsbTransferTest, StreamDisableWaitsForTheBuffer) {
  put(usb::kUsbMode, usb::kCmDevice | usb::kSlom | usb::kSdis);
  configure_bulk();
  td(0, 1024);
  queue(5, 0);
  EXPECT_EQ(in(2), Handshake::ack);
  EXPECT_EQ(in(2), Handshake::nak);
  // 512 bytes are 128 words.
  EXPECT_EQ(otg.ready_at(2, true, now()), now() + 128 * timing.usb_word_cycles);
  run(128 * timing.usb_word_cycles);
  EXPECT_EQ(in(2), Handshake::ack);
  td(1, 1024);
  queue(4, 1);
  EXPECT_EQ(out(2, false, 512), Handshake::nyet);
}

// USB 2.0 8.5.4: interrupt transactions.
TEST_F(UsbTransferTest, InterruptEndpointsKnowNeitherNyetNorPing) {
  configure_bulk();
  put(usb::kEndptCtrl0 + 8, 0x00CC00CC);
  td(0, 512);
  queue(4, 0);
  EXPECT_EQ(otg.ping(0, 2, now()), Handshake::timeout);
  EXPECT_EQ(out(2, false, 512), Handshake::ack);
}

// 42.5.6.4.2: a prime fails if the queue head or the descriptor were set up improperly.
TEST_F(UsbTransferTest, ImproperListsAreNotPrimed) {
  const auto fails = [this] {
    put(usb::kEndptPrime, mask(5));
    run(timing.usb_prime_cycles);
    return (get(usb::kEndptPrime) | get(usb::kEndptStat)) == 0;
  };
  configure_bulk();
  EXPECT_TRUE(fails());  // next pointer: terminate
  td(0, 512);
  set_word(td_at(0) + 4, 512u << 16);  // not active
  set_word(kList + 5 * 64 + usb::kQhNext, td_at(0));
  EXPECT_TRUE(fails());
  td(0, 512);
  set_word(kList + 5 * 64, 0);  // no packet size
  EXPECT_TRUE(fails());
  EXPECT_EQ(get(usb::kUsbSts) & usb::kUei, 0u);
  set_word(kList + 5 * 64, 512u << 16);
  set_word(kList + 5 * 64 + usb::kQhNext, 0x70000000);  // no memory
  EXPECT_TRUE(fails());
  EXPECT_EQ(get(usb::kUsbSts) & (usb::kSei | usb::kUei), usb::kSei | usb::kUei);
}

// 42.5.5.2, status bit 5, data buffer error.
TEST_F(UsbTransferTest, BufferWithoutMemoryIsABufferError) {
  configure_bulk();
  td(0, 512, 0x70000000);
  queue(5, 0);
  EXPECT_EQ(in(2), Handshake::timeout);
  EXPECT_EQ(token(0) & 0xFF, usb::kTokenHalted | usb::kTokenBufferError);
  EXPECT_EQ(get(usb::kUsbSts) & (usb::kSei | usb::kUei), usb::kSei | usb::kUei);
  td(1, 512, 0x70000000);
  queue(4, 1);
  EXPECT_EQ(out(2, false, 512), Handshake::nak);
  EXPECT_EQ(token(1) & 0xFF, usb::kTokenHalted | usb::kTokenBufferError);
}

// 42.5.5.1: a prime executes the overlay if it is active.
TEST_F(UsbTransferTest, ActiveOverlayIsExecuted) {
  configure_bulk();
  td(0, 300);
  queue(5, 0);
  put(usb::kEndptFlush, mask(5));
  put(usb::kEndptPrime, mask(5));  // the overlay was not cleared
  run(timing.usb_prime_cycles);
  EXPECT_EQ(drain(2), Sizes{300});
  EXPECT_FALSE(active(0));
}

// A list that points to itself ends at the descriptor that it has retired.
TEST_F(UsbTransferTest, ListThatLoopsEnds) {
  configure_bulk();
  td(0, 512, kData, td_at(1), 0);
  td(1, 512, kData, td_at(0), 0);
  queue(5, 0);
  EXPECT_EQ(drain(2), (Sizes{512, 512}));
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  EXPECT_EQ(host.queue.size(), 0u);
}

TEST_F(UsbTransferTest, SnapshotGoesOnInTheMiddle) {
  configure_bulk();
  td(0, 1024, kData, td_at(1));
  td(1, 512);
  queue(5, 0);
  EXPECT_EQ(in(2), Handshake::ack);
  EXPECT_EQ(in(2), Handshake::ack);  // fetching
  Snapshot saved;
  otg.snapshot(saved);
  const std::vector<uint8_t> bytes = saved.take();
  put(usb::kUsbCmd, usb::kRst);
  Snapshot restored(bytes);
  otg.snapshot(restored);
  ASSERT_TRUE(restored.ok()) << restored.error();
  EXPECT_EQ(get(usb::kEndptPrime), mask(5));
  EXPECT_EQ(drain(2), Sizes{512});
  Snapshot again(bytes);
  otg.snapshot(again);
  Snapshot second;
  otg.snapshot(second);
  EXPECT_EQ(second.take(), bytes);
}

}  // namespace
}  // namespace millrace::board
