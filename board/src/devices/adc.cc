// SPDX-License-Identifier: Apache-2.0
// A conversion takes SFCAdder + AverageNum * (BCT + LSTAdder) (chapter 66):
//
//   SFCAdder  4 ADCK + 2 bus cycles for a single or the first continuous conversion; with the
//             asynchronous clock not kept on (ADACKEN 0) 1.5 us more, in which it starts
//   BCT       17, 21, 25 ADCK for 8, 10, 12 bits
//   LSTAdder  3, 5, 7, 9 ADCK by ADSTS; with ADLSMP 13, 17, 21, 25
//
// (The Linux driver of the same converter in the Vybrid counts alike: 6 + n * (25 + 3).) The
// signal is looked at when each sample time ends, once for each of the averaged conversions. The
// length of a calibration is not printed for this part: 14,000 ADCK are what NXP prints for the
// converter of the Kinetis K parts, inferred here.
#include "devices/adc.h"

#include <algorithm>
#include <cmath>

namespace millrace::board {
namespace {

constexpr uint32_t kHc0 = 0x00, kHs = 0x20, kR0 = 0x24, kCfg = 0x44, kGc = 0x48, kGs = 0x4C,
                   kCv = 0x50, kOfs = 0x54, kCal = 0x58;
constexpr uint32_t kAien = 1u << 7, kAdch = 0x1F;
constexpr uint32_t kChannelOff = 31, kChannelByEtc = 16, kChannelReference = 25;
constexpr uint32_t kAdtrg = 1u << 13, kAdhsc = 1u << 10, kAdlsmp = 1u << 4;
constexpr uint32_t kGcCal = 1u << 7, kAdco = 1u << 6, kAvge = 1u << 5, kAcfe = 1u << 4,
                   kAcfgt = 1u << 3, kAcren = 1u << 2, kDmaen = 1u << 1, kAdacken = 1u << 0;
constexpr uint32_t kCalf = 2, kAdact = 1;

constexpr uint64_t kAdackHz = 10'000'000;  // IMXRT1060CEC, ADC; twice with ADHSC
constexpr uint32_t kCalibrationAdck = 14'000;
constexpr uint32_t kFirstAdck = 4, kFirstBus = 2;

constexpr RegisterSpec kTable[] = {
    {0x00, "HC0", 0x1F, 0x9F}, {0x04, "HC1", 0x1F, 0x9F}, {0x08, "HC2", 0x1F, 0x9F},
    {0x0C, "HC3", 0x1F, 0x9F}, {0x10, "HC4", 0x1F, 0x9F}, {0x14, "HC5", 0x1F, 0x9F},
    {0x18, "HC6", 0x1F, 0x9F}, {0x1C, "HC7", 0x1F, 0x9F}, {kHs, "HS", 0, 0},
    {0x24, "R0", 0, 0},        {0x28, "R1", 0, 0},        {0x2C, "R2", 0, 0},
    {0x30, "R3", 0, 0},        {0x34, "R4", 0, 0},        {0x38, "R5", 0, 0},
    {0x3C, "R6", 0, 0},        {0x40, "R7", 0, 0},        {kCfg, "CFG", 0x200, 0x1FFFF},
    {kGc, "GC", 0, 0xFF},      {kGs, "GS", 0, 0},         {kCv, "CV", 0, 0x0FFF0FFF},
    {kOfs, "OFS", 0, 0x1FFF},  {kCal, "CAL", 0, 0xF},
};

}  // namespace

Adc::Adc(DeviceHost& host, Clocks& clocks, unsigned number, AdcSignal signal, DmaLine dma)
    : host_(host),
      clocks_(clocks),
      number_(number),
      signal_(std::move(signal)),
      dma_(std::move(dma)),
      registers_(kTable, 4, *this, host),
      event_(&Adc::on_event, this) {
  clocks.add_user(*this);
  nanoseconds_.start(host.events().now(), 1'000'000'000, clocks.hz(Clock::core));
}

void Adc::before_clock_change(Cycles now) {
  settle(now);
  old_source_hz_ = source_hz();
  old_core_hz_ = clocks_.hz(Clock::core);
}

void Adc::after_clock_change(Cycles now) {
  nanoseconds_.change(now, 1'000'000'000, clocks_.hz(Clock::core));
  const unsigned __int128 per_cycle = static_cast<unsigned __int128>(old_core_hz_) * source_hz();
  if (activity_ != Activity::none && per_cycle != 0 && end_ != kNever) {
    // What remains, in cycles of the new core clock.
    const unsigned __int128 rest = end_ - now;
    end_ = now + static_cast<Cycles>(rest * clocks_.hz(Clock::core) * old_source_hz_ / per_cycle);
  }
  update();
}

void Adc::on_event(void* context, Cycles when) {
  Adc* self = static_cast<Adc*>(context);
  self->settle(when);
  self->update();
}

void Adc::reset() {
  registers_.reset();
  abort();
  update();
}

uint64_t Adc::source_hz() const {
  const uint32_t config = registers_[kCfg];
  switch (config & 3) {
    case 0:
      return clocks_.hz(Clock::ipg);
    case 1:
      return clocks_.hz(Clock::ipg) / 2;
    case 3:
      return (config & kAdhsc) != 0 ? 2 * kAdackHz : kAdackHz;
    default:  // reserved
      return 0;
  }
}

uint64_t Adc::divider() const { return uint64_t{1} << (registers_[kCfg] >> 5 & 3); }

Cycles Adc::adck(uint64_t cycles) const {
  const uint64_t hz = source_hz();
  if (hz == 0) return kNever;
  return (cycles * divider() * clocks_.hz(Clock::core) + hz - 1) / hz;
}

uint32_t Adc::sample_adck() const {
  const uint32_t config = registers_[kCfg];
  const uint32_t step = config >> 8 & 3;
  return (config & kAdlsmp) != 0 ? 13 + 4 * step : 3 + 2 * step;
}

uint32_t Adc::conversion_adck() const { return 2 * bits() + 1 + sample_adck(); }

unsigned Adc::averages() const {
  return (registers_[kGc] & kAvge) != 0 ? 4u << (registers_[kCfg] >> 14 & 3) : 1;
}

unsigned Adc::bits() const {
  const uint32_t mode = registers_[kCfg] >> 2 & 3;
  return mode == 0 ? 8 : mode == 1 ? 10 : 12;
}

void Adc::start(unsigned group, unsigned channel, bool hardware, bool first, Cycles now) {
  activity_ = Activity::conversion;
  group_ = static_cast<uint8_t>(group);
  channel_ = static_cast<uint8_t>(channel);
  hardware_ = hardware;
  first_sample_ = now;
  lead_ = 0;
  if (first) {
    const uint64_t core = clocks_.hz(Clock::core);
    const uint64_t ipg = std::max<uint64_t>(clocks_.hz(Clock::ipg), 1);
    first_sample_ += (kFirstBus * core + ipg - 1) / ipg;
    const bool asynchronous = (registers_[kCfg] & 3) == 3;
    if (asynchronous && (registers_[kGc] & kAdacken) == 0) first_sample_ += core * 3 / 2'000'000;
    lead_ = kFirstAdck;
  }
  const Cycles length = adck(lead_ + uint64_t{averages()} * conversion_adck());
  end_ = length == kNever ? kNever : first_sample_ + length;
}

void Adc::abort() {
  activity_ = Activity::none;
  end_ = kNever;
}

bool Adc::trigger(unsigned group, unsigned channel, Cycles now) {
  settle(now);
  const uint32_t selected = registers_[kHc0 + 4 * group] & kAdch;
  if (busy() || (registers_[kCfg] & kAdtrg) == 0 || selected == kChannelOff) return false;
  start(group, selected == kChannelByEtc ? channel : selected, true, true, now);
  update();
  return true;
}

uint32_t Adc::sample(Cycles when) const {
  double volts = 0;
  if (channel_ == kChannelReference) {
    volts = kReferenceVolts;
  } else if (signal_) {
    volts = signal_(number_, channel_, static_cast<double>(nanoseconds_.count(when)) * 1e-9);
  }
  const double full = static_cast<double>(1u << bits());
  const double code = std::floor(volts / kReferenceVolts * full + 0.5);
  if (!(code > 0)) return 0;  // also for NaN
  return static_cast<uint32_t>(std::min(code, full - 1));
}

uint32_t Adc::result() const {
  uint64_t sum = 0;
  const unsigned count = std::max(averages(), 1u);
  for (unsigned i = 0; i < count; ++i) {
    sum += sample(first_sample_ + adck(lead_ + uint64_t{i} * conversion_adck() + sample_adck()));
  }
  int64_t value = static_cast<int64_t>(sum / count);
  const int64_t offset = registers_[kOfs] & 0xFFF;  // OFS: SIGN 1 subtracts
  value += (registers_[kOfs] & 0x1000) != 0 ? -offset : offset;
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, (1 << bits()) - 1));
}

// The compare function of GC.ACFE, ACFGT and ACREN.
bool Adc::compare_allows(uint32_t value) const {
  const uint32_t control = registers_[kGc];
  if ((control & kAcfe) == 0) return true;
  const uint32_t low = registers_[kCv] & 0xFFF, high = registers_[kCv] >> 16 & 0xFFF;
  const bool greater = (control & kAcfgt) != 0;
  if ((control & kAcren) == 0) return greater ? value >= low : value < low;
  if (low <= high) {
    return greater ? value >= low && value <= high : value < low || value > high;
  }
  return greater ? value >= low || value <= high : value < low && value > high;
}

void Adc::finish() {
  const Cycles when = end_;
  if (activity_ == Activity::calibration) {
    abort();
    registers_[kGc] &= ~kGcCal;
    registers_[kHs] |= 1;  // calibration ends with COCO0
    return;
  }
  const uint32_t value = result();
  const unsigned group = group_;
  const bool hardware = hardware_;
  abort();
  if ((registers_[kGc] & kAdco) != 0) start(group, channel_, hardware, false, when);
  if (!compare_allows(value)) return;
  if (hardware && done_) {
    done_(group, static_cast<uint16_t>(value), when);
  } else {
    registers_[kR0 + 4 * group] = value;
    registers_[kHs] |= 1u << group;
  }
}

void Adc::settle(Cycles now) {
  while (end_ <= now) finish();
}

void Adc::update() {
  bool level = false;
  for (unsigned i = 0; i < kGroups; ++i) {
    level = level || ((registers_[kHs] >> i & 1) != 0 && (registers_[kHc0 + 4 * i] & kAien) != 0);
  }
  if (level != level_) {
    level_ = level;
    host_.set_interrupt(number_ == 1 ? kIrq1 : kIrq2, level);
  }
  schedule_at(host_.events(), event_, end_);
  const bool request = (registers_[kGc] & kDmaen) != 0 && registers_[kHs] != 0;
  if (request != request_) {
    request_ = request;
    if (dma_) dma_(number_ == 1 ? 24 : 88, request);
  }
}

uint32_t Adc::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size);
  uint32_t value = registers_.read(offset, size);
  if (lanes.offset >= kR0 && lanes.offset < kR0 + 4 * kGroups) {
    registers_[kHs] &= ~(1u << (lanes.offset - kR0) / 4);
  } else if (lanes.offset == kGs) {
    value |= lanes.extract(activity_ == Activity::conversion ? kAdact : 0);
  }
  update();
  return value;
}

