// SPDX-License-Identifier: Apache-2.0
// Reset values of the table are those that the boot ROM leaves when it boots from serial NOR flash
// with a 100 MHz FCB, where the source in kTable's comments names one; the others are the chip's
// own (IMXRT1060RM, and the CMSIS-SVD of the MIMXRT1062).
//
// What the ROM leaves was read out at entry to a boot loader on an RT10xx EVK: PLL_ARM 80002042,
// PLL_SYS 80002001, PLL_USB1 80003000, PFD_528 18131818, PFD_480 0F1A23xx, whose last byte follows
// the FCB's serialClkFreq. For 100 MHz SDR the table in NXP's boot loader sources says PFD0 /14 and
// FLEXSPI_PODF /6: 480 * 18 / 14 / 6 = 102.86 MHz. Nobody has published a read-out with that FCB.
//
// Not modelled: spread spectrum, brown-out detection, the RC oscillator as the 24 MHz source, and
// stopping the crystal. Firmware that asks for one of the latter two is reported.
#include "devices/ccm_analog.h"

#include <algorithm>

namespace millrace::board {

namespace {

constexpr uint64_t kCrystalHz = 24'000'000;

constexpr uint32_t kPllArm = 0x00;
constexpr uint32_t kPllUsb1 = 0x10;
constexpr uint32_t kPllUsb2 = 0x20;
constexpr uint32_t kPllSys = 0x30;
constexpr uint32_t kPllSysNum = 0x50;
constexpr uint32_t kPllSysDenom = 0x60;
constexpr uint32_t kPllAudio = 0x70;
constexpr uint32_t kPllVideo = 0xA0;
constexpr uint32_t kPllEnet = 0xE0;
constexpr uint32_t kPfd480 = 0xF0;
constexpr uint32_t kPfd528 = 0x100;
constexpr uint32_t kReg1p1 = 0x110;
constexpr uint32_t kReg3p0 = 0x120;
constexpr uint32_t kReg2p5 = 0x130;
constexpr uint32_t kMisc0 = 0x150;
constexpr uint32_t kMisc1 = 0x160;
constexpr uint32_t kTempSense0 = 0x180;
constexpr uint32_t kUsb1VbusStat = 0x1C0;
constexpr uint32_t kUsb2VbusStat = 0x220;
constexpr uint32_t kLowPower = 0x270;
constexpr uint32_t kTempSense2 = 0x290;

constexpr uint32_t kPower = 1u << 12;  // POWERDOWN of most PLLs, POWER of the USB ones
constexpr uint32_t kEnable = 1u << 13;
constexpr uint32_t kBypassSource = 3u << 14;
constexpr uint32_t kBypass = 1u << 16;
constexpr uint32_t kLock = 1u << 31;
constexpr uint32_t kRegulatorOn = 1;
constexpr uint32_t kRegulatorOk = 1u << 17;
constexpr uint32_t kBandgapOff = 1;
constexpr uint32_t kBandgapUp = 1u << 7;
constexpr uint32_t kCrystalOk = 1u << 15;
constexpr uint32_t kCrystalOkDetector = 1u << 16;
constexpr uint32_t kRtcCrystal = 1u << 29;
constexpr uint32_t kCrystalOff = 1u << 30;
constexpr uint32_t kTemperaturePanic = 1u << 27;
constexpr uint32_t kTemperatureLow = 1u << 28;
constexpr uint32_t kTemperatureHigh = 1u << 29;
constexpr uint32_t kIrqStatus = 0xF8000000;
constexpr uint32_t kSensorOff = 1;
constexpr uint32_t kMeasure = 2;
constexpr uint32_t kFinished = 4;
constexpr uint32_t kOscillatorRc = 1u << 4;
constexpr uint32_t kCrystalPoweredUp = 1u << 16;
constexpr uint32_t kVbusPresent = 0xE;  // BVALID, AVALID, VBUS_VALID
constexpr uint32_t kVbusAbsent = 0x1;   // SESSEND

constexpr RegisterKind kSct = RegisterKind::set_clr_tog;

constexpr RegisterSpec kTable[] = {
    {0x00, "PLL_ARM", 0x00002042, 0x0009F07F, kSct},   // ROM: 24 MHz * 66 / 2 = 792 MHz
    {0x10, "PLL_USB1", 0x00003000, 0x0001F042, kSct},  // ROM: 480 MHz
    {0x20, "PLL_USB2", 0x00012000, 0x0001F042, kSct},
    {0x30, "PLL_SYS", 0x00002001, 0x0001F001, kSct},  // ROM: 528 MHz
    {0x40, "PLL_SYS_SS", 0x00000000},
    {0x50, "PLL_SYS_NUM", 0x00000000, 0x3FFFFFFF},
    {0x60, "PLL_SYS_DENOM", 0x00000012, 0x3FFFFFFF},
    {0x70, "PLL_AUDIO", 0x00011006, 0x0019F07F, kSct},
    {0x80, "PLL_AUDIO_NUM", 0x05F5E100, 0x3FFFFFFF},
    {0x90, "PLL_AUDIO_DENOM", 0x2964619C, 0x3FFFFFFF},
    {0xA0, "PLL_VIDEO", 0x0001100C, 0x0019F07F, kSct},
    {0xB0, "PLL_VIDEO_NUM", 0x05F5E100, 0x3FFFFFFF},
    {0xC0, "PLL_VIDEO_DENOM", 0x10A24447, 0x3FFFFFFF},
    {0xE0, "PLL_ENET", 0x00011001, 0x0031F00F, kSct},
    {0xF0, "PFD_480", 0x0F1A230E, 0xBFBFBFBF, kSct},   // ROM, see above
    {0x100, "PFD_528", 0x18131818, 0xBFBFBFBF, kSct},  // ROM
    {0x110, "REG_1P1", 0x00001073, 0x000C1F7F, kSct},
    {0x120, "REG_3P0", 0x00000F74, 0x00001FF7, kSct},
    {0x130, "REG_2P5", 0x00001073, 0x00041F7F, kSct},
    {0x140, "REG_CORE", 0x00482012, 0x3FFFFFFF, kSct},
    {0x150, "MISC0", 0x04000000, 0xDE017C79, kSct},
    {0x160, "MISC1", 0x00000000, 0x00033FFF, kSct},
    {0x170, "MISC2", 0x00272727, 0xFFA0A0A0, kSct},
    {0x180, "TEMPSENSE0", 0x00000001, 0xFFF00003, kSct},
    {0x190, "TEMPSENSE1", 0x00000001, 0x0000FFFF, kSct},
    {0x1A0, "USB1_VBUS_DETECT", 0x00100004, 0x0C100007, kSct},
    {0x1B0, "USB1_CHRG_DETECT", 0x00000000, 0x001C0000, kSct},
    {0x1C0, "USB1_VBUS_DETECT_STAT", 0x00000000, 0x00000000},
    {0x1F0, "USB1_MISC", 0x00000002, 0x40000003, kSct},
    {0x200, "USB2_VBUS_DETECT", 0x00100004, 0x0C100007, kSct},
    {0x210, "USB2_CHRG_DETECT", 0x00000000, 0x001C0000, kSct},
    {0x220, "USB2_VBUS_DETECT_STAT", 0x00000000, 0x00000000},
    {0x250, "USB2_MISC", 0x00000002, 0x40000003, kSct},
    {0x260, "DIGPROG", 0x006C0000, 0x00000000},
    {0x270, "LOWPWR_CTRL", 0x00004001, 0x0006EFF1, kSct},
    {0x290, "TEMPSENSE2", 0x00000000, 0x0FFF0FFF, kSct},
    {0x2A0, "OSC_CONFIG0", 0x00001020, 0x000FFFFF, kSct},
    {0x2B0, "OSC_CONFIG1", 0x000002EE, 0x00000FFF, kSct},
    {0x2C0, "OSC_CONFIG2", 0x000102E2, 0x00030FFF, kSct},
};

constexpr uint64_t kNotPowered = UINT64_MAX;

}  // namespace

struct CcmAnalog::Pll {
  uint32_t offset;
  bool power_is_positive;
  uint32_t divider;  // bits that make it lock anew
  uint64_t lock_cycles;

