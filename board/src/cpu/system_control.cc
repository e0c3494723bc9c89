// SPDX-License-Identifier: Apache-2.0
// The register map 0xE0000000..0xE00FFFFF. Every register is a word here: a narrower read takes
// its lanes, a narrower write says which lanes it has, so that byte-wide priorities and
// write-one-to-clear status bytes need no code of their own. What is reserved reads as zero and
// ignores writes (B3.2.1); so do ETM, TPIU, FPB (no comparators) and the ROM table.
#include "cpu/system_control.h"

#include "cpu/scs_bits.h"
#include "cpu/system_control_m7.h"

namespace millrace::board {
namespace {

constexpr uint32_t kDwt = 0x1000;
constexpr uint32_t kScs = 0xE000;
constexpr uint32_t kBlock = 0x1000;
constexpr uint32_t kStir = 0xEF00;

// Within the system control space.
constexpr uint32_t kIctr = 0x004;
constexpr uint32_t kActlr = 0x008;
constexpr uint32_t kSysTickFirst = 0x010;
constexpr uint32_t kSysTickLast = 0x01C;
constexpr uint32_t kNvicFirst = 0x100;
constexpr uint32_t kScbFirst = 0xD00;
constexpr uint32_t kMpuFirst = 0xD90;
constexpr uint32_t kMpuLast = 0xDB8;

constexpr uint32_t kPpbFirst = 0xE0000000;
constexpr uint32_t kPpbEnd = 0xE0100000;

uint32_t lane_mask(unsigned size) { return size >= 4 ? 0xFFFFFFFFu : (1u << (8 * size)) - 1; }

}  // namespace

SystemControlM7::SystemControlM7(EventQueue& events, MemorySystem& memory, const Timing& timing)
    : events_(events), memory_(memory), timing_(timing), systick_(events, nvic_) {
  // What reset() does, without a call into `memory`, which may still be under construction.
  ccr_ = scs::kStkAlign | scs::kCcrBp;
  fpccr_ = scs::kAspEn | scs::kLspEn;
  update_fp_check();
}

void SystemControlM7::reset() {
  nvic_.reset();
  systick_.reset();
  mpu_.reset();
  dwt_.reset();
  itm_.reset();
  vtor_ = scr_ = cfsr_ = hfsr_ = dfsr_ = mmfar_ = bfar_ = 0;
  cpacr_ = csselr_ = demcr_ = actlr_ = fpcar_ = fpdscr_ = 0;
  ccr_ = scs::kStkAlign | scs::kCcrBp;
  fpccr_ = scs::kAspEn | scs::kLspEn;
  m7_control_ = {};
  current_exception_ = faultmask_ = basepri_ = 0;
  owed_stall_ = 0;
  thumb_clear_ = event_ = sleep_on_exit_ = locked_up_ = reset_requested_ = clock_stands_ = false;
  update_fp_check();
  memory_.enable_icache(false);
  memory_.enable_dcache(false);
  memory_.attributes_changed();
}

// Stalls of an access from inside a device write cannot be returned through the bus.
void SystemControlM7::owe(uint32_t stall) {
  if (stall != 0) {
    owed_stall_ += stall;
    nvic_.raise_attention();
  }
}

uint32_t SystemControlM7::read(uint32_t offset, unsigned size, Cycles now) {
  const uint32_t value = read_word(offset & ~3u, now);
  return (value >> (8 * (offset & 3))) & lane_mask(size);
}

void SystemControlM7::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  if (offset < kDwt) {
    itm_.write(offset & ~3u, size, value & lane_mask(size));
    return;
  }
  const unsigned shift = 8 * (offset & 3);
  const uint32_t lanes = lane_mask(size) << shift;
  write_word(offset & ~3u, (value << shift) & lanes, lanes, now);
}