void Adc::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size, value);
  if (activity_ == Activity::calibration) {  // a write makes it fail: CALF
    abort();
    registers_[kGc] &= ~kGcCal;
    registers_[kGs] |= kCalf;
  }
  const RegisterChange change = registers_.write(offset, size, value);
  if (lanes.offset < kHs) {
    const unsigned group = (lanes.offset - kHc0) / 4;
    registers_[kHs] &= ~(1u << group);
    if (activity_ == Activity::conversion && group == group_) abort();
    const uint32_t channel = change.after & kAdch;
    const bool software = (registers_[kCfg] & kAdtrg) == 0;
    if (group == 0 && software) {
      abort();
      if (channel != kChannelOff) start(0, channel, false, true, now);
    }
  } else if (lanes.offset == kGs) {
    registers_[kGs] &= ~(lanes.bits & kCalf);
  } else if (change.known && lanes.offset >= kCfg) {
    abort();  // a write to the configuration ends a conversion
    if (lanes.offset == kCfg && (change.after & 3) == 2) {
      host_.report_unknown(*this, kCfg, true);
    }
    if (lanes.offset == kGc && (change.after & kGcCal) != 0) {
      activity_ = Activity::calibration;
      registers_[kGs] &= ~kCalf;
      registers_[kHs] = 0;
      const Cycles length = adck(kCalibrationAdck);
      end_ = length == kNever ? kNever : now + length;
    }
  }
  update();
}

void Adc::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  nanoseconds_.snapshot(s);
  s.field("activity", activity_);
  s.field("group", group_);
  s.field("channel", channel_);
  s.field("hardware", hardware_);
  s.field("first_sample", first_sample_);
  s.field("lead", lead_);
  s.field("end", end_);
  s.field("level", level_);
  s.field("request", request_);
  if (activity_ > Activity::calibration || group_ >= kGroups) {
    s.fail("activity", "is no state of a conversion");
    group_ = 0;
    abort();
  }
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