  bool powered(uint32_t value) const { return ((value & kPower) != 0) == power_is_positive; }
};

const std::array<CcmAnalog::Pll, 7> CcmAnalog::kPlls = {{
    {kPllArm, false, 0x7F, 2250},
    {kPllUsb1, true, 0x02, 383},
    {kPllUsb2, true, 0x02, 383},
    {kPllSys, false, 0x01, 11250},
    {kPllAudio, false, 0x7F, 11250},
    {kPllVideo, false, 0x7F, 11250},
    {kPllEnet, false, 0x00, 11250},
}};

CcmAnalog::CcmAnalog(DeviceHost& host, Clocks& clocks, const CcmAnalogOptions& options)
    : host_(host), clocks_(clocks), options_(options), registers_(kTable, 4, *this, host) {
  clocks_.add_user(*this);
  power_up();
}

void CcmAnalog::reset() {
  power_up();
  check_temperature();
  if (listener_) listener_(host_.events().now());
}

void CcmAnalog::power_up() {
  registers_.reset();
  reference_.start(host_.events().now(), kCrystalHz, clocks_.hz(Clock::core));
  for (size_t i = 0; i < kPlls.size(); ++i) {
    lock_at_[i] = kPlls[i].powered(registers_[kPlls[i].offset]) ? 0 : kNotPowered;
  }
}

void CcmAnalog::after_clock_change(Cycles now) {
  reference_.change(now, kCrystalHz, clocks_.hz(Clock::core));
}

uint32_t CcmAnalog::read(uint32_t offset, unsigned size, Cycles now) {
  // What hardware drives is put in place first, so that parts and aliases read alike.
  const uint32_t group = offset & ~0xFu;
  for (size_t i = 0; i < kPlls.size(); ++i) {
    if (kPlls[i].offset != group) continue;
    uint32_t& value = registers_[group];
    value = (value & ~kLock) | (reference_.count(now) >= lock_at_[i] ? kLock : 0);
  }
  switch (group) {
    case kReg1p1:
    case kReg3p0:
    case kReg2p5: {
      uint32_t& value = registers_[group];
      value = (value & ~kRegulatorOk) | ((value & kRegulatorOn) != 0 ? kRegulatorOk : 0);
      break;
    }
    case kMisc0: {
      uint32_t& value = registers_[group];
      value &= ~(kBandgapUp | kCrystalOk);
      value |= kRtcCrystal;
      if ((value & kBandgapOff) == 0) value |= kBandgapUp;
      if ((value & kCrystalOkDetector) != 0) value |= kCrystalOk;
      break;
    }
    case kTempSense0: {
      uint32_t& value = registers_[group];
      value &= ~(0xFFF00u | kFinished);
      if (measured()) value |= (temperature_count() << 8) | kFinished;
      break;
    }
    case kUsb1VbusStat:
      registers_[group] = vbus_[0] ? kVbusPresent : kVbusAbsent;
      break;
    case kUsb2VbusStat:
      registers_[group] = vbus_[1] ? kVbusPresent : kVbusAbsent;
      break;
    case kLowPower:
      registers_[group] |= kCrystalPoweredUp;
      break;
    default:
      break;
  }
  return registers_.read(offset, size);
}

void CcmAnalog::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  const uint32_t set = change.after & ~change.before;
  switch (change.offset) {
    case kPllArm:
    case kPllUsb1:
    case kPllUsb2:
    case kPllSys:
    case kPllAudio:
    case kPllVideo:
    case kPllEnet:
      pll_written(change, now);
      break;
    case kPfd480:
    case kPfd528:
      pfds_written(change);
      break;
    case kMisc0:
      if ((set & kCrystalOff) != 0) host_.report_unknown(*this, kMisc0, true);
      return;
    case kMisc1:  // the interrupt flags are cleared by writing 1
      registers_[kMisc1] &= ~(change.written & kIrqStatus);
      check_temperature();
      return;
    case kLowPower:
      if ((set & kOscillatorRc) != 0) host_.report_unknown(*this, kLowPower, true);
      return;
    case kTempSense0:
    case kTempSense2:
      check_temperature();
      return;
    case kPllSysNum:
    case kPllSysDenom:
      break;
    default:
      return;
  }
  if (listener_) listener_(now);
}

