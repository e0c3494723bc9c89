// SPDX-License-Identifier: Apache-2.0
// A trigger waits its initial delay, then asks the converter for one segment after the other; each
// segment names the converter's HCn (HWTS) and its channel (CSEL). Between segments stands the
// sample interval unless B2B is set. If two triggers want one converter, the higher priority has
// it, and of equal ones the lower number; a conversion that runs is not interrupted.
#include "devices/adc_etc.h"

#include <algorithm>
#include <bit>

namespace millrace::board {
namespace {

constexpr uint32_t kCtrl = 0x00, kDone01 = 0x04, kDone2Err = 0x08, kDmaCtrl = 0x0C, kTrig0 = 0x10;
constexpr uint32_t kStride = 0x28;
constexpr uint32_t kTrigCtrl = 0x00, kCounter = 0x04, kChain = 0x08, kResult = 0x18;
constexpr uint32_t kSoftrst = 1u << 31, kTscBypass = 1u << 30, kTouch = 0xFF00;
constexpr uint32_t kSwTrig = 1, kTrigMode = 1u << 4, kSyncMode = 1u << 16;
constexpr uint32_t kB2b = 1u << 12;

constexpr auto make_table() {
  constexpr RegisterSpec kGlobal[] = {
      {kCtrl, "CTRL", 0xC0000000, 0xE0FFFFFF},
      {kDone01, "DONE0_1_IRQ", 0, 0x00FF00FF, RegisterKind::one_clears},
      {kDone2Err, "DONE2_ERR_IRQ", 0, 0x00FF00FF, RegisterKind::one_clears},
      {kDmaCtrl, "DMA_CTRL", 0, 0x000000FF},
  };
  constexpr RegisterSpec kTrigger[] = {
      {0x00, "TRIG_CTRL", 0, 0x00017710},      {0x04, "TRIG_COUNTER"},
      {0x08, "TRIG_CHAIN_1_0", 0, 0x7FFF7FFF}, {0x0C, "TRIG_CHAIN_3_2", 0, 0x7FFF7FFF},
      {0x10, "TRIG_CHAIN_5_4", 0, 0x7FFF7FFF}, {0x14, "TRIG_CHAIN_7_6", 0, 0x7FFF7FFF},
      {0x18, "TRIG_RESULT_1_0", 0, 0},         {0x1C, "TRIG_RESULT_3_2", 0, 0},
      {0x20, "TRIG_RESULT_5_4", 0, 0},         {0x24, "TRIG_RESULT_7_6", 0, 0},
  };
  std::array<RegisterSpec, std::size(kGlobal) + AdcEtc::kTriggers * std::size(kTrigger)> table{};
  size_t n = 0;
  for (const RegisterSpec& spec : kGlobal) table[n++] = spec;
  for (uint32_t i = 0; i < AdcEtc::kTriggers; ++i) {
    for (RegisterSpec spec : kTrigger) {
      spec.offset += kTrig0 + i * kStride;
      table[n++] = spec;
    }
  }
  return table;
}
constexpr auto kTable = make_table();

}  // namespace

AdcEtc::AdcEtc(DeviceHost& host, Clocks& clocks, Adc& adc1, Adc& adc2, DmaLine dma)
    : host_(host),
      clocks_(clocks),
      adcs_{&adc1, &adc2},
      dma_(std::move(dma)),
      registers_(kTable, 4, *this, host),
      event_(&AdcEtc::on_event, this) {
  clocks.add_user(*this);
  ticks_.start(host.events().now(), clocks.hz(Clock::ipg), clocks.hz(Clock::core));
  for (unsigned i = 0; i < 2; ++i) {
    adcs_[i]->set_done([this, i](unsigned, uint16_t value, Cycles when) { done(i, value, when); });
  }
}

void AdcEtc::before_clock_change(Cycles now) { settle(now); }

void AdcEtc::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  update();
}

