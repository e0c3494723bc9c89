// SPDX-License-Identifier: Apache-2.0
// A change of a selector or divider takes effect at once: CDHIPR, the handshakes under way, reads
// 0. The gates CCGR0..7 are stored and stop nothing: a firmware that forgets one works here and
// not on the chip. Low-power STOP (CLPCR.LPM 2) is as WAIT, and reported.
//
// WAIT is what CLPCR says after a reset, and SDKs leave it because "SysTick cannot wake the CPU
// from WFI" (MicroPython), "keep the system clock running so SYSTICK can wake up the system"
// (Zephyr, NXP). The Teensy core stays in it: a sketch that waits for millis() with WFI sleeps
// until another interrupt.
//
// Reset values of the table are what the boot ROM leaves (see ccm_analog.cc for the evidence) in
// the registers marked so. With its PLLs they give
//   core      792 / 2 (CACRR) = 396 MHz          ipg    396 / 3 = 132 MHz
//   perclk    132 / 2 = 66 MHz                   uart   480 / 6 / 4 = 20 MHz
//   flexspi1  480 * 18 / 14 / 6 = 102.86 MHz     flexspi2  480 * 18 / 14 / 4 = 154.29 MHz
// The first two are also the Teensy core's F_CPU_ACTUAL and F_BUS_ACTUAL at start.
#include "devices/ccm.h"

#include <algorithm>
#include <utility>

namespace millrace::board {

namespace {

constexpr uint64_t kCrystalHz = 24'000'000;
constexpr uint64_t kLeastHz = 1'000'000;

constexpr uint32_t kCcsr = 0x0C;
constexpr uint32_t kCacrr = 0x10;
constexpr uint32_t kCbcdr = 0x14;
constexpr uint32_t kCbcmr = 0x18;
constexpr uint32_t kCscmr1 = 0x1C;
constexpr uint32_t kCscdr1 = 0x24;
constexpr uint32_t kClpcr = 0x54;

constexpr RegisterSpec kTable[] = {
    {0x00, "CCR", 0x0401107F, 0x0FE010FF},
    {0x08, "CSR", 0x00000020, 0x00000000},     // COSC_READY
    {0x0C, "CCSR", 0x00000100, 0x00000001},    // ROM
    {0x10, "CACRR", 0x00000001, 0x00000007},   // ROM
    {0x14, "CBCDR", 0x000A8200, 0x3A071FC0},   // ROM
    {0x18, "CBCMR", 0x75AE8104, 0xFF8CF330},   // ROM
    {0x1C, "CSCMR1", 0x66930001, 0x6383FC7F},  // ROM; FLEXSPI_PODF as ccm_analog.cc says
    {0x20, "CSCMR2", 0x13192F06, 0x001803FC},
    {0x24, "CSCDR1", 0x06490B03, 0x0607387F},  // ROM
    {0x28, "CS1CDR", 0x0EC102C1, 0x0FFF0FFF},
    {0x2C, "CS2CDR", 0x007336C1, 0x000001FF},
    {0x30, "CDCDR", 0x33F71F92, 0x0FF07F80},
    {0x38, "CSCDR2", 0x00029150, 0x01FFF000},
    {0x3C, "CSCDR3", 0x00030841, 0x00003E00},
    {0x48, "CDHIPR", 0x00000000, 0x00000000},
    {0x54, "CLPCR", 0x00000079, 0x0C680FE3},
    {0x60, "CCOSR", 0x000A0001, 0x01FF01FF},
    {0x64, "CGPR", 0x0000FE62, 0x0003C011},
    {0x68, "CCGR0", 0xC0C00FFF},  // ROM, as the next six
    {0x6C, "CCGR1", 0xFCFCC000},
    {0x70, "CCGR2", 0x0C3FF033},
    {0x74, "CCGR3", 0xF00FF330},
    {0x78, "CCGR4", 0x0000FFFF},
    {0x7C, "CCGR5", 0xF0033C33},
    {0x80, "CCGR6", 0x00FC3FC0},
    {0x84, "CCGR7", 0xFFFFFFFF, 0x00003FFF},
    {0x88, "CMEOR", 0xFFFFFFFF, 0x500006E0},
};

}  // namespace

Ccm::Ccm(DeviceHost& host, Clocks& clocks, CcmAnalog& analog)
    : host_(host), clocks_(clocks), analog_(analog), registers_(kTable, 4, *this, host) {
  analog_.on_change([this](Cycles now) { clocks_.set(rates(), now); });
  clocks_.set(rates(), host_.events().now());
}

void Ccm::reset() {
  registers_.reset();
  tell_wait_mode();
  clocks_.set(rates(), host_.events().now());
}

void Ccm::on_wait_mode(std::function<void(bool)> wait_mode) {
  wait_mode_ = std::move(wait_mode);
  tell_wait_mode();
}

void Ccm::tell_wait_mode() {
  if (wait_mode_) wait_mode_(field(kClpcr, 0, 2) != 0 && field(kClpcr, 5, 1) != 0);
}

uint32_t Ccm::read(uint32_t offset, unsigned size, Cycles) { return registers_.read(offset, size); }

void Ccm::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (change.offset == kClpcr && (change.after & 3) > 1) host_.report_unknown(*this, kClpcr, true);
  tell_wait_mode();
  clocks_.set(rates(), now);
}

