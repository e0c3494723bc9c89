// SPDX-License-Identifier: Apache-2.0
// A submodule goes from point to point: the counts at which it equals one of VAL0..5, and the count
// after VAL1, at which INIT is loaded and, every LDFQ + 1 times, the buffered registers if LDOK is
// set. Where nobody looks, whole periods are skipped once all that counting can change has changed;
// a flag whose value the counter never reaches is not waited for.
//
// The prescaler is taken from one divider that runs free.
#include "devices/flexpwm.h"

#include <algorithm>

namespace millrace::board {
namespace {

constexpr uint32_t kStride = 0x60;
// Of a submodule.
constexpr uint32_t kCnt = 0x00, kInit = 0x02, kCtrl2 = 0x04, kCtrl = 0x06, kVal0 = 0x0A,
                   kVal5 = 0x1E, kSts = 0x24, kInten = 0x26, kDmaen = 0x28, kTctrl = 0x2A,
                   kCaptctrla = 0x34, kCval0 = 0x40;
constexpr uint32_t kMctrl = 0x188;
// CTRL2.
constexpr uint32_t kInitSel = 3u << 8, kClkSel = 3u << 0;
// CTRL.
constexpr uint32_t kHalf = 1u << 11, kPrsc = 7u << 4, kLdmod = 1u << 2;
// STS and INTEN.
constexpr uint32_t kRuf = 1u << 14, kRef = 1u << 13, kRf = 1u << 12, kCmpf = 0x3F;
constexpr uint32_t kValde = 1u << 9;      // DMAEN
constexpr uint32_t kReadRequests = 0xFF;  // DMAEN: of captures

constexpr RegisterSpec kSubmodule[] = {
    {0x00, "CNT", 0, 0},
    {0x02, "INIT", 0, 0xFFFF},
    {0x04, "CTRL2", 0, 0xFFBF},
    {0x06, "CTRL", 0x400, 0xFCFF},
    {0x0A, "VAL0", 0, 0xFFFF},
    {0x0C, "FRACVAL1", 0, 0xF800},
    {0x0E, "VAL1", 0, 0xFFFF},
    {0x10, "FRACVAL2", 0, 0xF800},
    {0x12, "VAL2", 0, 0xFFFF},
    {0x14, "FRACVAL3", 0, 0xF800},
    {0x16, "VAL3", 0, 0xFFFF},
    {0x18, "FRACVAL4", 0, 0xF800},
    {0x1A, "VAL4", 0, 0xFFFF},
    {0x1C, "FRACVAL5", 0, 0xF800},
    {0x1E, "VAL5", 0, 0xFFFF},
    {0x20, "FRCTRL", 0, 0x0116},
    {0x22, "OCTRL", 0, 0x073F},
    {0x24, "STS", 0, 0},
    {0x26, "INTEN", 0, 0x3FFF},
    {0x28, "DMAEN", 0, 0x3FF},
    {0x2A, "TCTRL", 0, 0xD03F},
    {0x2C, "DISMAP0", 0xFFFF, 0xFFFF},
    {0x2E, "DISMAP1", 0xFFFF, 0xFFFF},
    {0x30, "DTCNT0", 0x7FF, 0xFFFF},
    {0x32, "DTCNT1", 0x7FF, 0xFFFF},
    {0x34, "CAPTCTRLA", 0, 0x03FF},
    {0x36, "CAPTCOMPA", 0, 0xFF},
    {0x38, "CAPTCTRLB", 0, 0x03FF},
    {0x3A, "CAPTCOMPB", 0, 0xFF},
    {0x3C, "CAPTCTRLX", 0, 0x03FF},
    {0x3E, "CAPTCOMPX", 0, 0xFF},
    {0x40, "CVAL0", 0, 0},
    {0x42, "CVAL0CYC", 0, 0},
    {0x44, "CVAL1", 0, 0},
    {0x46, "CVAL1CYC", 0, 0},
    {0x48, "CVAL2", 0, 0},
    {0x4A, "CVAL2CYC", 0, 0},
    {0x4C, "CVAL3", 0, 0},
    {0x4E, "CVAL3CYC", 0, 0},
    {0x50, "CVAL4", 0, 0},
    {0x52, "CVAL4CYC", 0, 0},
    {0x54, "CVAL5", 0, 0},
    {0x56, "CVAL5CYC", 0, 0},
};
constexpr RegisterSpec kModule[] = {
    {0x180, "OUTEN", 0, 0xFFF},   {0x182, "MASK", 0, 0xFFF},
    {0x184, "SWCOUT", 0, 0xFF},   {0x186, "DTSRCSEL", 0, 0xFFFF},
    {0x188, "MCTRL", 0, 0xFF00},  {0x18A, "MCTRL2", 0, 0x3},
    {0x18C, "FCTRL0", 0, 0xFFFF}, {0x18E, "FSTS0", 0, 0xF, RegisterKind::one_clears},
    {0x190, "FFILT0", 0, 0x87FF}, {0x192, "FTST0", 0, 0x1},
    {0x194, "FCTRL20", 0, 0xF},
};
constexpr size_t kSubmoduleRegisters = std::size(kSubmodule);

constexpr auto make_table() {
  std::array<RegisterSpec, kSubmoduleRegisters * Flexpwm::kSubmodules + std::size(kModule)> table{};
  size_t n = 0;
  for (uint32_t i = 0; i < Flexpwm::kSubmodules; ++i) {
    for (RegisterSpec spec : kSubmodule) {
      spec.offset += i * kStride;
      table[n++] = spec;
    }
  }
  for (const RegisterSpec& spec : kModule) table[n++] = spec;
  return table;
}
constexpr auto kTable = make_table();

bool in_submodules(uint32_t offset) { return offset < Flexpwm::kSubmodules * kStride; }

}  // namespace

Flexpwm::Flexpwm(DeviceHost& host, Clocks& clocks, unsigned number, Trigger trigger, DmaLine dma)
    : host_(host),
      clocks_(clocks),
      number_(number),
      name_("PWM" + std::to_string(number)),
      trigger_(std::move(trigger)),
      dma_(std::move(dma)),
      registers_(kTable, 2, *this, host),
      event_(&Flexpwm::on_event, this) {
  clocks.add_user(*this);
  ticks_.start(host.events().now(), clocks.hz(Clock::ipg), clocks.hz(Clock::core));
}

void Flexpwm::before_clock_change(Cycles now) { settle(now); }

void Flexpwm::after_clock_change(Cycles now) {
  ticks_.change(now, clocks_.hz(Clock::ipg), clocks_.hz(Clock::core));
  update();
}

void Flexpwm::on_event(void* context, Cycles when) {
  Flexpwm* self = static_cast<Flexpwm*>(context);
  self->settle(when);
  self->update();
}

void Flexpwm::reset() {
  registers_.reset();
  for (Submodule& s : state_) {
    s = {.settled = s.settled, .watchers = s.watchers};
  }
  update();
}

void Flexpwm::watch(unsigned submodule, bool on) {
  settle(host_.events().now());
  Submodule& s = state_[submodule];
  if (on) {
    ++s.watchers;
  } else if (s.watchers != 0) {
    --s.watchers;
  }
  update();
}

uint32_t& Flexpwm::reg(unsigned submodule, uint32_t offset) {
  return registers_[submodule * kStride + offset];
}

uint32_t Flexpwm::reg(unsigned submodule, uint32_t offset) const {
  return registers_[submodule * kStride + offset];
}

bool Flexpwm::running(unsigned submodule) const {
  return (registers_[kMctrl] >> (8 + submodule) & 1) != 0;
}

uint32_t Flexpwm::period(unsigned submodule) const {
  const Submodule& s = state_[submodule];
  return static_cast<uint16_t>(s.values[1] - s.init) + 1u;
}

// Counts until the counter equals a VALx or has loaded INIT.
uint32_t Flexpwm::counts_to_point(unsigned submodule) const {
  const Submodule& s = state_[submodule];
  uint32_t first = static_cast<uint16_t>(s.values[1] - s.count) + 1u;
  for (const uint16_t value : s.values) {
    const uint32_t distance = static_cast<uint16_t>(value - s.count);
    if (distance != 0) first = std::min(first, distance);
  }
  return first;
}

uint64_t Flexpwm::ticks_to(unsigned submodule, uint64_t counts) const {
  const Submodule& s = state_[submodule];
  return (((s.settled >> s.prescaler) + counts) << s.prescaler) - s.settled;
}

// The status flags that counting may still set: not those of values outside of the period.
uint32_t Flexpwm::possible_flags(unsigned submodule) const {
  const Submodule& s = state_[submodule];
  if ((registers_[kMctrl] >> submodule & 1) != 0) return kRef | kRf | kCmpf;  // LDOK: others come
  uint32_t flags = kRf | (s.changed ? kRef : 0);
  for (unsigned i = 0; i < 6; ++i) {
    const bool in_period = static_cast<uint16_t>(s.values[i] - s.init) < period(submodule);
    const bool before_reload = static_cast<uint16_t>(s.values[i] - s.count) <=
                               static_cast<uint16_t>(s.values[1] - s.count);
    flags |= (in_period || before_reload ? 1u : 0u) << i;
  }
  return flags;
}

// Counting on changes nothing but the counter.
bool Flexpwm::steady(unsigned submodule) const {
  return (registers_[kMctrl] >> submodule & 1) == 0 &&
         (possible_flags(submodule) & ~reg(submodule, kSts)) == 0;
}

bool Flexpwm::observed(unsigned submodule) const {
  const uint32_t enabled = reg(submodule, kInten), status = reg(submodule, kSts);
  if ((enabled & ~status & possible_flags(submodule)) != 0) return true;
  if (dma_ && (reg(submodule, kDmaen) & kValde) != 0 && (status & kRf) == 0) return true;
  return trigger_ && state_[submodule].watchers != 0 && (reg(submodule, kTctrl) & kCmpf) != 0;
}

void Flexpwm::load(unsigned submodule) {
  Submodule& s = state_[submodule];
  s.init = static_cast<uint16_t>(reg(submodule, kInit));
  for (uint32_t i = 0; i < 6; ++i) {
    s.values[i] = static_cast<uint16_t>(reg(submodule, kVal0 + 4 * i));
  }
  s.prescaler = static_cast<uint8_t>((reg(submodule, kCtrl) & kPrsc) >> 4);
  s.changed = false;
  registers_[kMctrl] &= ~(1u << submodule);  // LDOK
}

void Flexpwm::reload(unsigned submodule) {
  Submodule& s = state_[submodule];
  const uint32_t every = (reg(submodule, kCtrl) >> 12 & 0xF) + 1;
  if (++s.cycles >= every) {
    s.cycles = 0;
    uint32_t& status = reg(submodule, kSts);
    status |= kRf;
    if ((registers_[kMctrl] >> submodule & 1) != 0) {
      load(submodule);
    } else if (s.changed) {
      status |= kRef;
    }
  }
  s.count = s.init;
}

void Flexpwm::match(unsigned submodule) {
  const Submodule& s = state_[submodule];
  uint32_t hits = 0;
  for (unsigned i = 0; i < 6; ++i) hits |= (s.values[i] == s.count ? 1u : 0u) << i;
  reg(submodule, kSts) |= hits;
  const uint32_t triggers = hits & reg(submodule, kTctrl);
  if (s.watchers == 0 || !trigger_) return;
  const Cycles when = ticks_.when(s.settled);
  if ((triggers & 0x15) != 0) trigger_(submodule, 0, when);
  if ((triggers & 0x2A) != 0) trigger_(submodule, 1, when);
}

void Flexpwm::settle(unsigned submodule, uint64_t end) {
  Submodule& s = state_[submodule];
  while (s.settled < end) {
    if (!running(submodule)) {
      s.settled = end;
      return;
    }
    const uint32_t counts = counts_to_point(submodule);
    const uint64_t ticks = ticks_to(submodule, counts);
    if (ticks > end - s.settled) {
      const uint64_t counted = (end >> s.prescaler) - (s.settled >> s.prescaler);
      s.count = static_cast<uint16_t>(s.count + counted);
      s.settled = end;
      return;
    }
    s.settled += ticks;
    const bool reloads = s.count == s.values[1];
    if (reloads) {
      reload(submodule);
    } else {
      s.count = static_cast<uint16_t>(s.count + counts);
    }
    match(submodule);
    if (reloads && steady(submodule) && !observed(submodule)) {
      const uint64_t round = uint64_t{period(submodule)} << s.prescaler;
      const uint64_t rounds = (end - s.settled) / round;
      s.settled += rounds * round;
      const uint32_t every = (reg(submodule, kCtrl) >> 12 & 0xF) + 1;
      s.cycles = static_cast<uint8_t>((s.cycles + rounds) % every);
    }
  }
}

void Flexpwm::settle(Cycles now) {
  const uint64_t end = ticks_.count(now);
  for (unsigned i = 0; i < kSubmodules; ++i) settle(i, end);
}

// Chapter 4: the write requests of PWM1..4.
unsigned Flexpwm::dma_source(unsigned submodule) const {
  constexpr unsigned kSources[] = {36, 100, 44, 108};
  return kSources[number_ - 1] + submodule;
}

void Flexpwm::dma_served(unsigned source) {
  for (unsigned i = 0; i < kSubmodules; ++i) {
    if (source != dma_source(i)) continue;
    settle(host_.events().now());
    if ((reg(i, kDmaen) & kValde) != 0) reg(i, kSts) &= ~kRf;
    update();
  }
}

void Flexpwm::update() {
  Cycles first = kNever;
  for (unsigned i = 0; i < kSubmodules; ++i) {
    const uint32_t status = reg(i, kSts);
    const uint8_t bit = static_cast<uint8_t>(1u << i);
    const bool level = (reg(i, kInten) & status & (kRef | kRf | kCmpf)) != 0;
    if (level != ((levels_ & bit) != 0)) {
      levels_ ^= bit;
      host_.set_interrupt(kIrqs[number_ - 1] + i, level);
    }
    const bool request = (reg(i, kDmaen) & kValde) != 0 && (status & kRf) != 0;
    if (dma_ && request != ((requests_ & bit) != 0)) {
      requests_ ^= bit;
      dma_(dma_source(i), request);
    }
    if (running(i) && observed(i)) {
      const Submodule& s = state_[i];
      first = std::min(first, ticks_.when(s.settled + ticks_to(i, counts_to_point(i))));
    }
  }
  schedule_at(host_.events(), event_, first);
}

uint32_t Flexpwm::read_half(uint32_t offset) {
  if (in_submodules(offset) && registers_.has(offset)) {
    const Submodule& s = state_[offset / kStride];
    if (offset % kStride == kCnt) return s.count;
    if (offset % kStride == kSts) return registers_[offset] | (s.changed ? kRuf : 0);
  }
  return registers_.read(offset, 2);
}

uint32_t Flexpwm::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  uint32_t value = read_half(offset & ~1u);
  if (size == 4) value |= read_half(offset + 2) << 16;
  if (size == 1) value = value >> (8 * (offset & 1)) & 0xFF;
  update();
  return value;
}

