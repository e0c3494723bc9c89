// SPDX-License-Identifier: Apache-2.0
// Data accesses off the fast path: alignment, faults, devices, stalls, watchpoints.
#include <algorithm>

#include "cpu/cpu.h"

namespace millrace::board {
namespace {

// Peripherals and system space: reading or writing may change what is due when.
bool is_device(uint32_t address) {
  return (address >= 0x40000000u && address < 0x60000000u) || address >= 0xA0000000u;
}

FaultCause data_fault(AccessFault fault) {
  switch (fault) {
    case AccessFault::bus:
      return FaultCause::bus_data;
    case AccessFault::unaligned:
      return FaultCause::unaligned;
    default:
      return FaultCause::mpu_data;
  }
}

}  // namespace

void Cpu::flush_tlb() { tlb_.fill(Tlb{}); }

Cpu::Tlb* Cpu::fill_tlb(uint32_t address) {
  if (no_fast_path_) {
    return nullptr;
  }
  const FastPage* page = memory_.fast_page(address, privileged_);
  if (page == nullptr || (page->read == nullptr && page->write == nullptr)) {
    return nullptr;
  }
  const uint32_t base = address & ~(kPageBytes - 1);
  Tlb& t = tlb_[(address / kPageBytes) % kTlbEntries];
  t.read = page->read;
  t.write = page->write;
  t.read_tag = page->read != nullptr ? base : kNoPage;
  t.write_tag = page->write != nullptr ? base : kNoPage;
  return &t;
}

uint8_t* Cpu::fast_words(uint32_t address, unsigned count, bool write) {
  const uint32_t base = address & ~(kPageBytes - 1);
  const uint32_t offset = address & (kPageBytes - 1);
  if ((address & 3) != 0 || offset + 4 * count > kPageBytes) {
    return nullptr;
  }
  Tlb* t = &tlb_[(address / kPageBytes) % kTlbEntries];
  const auto tag = [write](const Tlb& e) { return write ? e.write_tag : e.read_tag; };
  if (tag(*t) != base) {
    t = fill_tlb(address);
    if (t == nullptr || tag(*t) != base) {
      return nullptr;
    }
  }
  return (write ? t->write : t->read) + offset;
}

Next Cpu::raise(const Op* op, FaultCause cause, uint32_t address) {
  stop_op_ = op;
  fault_cause_ = cause;
  fault_address_ = address;
  return Next::fault;
}

// Debugger and DWT. True: the chain must stop.
bool Cpu::watch(uint32_t address, unsigned size, bool is_write, const Op* op) {
  if (system_.watches_data()) {
    system_.watch_data(address, size, is_write, address_of(op));
    dirty_ = true;
  }
  for (const Watchpoint& w : watchpoints_) {
    const bool overlaps = address < w.address + w.size && w.address < address + size;
    if (overlaps && (is_write ? w.writes : w.reads)) {
      watch_hit_ = true;
      watch_address_ = address;
      return true;
    }
  }
  return dirty_;
}

Access Cpu::finish_access(uint32_t address, uint32_t stall, bool device) {
  if (timed_ && stall != 0) {
    block_time_ += stall;
    if (device) {
      counters_.peripheral += stall;
    } else {
      (address >= 0x60000000u ? counters_.data_flash : counters_.data_ocram) += stall;
    }
  }
  if (device) {
    ++device_accesses_;
    dirty_ = true;
    return Access::done_stop;
  }
  return stall != 0 && block_time_ + block_->cycles > deadline_ ? Access::done_stop : Access::done;
}

bool Cpu::begin_access(const Op* op, uint32_t address, AccessKind kind, bool* device, Cycles* at) {
  if ((address & (kind.size - 1u)) != 0 && (kind.aligned_only || system_.trap_unaligned())) {
    raise(op, FaultCause::unaligned, address);
    return false;
  }
  *device = is_device(address);
  *at = time_of(op) + kind.after;
  if (*device) {
    access_pc_ = address_of(op);
    events_.advance(std::max(events_.now(), std::min(*at, events_.next())));
  } else if (!kind.unprivileged) {
    fill_tlb(address);
  }
  return true;
}

Access Cpu::load_slow(const Op* op, uint32_t address, AccessKind kind, uint32_t* value) {
  bool device = false;
  Cycles at = 0;
  if (!begin_access(op, address, kind, &device, &at)) {
    return Access::fault;
  }
  const LoadResult r = memory_.load(address, kind.size, privileged_ && !kind.unprivileged, at);
  if (r.fault != AccessFault::none) {
    raise(op, data_fault(r.fault), address);
    return Access::fault;
  }
  *value = r.value;
  Access access = finish_access(address, r.stall, device);
  if (no_fast_path_ && watch(address, kind.size, false, op)) {
    access = Access::done_stop;
  }
  return access;
}

Access Cpu::store_slow(const Op* op, uint32_t address, AccessKind kind, uint32_t value) {
  bool device = false;
  Cycles at = 0;
  if (!begin_access(op, address, kind, &device, &at)) {
    return Access::fault;
  }
  const StoreResult r =
      memory_.store(address, kind.size, value, privileged_ && !kind.unprivileged, at);
  if (r.fault != AccessFault::none) {
    raise(op, data_fault(r.fault), address);
    return Access::fault;
  }
  Access access = finish_access(address, r.stall, device);
  if (memory_.code_changed()) {
    dirty_ = true;
    access = Access::done_stop;
  }
  if (no_fast_path_ && watch(address, kind.size, true, op)) {
    access = Access::done_stop;
  }
  return access;
}

bool Cpu::prepare_fp(const Op* op) {
  if (fp_ready_ && (state.control & 4) != 0) [[likely]] {
    return true;
  }
  stop_op_ = op;
  state.r[15] = address_of(op);
  state.itstate = op->itstate;
  dirty_ = true;
  if (!system_.prepare_fp(state)) {
    raised_ = true;
    return false;
  }
  fp_ready_ = !system_.fp_lazy_pending();
  return true;
}

void Cpu::barrier(const Op* op) {
  const uint32_t stall = memory_.drain_stores(time_of(op));
  if (timed_) {
    block_time_ += stall;
    counters_.barrier += stall;
  }
}

}  // namespace millrace::board