uint32_t Ccm::field(uint32_t offset, unsigned low, unsigned width) const {
  return (registers_[offset] >> low) & ((1u << width) - 1);
}

// PERIPH_CLK, of which the core, the buses and SEMC are made.
uint64_t Ccm::periph_hz(const PllOutputs& pll, uint64_t pll3_switched) const {
  if (field(kCbcdr, 25, 1) == 0) {  // PERIPH_CLK_SEL: PRE_PERIPH_CLK
    switch (field(kCbcmr, 18, 2)) {
      case 0:
        return pll.sys;
      case 1:
        return pll.sys_pfd[2];
      case 2:
        return pll.sys_pfd[0];
      default:
        return pll.arm / divider(kCacrr, 0, 3);
    }
  }
  // PERIPH_CLK2: PLL3, the crystal, the bypass clock of PLL2 (the crystal again), reserved.
  const std::array<uint64_t, 4> sources = {pll3_switched, kCrystalHz, kCrystalHz, 0};
  return sources[field(kCbcmr, 12, 2)] / divider(kCbcdr, 27, 3);
}

Clocks::Rates Ccm::rates() const {
  const PllOutputs pll = analog_.outputs();
  const uint64_t pll3_switched = field(kCcsr, 0, 1) != 0 ? kCrystalHz : pll.usb1;
  const uint64_t periph = periph_hz(pll, pll3_switched);
  const uint64_t core = std::max(periph / divider(kCbcdr, 10, 3), kLeastHz);
  const uint64_t ipg = core / divider(kCbcdr, 8, 2);
  const uint64_t perclk = field(kCscmr1, 6, 1) != 0 ? kCrystalHz : ipg;
  const uint64_t uart = field(kCscdr1, 6, 1) != 0 ? kCrystalHz : pll3_switched / 6;

  const uint64_t semc_alternative = field(kCbcdr, 7, 1) != 0 ? pll.usb1_pfd[1] : pll.sys_pfd[2];
  const uint64_t semc =
      (field(kCbcdr, 6, 1) != 0 ? semc_alternative : periph) / divider(kCbcdr, 16, 3);
  const std::array<uint64_t, 4> flexspi1 = {semc, pll3_switched, pll.sys_pfd[2], pll.usb1_pfd[0]};
  const std::array<uint64_t, 4> flexspi2 = {pll.sys_pfd[2], pll.usb1_pfd[0], pll.usb1_pfd[1],
                                            pll.sys};

  Clocks::Rates rates{};
  const auto set = [&rates](Clock clock, uint64_t hz) { rates[static_cast<size_t>(clock)] = hz; };
  set(Clock::core, core);
  set(Clock::ipg, ipg);
  set(Clock::perclk, perclk / divider(kCscmr1, 0, 6));
  set(Clock::uart, uart / divider(kCscdr1, 0, 6));
  set(Clock::flexspi1,
      std::max(flexspi1[field(kCscmr1, 29, 2)] / divider(kCscmr1, 23, 3), kLeastHz));
  set(Clock::flexspi2, std::max(flexspi2[field(kCbcmr, 8, 2)] / divider(kCbcmr, 29, 3), kLeastHz));
  set(Clock::osc24m, kCrystalHz);
  set(Clock::osc32k, 32'768);
  return rates;
}

void Ccm::snapshot(Snapshot& s) { registers_.snapshot(s); }

}  // namespace millrace::board