void CcmAnalog::pll_written(const RegisterChange& change, Cycles now) {
  for (size_t i = 0; i < kPlls.size(); ++i) {
    const Pll& pll = kPlls[i];
    if (pll.offset != change.offset) continue;
    if (!pll.powered(change.after)) {
      lock_at_[i] = kNotPowered;
    } else if (!pll.powered(change.before) || ((change.before ^ change.after) & pll.divider) != 0) {
      lock_at_[i] = reference_.count(now) + (options_.lock_time ? pll.lock_cycles : 0);
    }
  }
}

// Each STABLE bit inverts when a new fraction has taken effect, here at once.
void CcmAnalog::pfds_written(const RegisterChange& change) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    if ((((change.before ^ change.after) >> shift) & 0x3F) != 0) {
      registers_[change.offset] ^= 0x40u << shift;
    }
  }
}

// BYPASS and ENABLE stand behind the PLL: a bypassed one gives its reference, powered or not. The
// second reference, CLK1, is not connected on the board.
uint64_t CcmAnalog::pll(uint32_t offset, uint64_t locked_hz) const {
  const uint32_t value = registers_[offset];
  if ((value & kEnable) == 0 || (value & kBypassSource) != 0) return 0;
  if ((value & kBypass) != 0) return kCrystalHz;
  for (const Pll& pll : kPlls) {
    if (pll.offset == offset) return pll.powered(value) ? locked_hz : 0;
  }
  return 0;
}