// Buffered registers are not written while LDOK is set (MCTRL).
bool Flexpwm::locked(uint32_t offset) const {
  if (!in_submodules(offset)) return false;
  const uint32_t which = offset % kStride;
  const bool buffered = which == kInit || (which >= kVal0 && which <= kVal5 + 1);
  return buffered && (registers_[kMctrl] >> (offset / kStride) & 1) != 0;
}

void Flexpwm::write_master(uint32_t before, uint32_t written) {
  uint32_t& master = registers_[kMctrl];
  master |= written & 0xF;
  master &= ~(written >> 4 & 0xF);  // CLDOK, reads 0
  for (unsigned i = 0; i < kSubmodules; ++i) {
    Submodule& s = state_[i];
    const bool immediate = !running(i) || (reg(i, kCtrl) & kLdmod) != 0;
    if ((master >> i & 1) != 0 && immediate) load(i);
    const bool ran = (before >> (8 + i) & 1) != 0;
    if (!running(i) || !ran) {  // RUN 0 resets the counter
      s.count = s.init;
      s.cycles = 0;
    }
  }
}

void Flexpwm::write_submodule(uint32_t offset, uint32_t written, const RegisterChange& change) {
  const unsigned submodule = offset / kStride;
  const uint32_t which = offset % kStride;
  Submodule& s = state_[submodule];
  uint32_t& stored = registers_[offset];
  if (which == kInit || (which >= kVal0 && which <= kVal5)) {
    s.changed = true;
  } else if (which == kCtrl) {
    const bool ldok = (registers_[kMctrl] >> submodule & 1) != 0;
    if (ldok) stored = (stored & ~kPrsc) | (change.before & kPrsc);
    if (((stored ^ change.before) & kPrsc) != 0) s.changed = true;
    if ((stored & ~change.before & kHalf) != 0) host_.report_unknown(*this, offset, true);
  } else if (which == kSts) {
    stored &= ~(written & (kRef | kRf | 0xFFF));
  } else {
    const bool captures = which >= kCaptctrla && which < kCval0;
    const uint32_t unmodelled = which == kCtrl2   ? kInitSel | kClkSel
                                : which == kDmaen ? kReadRequests
                                : captures        ? 0xFFFFu
                                                  : 0u;
    if ((stored & unmodelled) != 0) host_.report_unknown(*this, offset, true);
  }
}

void Flexpwm::write_half(uint32_t offset, unsigned size, uint32_t value) {
  if (locked(offset)) return;
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  if (change.offset == kMctrl) {
    write_master(change.before, change.written);
  } else if (in_submodules(change.offset)) {
    write_submodule(change.offset, change.written, change);
  }
}

void Flexpwm::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  write_half(offset, std::min(size, 2u), size == 1 ? value & 0xFF : value & 0xFFFF);
  if (size == 4) write_half(offset + 2, 2, value >> 16);
  update();
}

void Flexpwm::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  ticks_.snapshot(s);
  for (Submodule& m : state_) {
    s.field("init", m.init);
    s.field("values", m.values);
    s.field("prescaler", m.prescaler);
    s.field("count", m.count);
    s.field("cycles", m.cycles);
    s.field("changed", m.changed);
    s.field("settled", m.settled);
    s.field("watchers", m.watchers);
    if (m.prescaler > 7) {
      s.fail("prescaler", "is above 7");
      m.prescaler = 0;
    }
  }
  s.field("levels", levels_);
  s.field("requests", requests_);
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
