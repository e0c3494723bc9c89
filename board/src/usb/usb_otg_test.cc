// SPDX-License-Identifier: Apache-2.0
// Registers, port, timers and interrupts of the controller; sections of IMXRT1060RM chapter 42.
#include "usb/usb_otg.h"

#include "usb/testing/usb_otg_fixture.h"

namespace millrace::board {
namespace {

class UsbOtgTest : public testing::UsbOtgFixture {};

// 42.7: reset values.
TEST_F(UsbOtgTest, ResetValues) {
  const std::pair<uint32_t, uint32_t> expected[] = {
      {0x000, 0xE4A1FA05}, {0x004, 0x35},   {0x008, 0x10020001}, {0x00C, 0x11},
      {0x010, 0x80080B08}, {0x014, 0x808},  {0x090, 2},          {0x100, 0x01000040},
      {0x104, 0x10011},    {0x108, 6},      {0x120, 1},          {0x124, 0x188},
      {0x140, 0x80000},    {0x144, 0},      {0x148, 0},          {0x154, 0},
      {0x158, 0},          {0x160, 0x808},  {0x180, 1},          {0x184, 0x10000000},
      {0x1A4, 0x1120},     {0x1A8, 0x5000}, {0x1C0, 0x00800080}, {0x1C4, 0}};
  for (const auto& [offset, value] : expected) EXPECT_EQ(get(offset), value) << std::hex << offset;
  EXPECT_EQ(otg.read(0x100, 1, now()), 0x40u);   // CAPLENGTH
  EXPECT_EQ(otg.read(0x102, 2, now()), 0x100u);  // HCIVERSION
  EXPECT_TRUE(host.unknown.empty());
}

TEST_F(UsbOtgTest, UnknownRegistersAreReported) {
  EXPECT_EQ(get(0x150), 0u);
  put(0x1E0, 1);
  const std::vector<std::pair<uint32_t, bool>> expected = {{0x150, false}, {0x1E0, true}};
  EXPECT_EQ(host.unknown, expected);
}

TEST_F(UsbOtgTest, SecondControllerHasItsOwnLineAndNothingAttached) {
  UsbPhy phy2(host, 2);
  UsbOtg otg2(host, clocks, timing, phy2, 2);
  EXPECT_EQ(UsbOtg::base(2), 0x402E0200u);
  EXPECT_EQ(otg2.name(), "USB2");
  otg2.write(usb::kUsbIntr, 4, usb::kTi1, 0);
  otg2.write(usb::kGptimer1Ctrl, 4, 0xC0000000, 0);
  run(kMicrosecond);
  EXPECT_TRUE(host.lines[112]);
  EXPECT_FALSE(host.lines[113]);
  // NXP's and TinyUSB's start-up reset both controllers.
  otg2.write(usb::kUsbCmd, 4, usb::kRst, now());
  EXPECT_EQ(otg2.read(usb::kUsbCmd, 4, now()), 0x80000u);
  EXPECT_FALSE(host.lines[112]);
}

// 42.7 USBMODE.CM: once after reset.
TEST_F(UsbOtgTest, ModeIsWrittenOnce) {
  put(usb::kUsbMode, usb::kCmDevice);
  put(usb::kUsbMode, usb::kCmHost | usb::kSlom);
  EXPECT_EQ(get(usb::kUsbMode), 0x5000u | usb::kCmDevice | usb::kSlom);
  EXPECT_TRUE(host.unknown.empty());
  put(usb::kUsbCmd, usb::kRst);
  EXPECT_EQ(get(usb::kUsbMode), 0x5000u);
  put(usb::kUsbMode, usb::kCmHost);
  EXPECT_EQ(host.unknown.size(), 1u);  // host mode is not modelled
}

// 42.7 USBCMD.RS: the pull-up; it needs the transceiver.
TEST_F(UsbOtgTest, RunConnects) {
  put(usb::kUsbMode, usb::kCmDevice);
  put(usb::kUsbCmd, usb::kRs);
  EXPECT_FALSE(otg.connected());
  phy.write(0x38, 4, 0xC0000000, now());
  EXPECT_FALSE(otg.connected());
  phy.write(0x00, 4, 0, now());
  EXPECT_TRUE(otg.connected());
  EXPECT_EQ(cable.take(), "connection ");
  put(usb::kUsbCmd, usb::kRs | usb::kSutw);
  EXPECT_EQ(cable.take(), "");
  put(usb::kUsbCmd, 0);
  EXPECT_FALSE(otg.connected());
  EXPECT_EQ(cable.take(), "connection ");
}

// 42.7 USBCMD.RS 0, and what the transceiver needs (43.4 PWD): no answer to any token.
TEST_F(UsbOtgTest, NotRunningDoesNotAnswer) {
  configure_bulk();
  EXPECT_EQ(in(2), Handshake::timeout);
  start_controller();
  EXPECT_EQ(setup({}), Handshake::timeout);  // no bus reset yet
  start();
  EXPECT_EQ(setup({}), Handshake::ack);
  put(usb::kUsbCmd, 0);
  EXPECT_EQ(setup({}), Handshake::timeout);
}

// 42.5.6.2.1: URI as the reset begins, PR while it lasts, PCI and the speed at its end. The bits
// are set though USBINTR does not enable them: the Teensy core reads PCI without PCE.
TEST_F(UsbOtgTest, BusReset) {
  start();
  put(usb::kUsbIntr, 0x143);  // UE, UEE, URE, SLE
  put(usb::kDeviceAddr, 5u << 25);
  put(usb::kDeviceAddr, 6u << 25 | usb::kUsbAdra);
  configure_bulk();
  td(0, 512);
  queue(5, 0);
  prime(4, 0);
  otg.reset_begin(now());
  EXPECT_EQ(get(usb::kUsbSts), usb::kUri);
  EXPECT_TRUE(host.lines[113]);
  EXPECT_EQ(get(usb::kPortSc1) & (usb::kPr | usb::kHsp), usb::kPr);
  EXPECT_EQ(get(usb::kEndptStat) | get(usb::kEndptPrime), 0u);
  EXPECT_EQ(get(usb::kDeviceAddr), 0u);
  EXPECT_EQ(setup({}), Handshake::timeout);
  put(usb::kUsbSts, usb::kUri);
  EXPECT_FALSE(host.lines[113]);
  run(3000 * kMicrosecond);
  EXPECT_EQ(otg.reset_end(UsbSpeed::high, now()), UsbSpeed::high);
  EXPECT_EQ(get(usb::kUsbSts), usb::kPci);
  EXPECT_FALSE(host.lines[113]);
  EXPECT_EQ(get(usb::kPortSc1), 0x10000000 | usb::kCcs | usb::kPe | usb::kHsp | usb::kPspdHigh);
  EXPECT_EQ(get(usb::kEndptCtrl0 + 8), 0x00880088u);  // stays
}

// 42.7 PORTSC1.PFSC: no chirp, so full speed; PSPD and HSP say which it became.
TEST_F(UsbOtgTest, FullSpeedIfForcedOrOffered) {
  start_controller();
  otg.reset_begin(now());
  EXPECT_EQ(otg.reset_end(UsbSpeed::full, now()), UsbSpeed::full);
  EXPECT_EQ(get(usb::kPortSc1) & (usb::kHsp | usb::kPspd), 0u);
  put(usb::kPortSc1, get(usb::kPortSc1) | usb::kPfsc);
  otg.reset_begin(now());
  EXPECT_EQ(otg.reset_end(UsbSpeed::high, now()), UsbSpeed::full);
}

// 42.5.6.2.2: SLI on suspend; it goes on resume, and PCI tells.
TEST_F(UsbOtgTest, SuspendAndResume) {
  start();
  otg.suspend(now());
  EXPECT_EQ(get(usb::kUsbSts), usb::kSli);
  EXPECT_NE(get(usb::kPortSc1) & usb::kSusp, 0u);
  EXPECT_EQ(setup({}), Handshake::timeout);
  put(usb::kPortSc1, get(usb::kPortSc1) | usb::kPhcd);
  otg.resume(now());
  EXPECT_EQ(get(usb::kUsbSts), usb::kPci);
  EXPECT_EQ(get(usb::kPortSc1) & (usb::kSusp | usb::kPhcd), 0u);
  EXPECT_EQ(setup({}), Handshake::ack);
}

// 42.7 PORTSC1.FPR: remote wake-up, from suspend alone.
TEST_F(UsbOtgTest, ForcePortResumeWakesTheHost) {
  start();
  put(usb::kPortSc1, get(usb::kPortSc1) | usb::kFpr);
  EXPECT_EQ(cable.take(), "");
  otg.suspend(now());
  put(usb::kPortSc1, get(usb::kPortSc1) | usb::kFpr);
  EXPECT_EQ(cable.take(), "wakeup ");
  EXPECT_NE(get(usb::kPortSc1) & usb::kFpr, 0u);
  put(usb::kPortSc1, get(usb::kPortSc1));
  EXPECT_EQ(cable.take(), "");
  otg.resume(now());
  EXPECT_EQ(get(usb::kPortSc1) & usb::kFpr, 0u);
}

// 42.7 PORTSC1.PHCD, 43.4 CTRL.ENAUTOCLR_*: the clock may stop in suspend and comes back.
TEST_F(UsbOtgTest, SuspendedTransceiverStaysConnectedAndWakes) {
  start();
  phy.write(0x34, 4, 1u << 20 | 1u << 19, now());  // CTRL_SET: ENAUTOCLR_PHY_PWD, _CLKGATE
  otg.suspend(now());
  phy.write(0x00, 4, 0xFFFFFFFF, now());
  phy.write(0x34, 4, 1u << 30, now());
  EXPECT_TRUE(otg.connected());
  otg.resume(now());
  EXPECT_TRUE(phy.active());
  EXPECT_EQ(setup({}), Handshake::ack);
  EXPECT_EQ(cable.take(), "");
}

// 42.7 OTGSC: VBUS thresholds, change bits (write 1 to clear), enables.
TEST_F(UsbOtgTest, VbusShowsInOtgSc) {
  bool told = false;
  otg.on_vbus([&told](bool present) { told = present; });
  otg.attach(now());
  EXPECT_TRUE(told);
  // AVV, ASV and BSV rise, BSE falls; ID and its pull-up stay.
  EXPECT_EQ(get(usb::kOtgSc) & 0x7FFF1FFF, 0x001E0F20u);
  EXPECT_FALSE(host.lines[113]);
  put(usb::kOtgSc, 1u << 27 | 1u << 5);  // BSVIE
  EXPECT_TRUE(host.lines[113]);
  put(usb::kOtgSc, 1u << 27 | 1u << 19 | 1u << 5);
  EXPECT_FALSE(host.lines[113]);
  EXPECT_EQ(get(usb::kOtgSc) & (0x7Fu << 16), 0x00160000u);
  otg.detach(now());
  EXPECT_FALSE(told);
  EXPECT_TRUE(host.lines[113]);
  EXPECT_EQ(get(usb::kOtgSc) & 0x1FFF, 0x1120u);
}

// 42.7 USBSTS.SLI: a bus without frames is a suspended one.
TEST_F(UsbOtgTest, DetachSuspends) {
  start();
  otg.detach(now());
  EXPECT_NE(get(usb::kUsbSts) & usb::kSli, 0u);
  EXPECT_EQ(setup({}), Handshake::timeout);
}

// 42.7 USBSTS.SRI, FRINDEX.
TEST_F(UsbOtgTest, FramesSetSriAndFrindex) {
  start();
  otg.start_of_frame(0x4005, now());
  EXPECT_EQ(get(usb::kFrIndex), 5u);
  EXPECT_EQ(get(usb::kUsbSts), usb::kSri);
  EXPECT_FALSE(host.lines[113]);
  put(usb::kUsbIntr, usb::kSri);
  EXPECT_TRUE(host.lines[113]);
  put(usb::kUsbSts, usb::kSri);
  EXPECT_FALSE(host.lines[113]);
  put(usb::kFrIndex, 100);  // read-only in device mode
  EXPECT_EQ(get(usb::kFrIndex), 5u);
  start(UsbSpeed::full);
  otg.start_of_frame(0x1F, now());
  EXPECT_EQ(get(usb::kFrIndex), 0x18u);
}

// 42.7 GPTIMERnLD: microseconds - 1. The Teensy core's flush timer: 74 is 75 us.
TEST_F(UsbOtgTest, OneShotTimerFiresOnce) {
  put(usb::kUsbIntr, usb::kTi0);
  put(usb::kGptimer0Ld, 74);
  put(usb::kGptimer0Ctrl, 0xC0000000);
  EXPECT_EQ(get(usb::kGptimer0Ctrl), 0x80000000u | 74);
  run(10 * kMicrosecond);
  EXPECT_EQ(get(usb::kGptimer0Ctrl), 0x80000000u | 64);
  run(65 * kMicrosecond - 1);
  EXPECT_FALSE(host.lines[113]);
  run(1);
  EXPECT_TRUE(host.lines[113]);
  EXPECT_EQ(get(usb::kUsbSts), usb::kTi0);
  EXPECT_EQ(get(usb::kGptimer0Ctrl), 0x80000000u);
  put(usb::kUsbSts, usb::kTi0);
  run(1000 * kMicrosecond);
  EXPECT_EQ(get(usb::kUsbSts), 0u);
}

// 42.7 GPTIMERnCTRL.GPTRST: the counter is loaded with GPTLD.
TEST_F(UsbOtgTest, TimerIsStartedAgainByReset) {
  put(usb::kGptimer0Ld, 74);
  put(usb::kGptimer0Ctrl, 0xC0000000);
  for (int i = 0; i < 5; ++i) {
    run(70 * kMicrosecond);
    put(usb::kGptimer0Ctrl, 0xC0000000);
  }
  EXPECT_EQ(get(usb::kUsbSts), 0u);
  for (int i = 0; i < 2; ++i) {  // before and after it has expired
    run(75 * kMicrosecond);
    EXPECT_EQ(get(usb::kUsbSts), usb::kTi0);
    put(usb::kUsbSts, usb::kTi0);
    put(usb::kGptimer0Ctrl, 0xC0000000);
  }
}

// 42.7 GPTIMERnCTRL.GPTMODE: one-shot or repeat.
TEST_F(UsbOtgTest, RepeatingTimerReloads) {
  put(usb::kGptimer1Ld, 9);
  put(usb::kGptimer1Ctrl, 0xC1000000);
  for (int i = 1; i <= 5; ++i) {
    run(10 * kMicrosecond - 1);
    EXPECT_EQ(get(usb::kUsbSts), 0u) << i;
    run(1);
    EXPECT_EQ(get(usb::kUsbSts), usb::kTi1) << i;
    EXPECT_EQ(get(usb::kGptimer1Ctrl), 0x81000000u | 9) << i;
    put(usb::kUsbSts, usb::kTi1);
  }
}

// 42.7 GPTIMERnCTRL.GPTRUN: stopping leaves GPTCNT.
TEST_F(UsbOtgTest, StoppedTimerKeepsItsCount) {
  put(usb::kGptimer0Ld, 100);
  put(usb::kGptimer0Ctrl, 0xC0000000);
  run(40 * kMicrosecond);
  put(usb::kGptimer0Ctrl, 0);
  run(1000 * kMicrosecond);
  EXPECT_EQ(get(usb::kGptimer0Ctrl), 60u);
  put(usb::kGptimer0Ctrl, 0x80000000);
  run(61 * kMicrosecond - 1);
  EXPECT_EQ(get(usb::kUsbSts), 0u);
  run(1);
  EXPECT_EQ(get(usb::kUsbSts), usb::kTi0);
}

// 42.7 GPTIMERnLD: of the bus clock, not of the core.
TEST_F(UsbOtgTest, TimersCountMicrosecondsAtAnyCoreClock) {
  put(usb::kGptimer0Ld, 99);
  put(usb::kGptimer0Ctrl, 0xC0000000);
  run(50 * kMicrosecond);
  Clocks::Rates rates = clocks.rates();
  rates[static_cast<size_t>(Clock::core)] = 396'000'000;
  clocks.set(rates, now());
  run(50 * 396 - 1);
  EXPECT_EQ(get(usb::kUsbSts), 0u);
  run(1);
  EXPECT_EQ(get(usb::kUsbSts), usb::kTi0);
}

// 42.7 USBCMD.ITC: UI and UEI wait for a multiple of ITC microframes; the status does not.
TEST_F(UsbOtgTest, InterruptThresholdHoldsTheLine) {
  start();
  put(usb::kUsbCmd, usb::kRs | 8u << 16);
  put(usb::kUsbIntr, usb::kUi | usb::kSli);
  otg.start_of_frame(19, now());
  run(60 * kMicrosecond);
  EXPECT_EQ(setup({}), Handshake::ack);
  EXPECT_NE(get(usb::kUsbSts) & usb::kUi, 0u);
  EXPECT_FALSE(host.lines[113]);
  // The next multiple of 8 behind 19 is 24: 5 * 125 us from the frame's start.
  run((5 * 125 - 60) * kMicrosecond - 1);
  EXPECT_FALSE(host.lines[113]);
  run(1);
  EXPECT_TRUE(host.lines[113]);
  put(usb::kUsbSts, usb::kUi);
  EXPECT_FALSE(host.lines[113]);
  otg.suspend(now());  // other sources do not wait
  EXPECT_TRUE(host.lines[113]);
}

// 42.7 USBCMD.ITC 0: immediate.
TEST_F(UsbOtgTest, ThresholdZeroLetsGo) {
  start();
  put(usb::kUsbCmd, usb::kRs | 8u << 16);
  put(usb::kUsbIntr, usb::kUi);
  setup({});
  EXPECT_FALSE(host.lines[113]);
  put(usb::kUsbCmd, usb::kRs);
  EXPECT_TRUE(host.lines[113]);
  EXPECT_EQ(host.queue.size(), 0u);
}

// 42.7 USBCMD.ITC with USBSTS, write 1 to clear.
TEST_F(UsbOtgTest, StatusClearedBeforeTheThresholdInterruptsNobody) {
  start();
  put(usb::kUsbCmd, usb::kRs | 1u << 16);
  put(usb::kUsbIntr, usb::kUi);
  setup({});
  put(usb::kUsbSts, usb::kUi);
  run(1000 * kMicrosecond);
  EXPECT_FALSE(host.lines[113]);
}

// 42.7 USBCMD.RST: state machines and registers to their initial values; reads 0 when done.
TEST_F(UsbOtgTest, ControllerResetPutsEverythingBack) {
  start();
  configure_bulk();
  td(0, 512);
  queue(5, 0);
  put(usb::kGptimer0Ctrl, 0xC1000000);
  cable.take();
  put(usb::kUsbCmd, usb::kRs | usb::kRst);
  EXPECT_EQ(get(usb::kUsbCmd), 0x80000u);  // RST clears itself
  EXPECT_EQ(get(usb::kEndptStat), 0u);
  EXPECT_EQ(get(usb::kUsbSts), 0u);
  EXPECT_EQ(get(usb::kEndptCtrl0 + 8), 0u);
  EXPECT_EQ(cable.take(), "connection ");
  EXPECT_EQ(host.queue.size(), 0u);
  EXPECT_NE(get(usb::kOtgSc) & usb::kOtgBsv, 0u);  // VBUS is still there
}

// 42.7 PORTSC1.PTC: not modelled.
TEST_F(UsbOtgTest, TestModesAreReported) {
  start();
  put(usb::kPortSc1, 4u << 16);
  EXPECT_EQ(host.unknown.size(), 1u);
}

TEST_F(UsbOtgTest, DamagedSnapshotIsRefused) {
  start();
  Snapshot saved;
  otg.snapshot(saved);
  std::vector<uint8_t> bytes = saved.take();
  bytes.resize(bytes.size() / 2);
  Snapshot restored(bytes);
  otg.snapshot(restored);
  EXPECT_FALSE(restored.ok());
}

}  // namespace
}  // namespace millrace::board