// Fractions outside 12..35 are not specified; they count as the nearest that is.
std::array<uint64_t, 4> CcmAnalog::pfds(uint64_t pll_hz, uint32_t fractions) {
  std::array<uint64_t, 4> hz{};
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t pfd = fractions >> (8 * i);
    if ((pfd & 0x80) != 0) continue;  // CLKGATE
    hz[i] = pll_hz * 18 / std::clamp(pfd & 0x3F, 12u, 35u);
  }
  return hz;
}

PllOutputs CcmAnalog::outputs() const {
  PllOutputs out;
  out.arm = pll(kPllArm, kCrystalHz * (registers_[kPllArm] & 0x7F) / 2);
  const uint64_t usb_factor = (registers_[kPllUsb1] & 2) != 0 ? 22 : 20;
  out.usb1 = pll(kPllUsb1, kCrystalHz * usb_factor);
  // PLL2 = 24 MHz * (20 or 22 + NUM / DENOM); NUM is signed, and smaller than DENOM by
  // specification. Anything else counts as no fraction.
  uint64_t sys = kCrystalHz * ((registers_[kPllSys] & 1) != 0 ? 22 : 20);
  const int64_t numerator = static_cast<int32_t>(registers_[kPllSysNum] << 2) >> 2;
  const int64_t denominator = registers_[kPllSysDenom];
  if (numerator < denominator && -numerator < denominator) {
    const int64_t part = static_cast<int64_t>(kCrystalHz) * numerator / denominator;
    sys = static_cast<uint64_t>(static_cast<int64_t>(sys) + part);
  }
  out.sys = pll(kPllSys, sys);
  out.sys_pfd = pfds(out.sys, registers_[kPfd528]);
  out.usb1_pfd = pfds(out.usb1, registers_[kPfd480]);
  return out;
}

void CcmAnalog::set_celsius(int celsius) {
  options_.celsius = celsius;
  check_temperature();
}

// A measurement takes no time.
bool CcmAnalog::measured() const {
  return (registers_[kTempSense0] & (kSensorOff | kMeasure)) == kMeasure;
}

// The sensor's characteristic is a line through two fused points, (25, room) and (hot, count); the
// count falls as the temperature rises (IMXRT1060RM chapter 19).
uint32_t CcmAnalog::temperature_count() const {
  const int hot = static_cast<int>(options_.calibration & 0xFF);
  const int hot_count = static_cast<int>((options_.calibration >> 8) & 0xFFF);
  const int room_count = static_cast<int>(options_.calibration >> 20);
  if (hot <= 25) return static_cast<uint32_t>(room_count);  // an empty fuse
  const int above_hot = hot - options_.celsius;
  const int count = hot_count + above_hot * (room_count - hot_count) / (hot - 25);
  return static_cast<uint32_t>(std::clamp(count, 0, 0xFFF));
}

// Alarms: high and panic at a count at or below theirs, low at or above. A low alarm of 0, its
// reset value, is taken as none.
void CcmAnalog::check_temperature() {
  if (measured()) {
    const uint32_t count = temperature_count();
    const uint32_t low = registers_[kTempSense2] & 0xFFF;
    uint32_t flags = 0;
    if (count <= registers_[kTempSense0] >> 20) flags |= kTemperatureHigh;
    if (count <= (registers_[kTempSense2] >> 16 & 0xFFF)) flags |= kTemperaturePanic;
    if (low != 0 && count >= low) flags |= kTemperatureLow;
    registers_[kMisc1] |= flags;
  }
  const uint32_t flags = registers_[kMisc1];
  host_.set_interrupt(kTemperatureIrq, (flags & (kTemperatureLow | kTemperatureHigh)) != 0);
  host_.set_interrupt(kTemperaturePanicIrq, (flags & kTemperaturePanic) != 0);
}

void CcmAnalog::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  reference_.snapshot(s);
  s.field("lock_at", lock_at_);
  s.field("vbus", vbus_);
}

}  // namespace millrace::board