void AdcEtc::on_event(void* context, Cycles when) {
  AdcEtc* self = static_cast<AdcEtc*>(context);
  self->settle(when);
  self->update();
}

void AdcEtc::reset() {
  registers_.reset();
  chains_ = {};
  update();
}

uint32_t& AdcEtc::reg(unsigned trigger, uint32_t offset) {
  return registers_[kTrig0 + trigger * kStride + offset];
}

uint32_t AdcEtc::reg(unsigned trigger, uint32_t offset) const {
  return registers_[kTrig0 + trigger * kStride + offset];
}

uint32_t AdcEtc::segment(unsigned trigger) const {
  const unsigned n = chains_[trigger].segment;
  return reg(trigger, kChain + n / 2 * 4) >> (16 * (n % 2)) & 0xFFFF;
}

uint64_t AdcEtc::delay(uint32_t counts) const {
  const uint64_t divider = (registers_[kCtrl] >> 16 & 0xFF) + 1;
  return (counts + uint64_t{1}) * divider;
}

void AdcEtc::start(unsigned trigger, Cycles when) {
  Chain& chain = chains_[trigger];
  if (chain.phase != Phase::idle) {  // it came too soon
    registers_[kDone2Err] |= 0x10000u << trigger;
    return;
  }
  chain.segment = 0;
  begin(trigger, ticks_.count(when) + delay(reg(trigger, kCounter) & 0xFFFF));
}

void AdcEtc::begin(unsigned trigger, uint64_t tick) {
  chains_[trigger].phase = Phase::waiting;
  chains_[trigger].due = tick;
}

void AdcEtc::trigger(unsigned number, Cycles when) {
  settle(when);
  const uint32_t control = registers_[kCtrl];
  const bool enabled = (control & kSoftrst) == 0 && (control >> number & 1) != 0;
  if (!enabled || (reg(number, kTrigCtrl) & kTrigMode) != 0) return;
  start(number, when);
  if (number < 4 && (reg(number, kTrigCtrl) & kSyncMode) != 0) start(number + 4, when);
  update();
}

void AdcEtc::dispatch(Cycles when) {
  for (unsigned adc = 0; adc < 2; ++adc) {
    if (adc == 1 && (registers_[kCtrl] & kTscBypass) != 0) continue;
    int best = -1;
    bool converting = false;
    for (unsigned i = 4 * adc; i < 4 * adc + 4; ++i) {
      converting = converting || chains_[i].phase == Phase::converting;
      if (chains_[i].phase != Phase::ready) continue;
      const uint32_t priority = reg(i, kTrigCtrl) >> 12 & 7;
      if (best < 0 || priority > (reg(static_cast<unsigned>(best), kTrigCtrl) >> 12 & 7)) {
        best = static_cast<int>(i);
      }
    }
    if (best < 0 || converting) continue;
    const uint32_t bits = segment(static_cast<unsigned>(best));
    const uint32_t selects = bits >> 4 & 0xFF;
    if (selects == 0) continue;  // no HCn: waits for ever, as the manual's state machine does
    const unsigned group = static_cast<unsigned>(std::countr_zero(selects));
    if (adcs_[adc]->trigger(group, bits & 0xF, when)) {
      chains_[static_cast<size_t>(best)].phase = Phase::converting;
    }
  }
}

void AdcEtc::done(unsigned adc, uint16_t value, Cycles when) {
  for (unsigned i = 4 * adc; i < 4 * adc + 4; ++i) {
    Chain& chain = chains_[i];
    if (chain.phase != Phase::converting) continue;
    const uint32_t bits = segment(i);
    uint32_t& result = reg(i, kResult + chain.segment / 2u * 4);
    const unsigned shift = 16 * (chain.segment % 2u);
    result = (result & ~(0xFFFFu << shift)) | uint32_t{value} << shift;
    switch (bits >> 13 & 3) {  // IE
      case 1:
        registers_[kDone01] |= 1u << i;
        break;
      case 2:
        registers_[kDone01] |= 0x10000u << i;
        break;
      case 3:
        registers_[kDone2Err] |= 1u << i;
        break;
      default:
        break;
    }
    if (chain.segment == (reg(i, kTrigCtrl) >> 8 & 7)) {
      chain = {};
      if ((registers_[kDmaCtrl] >> i & 1) != 0) registers_[kDmaCtrl] |= 0x10000u << i;
    } else {
      ++chain.segment;
      if ((bits & kB2b) != 0) {
        chain.phase = Phase::ready;
      } else {
        begin(i, ticks_.count(when) + delay(reg(i, kCounter) >> 16));
      }
    }
  }
  dispatch(when);
  update();
}