bool SystemControlM7::counter_range(uint32_t address, Cycles from, Cycles to,
                                    ValueRange* range) const {
  constexpr uint32_t kCycleCounter = kPpbFirst + kDwt + 4;
  if (address == kCycleCounter) {
    const uint32_t first = dwt_.cycle_count(from);
    *range = {first, dwt_.cycle_count(to) - first};
    return to - from < UINT32_MAX;
  }
  constexpr uint32_t kFirst = kPpbFirst + kScs + kSysTickFirst;
  return address >= kFirst && address <= kPpbFirst + kScs + kSysTickLast &&
         systick_.range(address - kPpbFirst - kScs, from, to, range);
}

uint32_t SystemControlM7::read_word(uint32_t offset, Cycles now) {
  if (offset < kDwt) {
    return itm_.read(offset);
  }
  if (offset < kDwt + kBlock) {
    return dwt_.read(offset - kDwt, now);
  }
  if (offset < kScs || offset >= kScs + kBlock) {
    return 0;
  }
  const uint32_t in_scs = offset - kScs;
  if (in_scs >= kSysTickFirst && in_scs <= kSysTickLast) {
    return systick_.read(in_scs, now);
  }
  if (in_scs >= kNvicFirst && in_scs < kScbFirst) {
    return nvic_.read(in_scs);
  }
  if (in_scs >= kMpuFirst && in_scs <= kMpuLast) {
    return mpu_.read(in_scs);
  }
  switch (in_scs) {
    case kIctr:
      return kInterrupts / 32 - 1;
    case kActlr:
      return actlr_;
    default:
      return read_scb(in_scs);
  }
}

void SystemControlM7::write_word(uint32_t offset, uint32_t value, uint32_t lanes, Cycles now) {
  if (offset < kDwt + kBlock) {
    dwt_.write(offset - kDwt, value, now);
    return;
  }
  if (offset < kScs || offset >= kScs + kBlock) {
    return;
  }
  const uint32_t in_scs = offset - kScs;
  if (in_scs >= kSysTickFirst && in_scs <= kSysTickLast) {
    systick_.write(in_scs, value, now);
  } else if (in_scs >= kNvicFirst && in_scs < kScbFirst) {
    nvic_.write(in_scs, value, lanes);
  } else if (in_scs >= kMpuFirst && in_scs <= kMpuLast) {
    const Mpu::Change change = mpu_.write(in_scs, value, lanes);
    if (change.any()) {
      memory_.attributes_changed_in(change.first, change.last);
    }
  } else if (offset == kStir) {
    nvic_.trigger(value & 0x1FF);
  } else if (in_scs == kActlr) {
    actlr_ = value;
  } else {
    write_scb(in_scs, value, lanes, now);
  }
}

// B3.1.1: the MPU does not act on the private peripheral bus, which is privileged but for ITM
// ports and, with CCR.USERSETMPEND, STIR. What is refused here the core reports as an MPU fault;
// fault() turns it into the BusFault that it is.
MemoryAttributes SystemControlM7::attributes(uint32_t address, bool privileged) const {
  if (address < kPpbFirst || address >= kPpbEnd) {
    return mpu_.attributes(address, privileged);
  }
  MemoryAttributes out;
  out.device = true;
  out.executable = false;
  if (!privileged) {
    const uint32_t offset = address - kPpbFirst;
    out.readable = offset < kDwt;
    out.writable = (offset < kDwt && itm_.unprivileged_write(offset)) ||
                   ((offset & ~3u) == kStir && (ccr_ & scs::kUserSetMPend) != 0);
  }
  return out;
}

bool SystemControlM7::uniform_page(uint32_t page_address, bool privileged,
                                   MemoryAttributes* out) const {
  if (page_address < kPpbFirst || page_address >= kPpbEnd) {
    return mpu_.uniform_page(page_address, privileged, out);
  }
  if (!privileged) {
    return false;
  }
  *out = attributes(page_address, true);
  return true;
}

