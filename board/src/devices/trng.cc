// SPDX-License-Identifier: Apache-2.0
// A generation takes SAMP_SIZE * ENT_DLY clocks: with the SDK's 512 * 3200 at 132 MHz, 12 ms. It
// begins when MCTL.PRGM is cleared and when the last word, ENT15, is read.
#include "devices/trng.h"

#include <algorithm>

namespace millrace::board {

namespace {

constexpr uint32_t kMctl = 0x00;
constexpr uint32_t kSdctl = 0x10;
constexpr uint32_t kStatus = 0x3C;
constexpr uint32_t kEnt0 = 0x40;
constexpr uint32_t kEnt15 = 0x7C;
constexpr uint32_t kSecCfg = 0xA0;
constexpr uint32_t kIntCtrl = 0xA4;
constexpr uint32_t kIntMask = 0xA8;
constexpr uint32_t kIntStatus = 0xAC;

constexpr uint32_t kResetDefaults = 1u << 6;  // MCTL
constexpr uint32_t kFrequencyValid = 1u << 9;
constexpr uint32_t kEntropyValid = 1u << 10;
constexpr uint32_t kOkToStop = 1u << 13;
constexpr uint32_t kProgram = 1u << 16;
constexpr uint32_t kNoProgram = 2;    // SEC_CFG
constexpr uint32_t kEntropyFlag = 2;  // INT_*

// The limits of the tests are stored; outside of program mode their places hold counters.
constexpr RegisterSpec kTable[] = {
    {0x00, "MCTL", 0x00012001, 0x0001408F},
    {0x04, "SCMISC", 0x00010022, 0x000F00FF},
    {0x08, "PKRRNG", 0x000009A3, 0x0000FFFF},
    {0x0C, "PKRMAX", 0x00006920, 0x00FFFFFF},
    {0x10, "SDCTL", 0x0C8009C4},
    {0x14, "SBLIM", 0x0000003F, 0x000003FF},
    {0x18, "FRQMIN", 0x00000640, 0x003FFFFF},
    {0x1C, "FRQMAX", 0x00006400, 0x003FFFFF},
    {0x20, "SCML", 0x010C0568},
    {0x24, "SCR1L", 0x00B20195, 0x7FFF7FFF},
    {0x28, "SCR2L", 0x007A00DC, 0x3FFF3FFF},
    {0x2C, "SCR3L", 0x0058007D, 0x1FFF1FFF},
    {0x30, "SCR4L", 0x0040004B, 0x0FFF0FFF},
    {0x34, "SCR5L", 0x002E002F, 0x07FF07FF},
    {0x38, "SCR6PL", 0x002E002F, 0x07FF07FF},
    {0x3C, "STATUS", 0x00000000, 0x00000000},
    {0xA0, "SEC_CFG", 0x00000000, 0x00000007},
    {0xA4, "INT_CTRL", 0x00000007, 0x00000007},
    {0xA8, "INT_MASK", 0x00000000, 0x00000007},
    {0xAC, "INT_STATUS", 0x00000000, 0x00000000},
};

// Limits in program mode, counters in run mode.
bool has_two_faces(uint32_t offset) {
  return offset == 0x0C || offset == 0x14 || (offset >= 0x1C && offset <= 0x38);
}

}  // namespace

Trng::Trng(DeviceHost& host, Clocks& clocks, uint64_t seed)
    : host_(host),
      clocks_(clocks),
      registers_(kTable, 4, *this, host),
      state_(seed),
      done_(&Trng::on_done, this) {
  clocks.add_user(*this);
}

void Trng::reset() {
  registers_.reset();
  stop();
  update_line();
}

void Trng::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  schedule();
}

// SplitMix64 (Steele, Lea, Flood 2014), the upper half of each output.
uint32_t Trng::next() {
  state_ += 0x9E3779B97F4A7C15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
}

uint32_t Trng::read(uint32_t offset, unsigned size, Cycles now) {
  const uint32_t at = offset & ~3u;
  if (at >= kEnt0 && at <= kEnt15) {
    const uint32_t word = valid_ ? entropy_[(at - kEnt0) / 4] : 0;
    if (at == kEnt15 && (registers_[kMctl] & kProgram) == 0) generate(now);
    return word >> (8 * (offset - at));
  }
  if ((registers_[kMctl] & kProgram) == 0 && has_two_faces(at)) {
    host_.report_unknown(*this, at, false);
    return 0;
  }
  if (at == kMctl) {
    uint32_t& value = registers_[kMctl];
    value &= ~(kFrequencyValid | kEntropyValid | kOkToStop);
    if (valid_) value |= kFrequencyValid | kEntropyValid;
    if (!generating_) value |= kOkToStop;
  }
  return registers_.read(offset, size);
}

void Trng::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const uint32_t at = offset & ~3u;
  const bool locked = (registers_[kSecCfg] & kNoProgram) != 0;
  if (at < kStatus && at != kMctl && (locked || (registers_[kMctl] & kProgram) == 0)) {
    if (!registers_.has(at)) host_.report_unknown(*this, at, true);
    return;  // limits are writable in program mode alone
  }
  if (at == kMctl && locked) return;
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  if (change.offset == kMctl) {
    if ((change.after & kProgram) != 0) {
      stop();
      if ((change.written & kResetDefaults) != 0) set_defaults();
    } else if ((change.before & kProgram) != 0) {
      generate(now);
    }
  }
  // A 0 in INT_CTRL clears the flag of its bit.
  if (change.offset == kIntCtrl) registers_[kIntStatus] &= change.after;
  update_line();
}

void Trng::set_defaults() {
  for (const RegisterSpec& spec : kTable) {
    if (spec.offset < kStatus) registers_[spec.offset] = spec.reset;
  }
}

void Trng::generate(Cycles now) {
  valid_ = false;
  generating_ = true;
  ticks_.start(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  schedule();
}

void Trng::stop() {
  valid_ = false;
  generating_ = false;
  host_.events().cancel(done_);
}

void Trng::schedule() {
  if (!generating_) return;
  const uint64_t samples = registers_[kSdctl] & 0xFFFF;
  const uint64_t delay = registers_[kSdctl] >> 16;
  const Cycles when = ticks_.when(std::max<uint64_t>(samples * delay, 1));
  if (when == kNever) {
    host_.events().cancel(done_);
  } else {
    host_.events().schedule(done_, when);
  }
}

void Trng::on_done(void* context, Cycles) {
  Trng& trng = *static_cast<Trng*>(context);
  for (uint32_t& word : trng.entropy_) word = trng.next();
  trng.valid_ = true;
  trng.generating_ = false;
  trng.registers_[kIntStatus] |= kEntropyFlag;
  trng.update_line();
}

void Trng::update_line() {
  host_.set_interrupt(kIrq, (registers_[kIntStatus] & registers_[kIntMask]) != 0);
}

void Trng::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  s.field("state", state_);
  s.field("entropy", entropy_);
  s.field("valid", valid_);
  s.field("generating", generating_);
  ticks_.snapshot(s);
  host_.events().snapshot(s, done_);
}

}  // namespace millrace::board