void AdcEtc::settle(Cycles now) {
  const uint64_t tick = ticks_.count(now);
  for (;;) {
    uint64_t first = UINT64_MAX;
    for (const Chain& c : chains_) {
      if (c.phase == Phase::waiting) first = std::min(first, c.due);
    }
    if (first > tick) return;
    for (Chain& c : chains_) {
      if (c.phase == Phase::waiting && c.due == first) c.phase = Phase::ready;
    }
    dispatch(ticks_.when(first));
  }
}

void AdcEtc::update() {
  const uint32_t done01 = registers_[kDone01], done2 = registers_[kDone2Err];
  const uint8_t lines =
      static_cast<uint8_t>(((done01 & 0xFF) != 0 ? 1u : 0u) | (done01 >> 16 != 0 ? 2u : 0u) |
                           ((done2 & 0xFF) != 0 ? 4u : 0u) | (done2 >> 16 != 0 ? 8u : 0u));
  for (unsigned i = 0; i < 4; ++i) {
    if (((lines ^ lines_) >> i & 1) != 0) host_.set_interrupt(kIrqDone0 + i, lines >> i & 1);
  }
  lines_ = lines;
  const uint32_t dma = registers_[kDmaCtrl];
  const bool request = (dma >> 16 & dma & 0xFF) != 0;
  if (request != request_) {
    request_ = request;
    if (dma_) dma_(kDmaSource, request);
  }
  uint64_t first = UINT64_MAX;
  for (const Chain& c : chains_) {
    if (c.phase == Phase::waiting) first = std::min(first, c.due);
  }
  schedule_at(host_.events(), event_, first == UINT64_MAX ? kNever : ticks_.when(first));
}

uint32_t AdcEtc::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  const uint32_t value = registers_.read(offset, size);
  update();
  return value;
}

void AdcEtc::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size, value);
  const RegisterChange change = registers_.write(offset, size, value);
  if (lanes.offset == kCtrl) {
    if ((change.after & ~change.before & kTouch) != 0) host_.report_unknown(*this, kCtrl, true);
    if ((change.after & kSoftrst) != 0) {
      const uint32_t control = change.after;
      registers_.reset();
      registers_[kCtrl] = control;
      chains_ = {};
    }
  } else if (lanes.offset == kDmaCtrl) {
    registers_[kDmaCtrl] &= ~(lanes.bits & 0x00FF0000);
  } else if (change.known && lanes.offset >= kTrig0 &&
             (lanes.offset - kTrig0) % kStride == kTrigCtrl) {
    const unsigned trigger = (lanes.offset - kTrig0) / kStride;
    const bool software = (change.after & kTrigMode) != 0;
    if ((lanes.bits & kSwTrig) != 0 && software && (registers_[kCtrl] & kSoftrst) == 0) {
      start(trigger, now);
      if (trigger < 4 && (change.after & kSyncMode) != 0) start(trigger + 4, now);
    }
  }
  dispatch(now);
  update();
}

void AdcEtc::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  for (Chain& c : chains_) {
    s.field("phase", c.phase);
    s.field("segment", c.segment);
    s.field("due", c.due);
    if (c.phase > Phase::converting || c.segment > 7) {
      s.fail("phase", "is no state of a trigger");
      c = {};
    }
  }
  s.field("lines", lines_);
  s.field("request", request_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