void SystemControlM7::snapshot(Snapshot& s) {
  nvic_.snapshot(s);
  systick_.snapshot(s);
  mpu_.snapshot(s);
  dwt_.snapshot(s);
  itm_.snapshot(s);
  s.field("scs.vtor", vtor_);
  s.field("scs.scr", scr_);
  s.field("scs.ccr", ccr_);
  s.field("scs.cfsr", cfsr_);
  s.field("scs.hfsr", hfsr_);
  s.field("scs.dfsr", dfsr_);
  s.field("scs.mmfar", mmfar_);
  s.field("scs.bfar", bfar_);
  s.field("scs.cpacr", cpacr_);
  s.field("scs.csselr", csselr_);
  s.field("scs.demcr", demcr_);
  s.field("scs.actlr", actlr_);
  s.field("scs.fpccr", fpccr_);
  s.field("scs.fpcar", fpcar_);
  s.field("scs.fpdscr", fpdscr_);
  s.field("scs.m7_control", m7_control_);
  s.field("scs.current_exception", current_exception_);
  s.field("scs.faultmask", faultmask_);
  s.field("scs.basepri", basepri_);
  s.field("scs.owed_stall", owed_stall_);
  s.field("scs.thumb_clear", thumb_clear_);
  s.field("scs.event", event_);
  s.field("scs.sleep_on_exit", sleep_on_exit_);
  s.field("scs.wait_mode", wait_mode_);
  s.field("scs.clock_stands", clock_stands_);
  s.field("scs.locked_up", locked_up_);
  s.field("scs.reset_requested", reset_requested_);
  s.field("scs.exceptions", exceptions_);
  s.field("scs.fault_count", faults_.count);
  s.field("scs.fault_repeated", faults_.repeated);
  s.field("scs.fault_cause", faults_.cause);
  s.field("scs.fault_address", faults_.address);
  s.field("scs.fault_r", faults_.r);
  s.field("scs.fault_xpsr", faults_.xpsr);
  s.field("scs.fault_pends", fault_pends_);
  update_fp_check();
}

void SystemControlM7::set_interrupt(unsigned irq, bool level) {
  if (irq < kInterrupts) {
    nvic_.set_line(irq, level);
  }
}

void SystemControlM7::sleep_begins(Cycles now) {
  if (!wait_mode_ || clock_stands_) return;
  clock_stands_ = true;
  systick_.set_clock_stands(true, now);
  dwt_.set_clock_stands(true, now);
}

void SystemControlM7::sleep_ends(Cycles now) {
  if (!clock_stands_) return;
  clock_stands_ = false;
  systick_.set_clock_stands(false, now);
  dwt_.set_clock_stands(false, now);
}

bool SystemControlM7::take_event() {
  const bool pended = nvic_.take_pend_event() && (scr_ & scs::kSevOnPend) != 0;
  const bool event = event_ || pended;
  event_ = false;
  return event;
}

bool SystemControlM7::take_sleep_on_exit() {
  const bool sleep = sleep_on_exit_;
  sleep_on_exit_ = false;
  return sleep;
}

// B1.5.19: as if PRIMASK were 0. A reset request and lock-up end sleep too.
bool SystemControlM7::should_wake(const CpuState& state) const {
  if (reset_requested_ || locked_up_) {
    return true;
  }
  const Nvic::Candidate candidate = nvic_.highest_pending();
  const int boosted = boosted_priority(0, state.faultmask, state.basepri);
  const int active = nvic_.active_priority();
  return candidate.exception != 0 &&
         nvic_.group_priority(candidate.priority) < (boosted < active ? boosted : active);
}

bool SystemControlM7::trap_unaligned() const { return (ccr_ & scs::kUnalignTrp) != 0; }
bool SystemControlM7::trap_divide_by_zero() const { return (ccr_ & scs::kDiv0Trp) != 0; }

// C1.6.1: without halting debug a watchpoint is a DebugMonitor exception, asynchronous to the
// access; below its priority it is only recorded.
void SystemControlM7::watch_data(uint32_t address, unsigned size, bool is_write, uint32_t) {
  if (dwt_.match_data(address, size, is_write) && (demcr_ & scs::kMonEn) != 0) {
    dfsr_ |= scs::kDfsrDwtTrap;
    nvic_.pend(kDebugMonitor);
  }
}

}  // namespace millrace::board
