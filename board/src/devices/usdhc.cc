// SPDX-License-Identifier: Apache-2.0
// A command without an answer times out after 64 clocks of the card. The clock roots of the uSDHCs
// are not in Clocks; the time is that of the 400 kHz at which cards are identified: 48 bits of
// command and 64 of waiting, 280 us.
#include "devices/usdhc.h"

namespace millrace::board {

namespace {

constexpr uint32_t kCmdXfrTyp = 0x0C;
constexpr uint32_t kPresState = 0x24;
constexpr uint32_t kSysCtrl = 0x2C;
constexpr uint32_t kIntStatus = 0x30;
constexpr uint32_t kIntStatusEn = 0x34;
constexpr uint32_t kIntSignalEn = 0x38;
constexpr uint32_t kForceEvent = 0x50;

constexpr uint32_t kCommandInhibit = 1;  // PRES_STATE
constexpr uint32_t kClockStable = 1u << 3;
constexpr uint32_t kLinesHigh = 0xFF800000;  // CLSL, DLSL: pulled up
constexpr uint32_t kResetAll = 1u << 24;     // SYS_CTRL
constexpr uint32_t kResetCommand = 1u << 25;
constexpr uint32_t kSelfClearing = 0x1F000000;  // the resets, INITA
constexpr uint32_t kResponseType = 3u << 16;    // CMD_XFR_TYP
constexpr uint32_t kCommandComplete = 1;        // INT_STATUS
constexpr uint32_t kCommandTimeout = 1u << 16;
constexpr uint64_t kCrystalPerCardClock = 60;  // 24 MHz / 400 kHz
constexpr uint64_t kCommandClocks = 48;
constexpr uint64_t kTimeoutClocks = 64;

constexpr RegisterSpec kTable[] = {
    {0x00, "DS_ADDR"},
    {0x04, "BLK_ATT", 0x00000000, 0xFFFF1FFF},
    {0x08, "CMD_ARG"},
    {0x0C, "CMD_XFR_TYP", 0x00000000, 0x3FFB0000},
    {0x10, "CMD_RSP0", 0x00000000, 0x00000000},
    {0x14, "CMD_RSP1", 0x00000000, 0x00000000},
    {0x18, "CMD_RSP2", 0x00000000, 0x00000000},
    {0x1C, "CMD_RSP3", 0x00000000, 0x00000000},
    {0x24, "PRES_STATE", 0x00000000, 0x00000000},
    {0x28, "PROT_CTRL", 0x08800020, 0x7F1F03FF},
    {0x2C, "SYS_CTRL", 0x0080800F, 0x1F8FFFF0},
    {0x30, "INT_STATUS", 0x00000000, 0x157F51FF, RegisterKind::one_clears},
    {0x34, "INT_STATUS_EN", 0x00000000, 0x157F51FF},
    {0x38, "INT_SIGNAL_EN", 0x00000000, 0x157F51FF},
    {0x3C, "AUTOCMD12_ERR_STATUS", 0x00000000, 0x00C00000},
    {0x40, "HOST_CTRL_CAP", 0x07F3B407, 0x00002F00},
    {0x44, "WTMK_LVL", 0x08100810, 0x1FFF1FFF},
    {0x48, "MIX_CTRL", 0x80000000, 0x03C000FF},
    {0x50, "FORCE_EVENT", 0x00000000, 0x00000000},
    {0x54, "ADMA_ERR_STATUS", 0x00000000, 0x00000000},
    {0x58, "ADMA_SYS_ADDR", 0x00000000, 0xFFFFFFFC},
    {0x60, "DLL_CTRL", 0x00000000, 0xFFF7FFFF},
    {0x68, "CLK_TUNE_CTRL_STATUS", 0x00000000, 0x00007FFF},
    {0xC0, "VEND_SPEC", 0x20007809, 0x8000810E},
    {0xC4, "MMC_BOOT", 0x00000000, 0xFFFF01FF},
    {0xC8, "VEND_SPEC2", 0x00001006, 0x00007078},
    {0xCC, "TUNING_CTRL", 0x00212800, 0x0177FFFF},
};

}  // namespace

Usdhc::Usdhc(DeviceHost& host, Clocks& clocks, unsigned number)
    : host_(host),
      clocks_(clocks),
      number_(number),
      registers_(kTable, 4, *this, host),
      command_end_(&Usdhc::on_command_end, this) {
  clocks.add_user(*this);
}

void Usdhc::reset() {
  registers_.reset();
  stop_command();
  update_line();
}

void Usdhc::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::osc24m), clocks_.hz(Clock::core));
  if (!busy_) return;
  const uint64_t clocks = kCommandClocks + (wants_response_ ? kTimeoutClocks : 0);
  host_.events().schedule(command_end_, ticks_.when(clocks * kCrystalPerCardClock));
}

uint32_t Usdhc::read(uint32_t offset, unsigned size, Cycles) {
  if ((offset & ~3u) == kPresState) {
    registers_[kPresState] = kLinesHigh | kClockStable | (busy_ ? kCommandInhibit : 0);
  }
  return registers_.read(offset, size);
}

void Usdhc::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  switch (change.offset) {
    case kCmdXfrTyp:
      // The write of the upper halfword, with the index, sends the command.
      if (offset + size == kCmdXfrTyp + 4 && !busy_) start_command(change.after, now);
      break;
    case kSysCtrl:
      system_control_written(change);
      break;
    case kForceEvent:
      raise(change.written);
      break;
    default:
      break;
  }
  update_line();
}

void Usdhc::system_control_written(const RegisterChange& change) {
  if ((change.after & kResetAll) != 0) {
    registers_.reset();
    stop_command();
  }
  if ((change.after & kResetCommand) != 0) stop_command();
  registers_[kSysCtrl] &= ~kSelfClearing;
}

void Usdhc::start_command(uint32_t command, Cycles now) {
  busy_ = true;
  wants_response_ = (command & kResponseType) != 0;
  ticks_.start(now, clocks_.hz(Clock::osc24m), clocks_.hz(Clock::core));
  after_clock_change(now);
}

void Usdhc::stop_command() {
  busy_ = false;
  host_.events().cancel(command_end_);
}

void Usdhc::on_command_end(void* context, Cycles) {
  Usdhc& usdhc = *static_cast<Usdhc*>(context);
  usdhc.busy_ = false;
  usdhc.raise(usdhc.wants_response_ ? kCommandTimeout : kCommandComplete);
  usdhc.update_line();
}

// INT_STATUS_EN says which events are seen at all.
void Usdhc::raise(uint32_t flags) { registers_[kIntStatus] |= flags & registers_[kIntStatusEn]; }

void Usdhc::update_line() {
  const bool level = (registers_[kIntStatus] & registers_[kIntSignalEn]) != 0;
  host_.set_interrupt(number_ == 1 ? kIrq1 : kIrq2, level);
}

void Usdhc::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  s.field("busy", busy_);
  s.field("wants_response", wants_response_);
  ticks_.snapshot(s);
  host_.events().snapshot(s, command_end_);
}

}  // namespace millrace::board
