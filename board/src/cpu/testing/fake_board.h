// SPDX-License-Identifier: Apache-2.0
// Doubles for tests of the core: flat memory without wait states, and a system control that records
// what it is told and stops the core at a fault.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/event_queue.h"
#include "cpu/cpu.h"
#include "cpu/system_control.h"
#include "memory/memory_system.h"

namespace millrace::board::testing {

// Regions of plain memory. Accesses to peripherals and system space are recorded.
class FlatMemory : public MemorySystem {
 public:
  struct Region {
    uint32_t base = 0;
    std::vector<uint8_t> bytes;
    std::vector<FastPage> pages;
  };

  // REQUIRES: base and size multiples of 4096; all regions added before the first access.
  void add(uint32_t base, uint32_t size) {
    Region r;
    r.base = base;
    r.bytes.resize(size);
    regions_.push_back(std::move(r));
  }
  // Host address of `size` bytes at `address`, or null.
  uint8_t* at(uint32_t address, uint32_t size) {
    for (Region& r : regions_) {
      const uint32_t offset = address - r.base;
      if (offset < r.bytes.size() && size <= r.bytes.size() - offset) {
        return r.bytes.data() + offset;
      }
    }
    return nullptr;
  }
  void set_halfwords(uint32_t address, const std::vector<uint16_t>& code) {
    for (const uint16_t h : code) {
      store_le16(at(address, 2), h);
      address += 2;
    }
  }
  void set_word(uint32_t address, uint32_t value) { store_le32(at(address, 4), value); }
  uint32_t word(uint32_t address) { return load_le32(at(address, 4)); }

  bool fast = true;         // false: everything goes through load() and store()
  uint32_t stall = 0;       // of every slow access
  uint32_t line_stall = 0;  // of every fetch_line()
  std::vector<std::pair<uint32_t, Cycles>> device_accesses;
  std::function<void()> on_device_store;
  std::function<uint32_t(uint32_t address, Cycles at)> on_device_load;
  uint32_t device_stall = 0;  // of that
  uint64_t slow_accesses = 0;

  LoadResult load(uint32_t address, unsigned size, bool, Cycles at_time) override {
    ++slow_accesses;
    if (is_device(address)) {
      if (on_device_load) return {.value = on_device_load(address, at_time), .stall = device_stall};
      device_accesses.emplace_back(address, at_time);
      return {.value = 0x12345678, .stall = stall};
    }
    const uint8_t* p = at(address, size);
    if (p == nullptr) {
      return {.fault = AccessFault::bus};
    }
    const uint32_t v = size == 4 ? load_le32(p) : size == 2 ? load_le16(p) : *p;
    return {.value = v, .stall = stall};
  }
  StoreResult store(uint32_t address, unsigned size, uint32_t value, bool,
                    Cycles at_time) override {
    ++slow_accesses;
    if (is_device(address)) {
      device_accesses.emplace_back(address, at_time);
      if (on_device_store) {
        on_device_store();
      }
      return {.stall = stall};
    }
    uint8_t* p = at(address, size);
    if (p == nullptr) {
      return {.fault = AccessFault::bus};
    }
    if (size == 4) {
      store_le32(p, value);
    } else if (size == 2) {
      store_le16(p, value);
    } else {
      *p = static_cast<uint8_t>(value);
    }
    const uint32_t page = address / kPageBytes;
    if (watched_.contains(page)) {
      changed_.push_back(page);
    }
    return {.stall = stall};
  }
  const FastPage* fast_page(uint32_t address, bool) override {
    if (!fast) {
      return nullptr;
    }
    for (Region& r : regions_) {
      const uint32_t offset = address - r.base;
      if (offset < r.bytes.size()) {
        if (r.pages.empty()) {
          r.pages.resize(r.bytes.size() / kPageBytes);
          for (size_t k = 0; k < r.pages.size(); ++k) {
            uint8_t* p = r.bytes.data() + k * kPageBytes;
            r.pages[k] = {p, p};
          }
        }
        FastPage& page = r.pages[offset / kPageBytes];
        uint8_t* p = r.bytes.data() + (offset & ~(kPageBytes - 1));
        page.write = watched_.contains(address / kPageBytes) ? nullptr : p;
        return &page;
      }
    }
    return nullptr;
  }
  bool stores_freely(uint32_t address, bool) override {
    return stall == 0 && at(address, 4) != nullptr && !watched_.contains(address / kPageBytes);
  }
  uint32_t pages_changed() const override { return pages_changed_; }
  AccessFault fetch(uint32_t address, bool, uint16_t* out) override {
    const uint8_t* p = at(address, 2);
    if (p == nullptr) {
      return AccessFault::bus;
    }
    *out = static_cast<uint16_t>(load_le16(p));
    return AccessFault::none;
  }
  uint32_t fetch_line(uint32_t, Cycles) override { return line_stall; }
  bool code_changed() const override { return !changed_.empty(); }
  std::vector<uint32_t> take_changed_code_pages(bool* everything) override {
    *everything = false;
    for (const uint32_t page : changed_) {
      watched_.erase(page);
    }
    ++pages_changed_;
    return std::exchange(changed_, {});
  }
  void watch_code_page(uint32_t page_address) override {
    if (watched_.emplace(page_address / kPageBytes, true).second) {
      ++pages_changed_;
    }
  }
  uint32_t drain_stores(Cycles) override { return 0; }
  uint32_t cache_op(CacheOp, uint32_t, Cycles) override { return 0; }
  void enable_icache(bool) override {}
  void enable_dcache(bool) override {}
  bool dma_read(uint32_t, uint8_t*, uint32_t) override { return false; }
  bool dma_write(uint32_t, const uint8_t*, uint32_t) override { return false; }
  bool debug_read(uint32_t address, uint8_t* out, uint32_t size) override {
    const uint8_t* const p = at(address, size);
    if (p != nullptr) std::copy_n(p, size, out);
    return p != nullptr;
  }
  bool debug_write(uint32_t, const uint8_t*, uint32_t) override { return false; }
  void set_flexram(uint32_t, uint32_t) override {}
  void attach(Device&, uint32_t, uint32_t) override {}
  void set_attributes_source(const AttributeSource*) override {}
  void attributes_changed() override {}
  void reset() override {}

 private:
  static bool is_device(uint32_t address) {
    return (address >= 0x40000000u && address < 0x60000000u) || address >= 0xE0000000u;
  }
  std::vector<Region> regions_;
  std::map<uint32_t, bool> watched_;
  std::vector<uint32_t> changed_;
  uint32_t pages_changed_ = 0;
};

// Faults lock the core up, at once; interrupts are `pending_handler`, taken if PRIMASK is 0.
class FakeSystem : public SystemControl {
 public:
  std::optional<FaultCause> fault_cause;
  uint32_t fault_address = 0;
  uint32_t fault_pc = 0;
  uint32_t fault_itstate = 0;
  std::optional<uint32_t> svc_return;
  std::optional<uint32_t> exc_return;
  std::optional<uint32_t> pending_handler;
  uint32_t interrupted_pc = 0;
  uint32_t interrupted_itstate = 0;
  bool unaligned_traps = false;
  bool division_traps = false;
  bool event = false;
  bool fp_access = true;
  bool reset_request = false;
  uint32_t fault_handler = 0;  // where faults go instead of locking up

  bool attention() const override { return pending_handler.has_value(); }
  uint32_t enter_pending(CpuState& state) override {
    if (!pending_handler || state.primask != 0) {
      return 0;
    }
    interrupted_pc = state.r[15];
    interrupted_itstate = state.itstate;
    state.r[14] = 0xFFFFFFF9u;
    state.ipsr = 16;
    state.itstate = 0;
    state.r[15] = *pending_handler;
    pending_handler.reset();
    return 12;
  }
  uint32_t exception_return(CpuState& state, uint32_t value) override {
    exc_return = value;
    state.ipsr = 0;
    state.r[15] = interrupted_pc;
    state.itstate = interrupted_itstate;
    return 10;
  }
  void supervisor_call(CpuState& state) override { svc_return = state.r[15]; }
  void fault(CpuState& state, FaultCause cause, uint32_t address) override {
    fault_cause = cause;
    fault_address = address;
    fault_pc = state.r[15];
    fault_itstate = state.itstate;
    if (fault_handler != 0) {
      fault_cause.reset();
      pending_handler = fault_handler;
    }
  }
  bool locked_up() const override { return fault_cause.has_value(); }
  bool reset_requested() const override { return reset_request; }
  bool prepare_fp(CpuState& state) override {
    if (!fp_access) {
      fault(state, FaultCause::no_coprocessor, 0);
      return false;
    }
    state.control |= 4;
    return true;
  }
  bool fp_lazy_pending() const override { return false; }
  uint32_t read_special(const CpuState& state, unsigned sysm) override {
    switch (sysm) {
      case 0:
        return state.apsr();
      case 5:
        return state.ipsr;
      case 16:
        return state.primask;
      case 20:
        return state.control;
      default:
        return 0;
    }
  }
  void write_special(CpuState& state, unsigned sysm, uint32_t value, unsigned mask) override {
    if (sysm == 0) {
      const uint32_t bits = ((mask & 2) != 0 ? 0xF8000000u : 0) | ((mask & 1) != 0 ? 0xF0000u : 0);
      state.set_apsr((state.apsr() & ~bits) | (value & bits));
    } else if (sysm == 16) {
      state.primask = value & 1;
    } else if (sysm == 20) {
      state.control = value & 7;
    }
  }
  void change_masks(CpuState&) override {}
  bool should_wake(const CpuState&) const override { return pending_handler.has_value(); }
  void send_event() override { event = true; }
  bool take_event() override { return std::exchange(event, false); }
  void set_interrupt(unsigned, bool) override {}
  void watch_data(uint32_t, unsigned, bool, uint32_t) override {}
  bool watches_data() const override { return false; }
  std::function<bool(uint32_t address, Cycles from, Cycles to, ValueRange* range)> on_counter;
  bool counter_range(uint32_t address, Cycles from, Cycles to, ValueRange* range) const override {
    return on_counter && on_counter(address, from, to, range);
  }
  bool trap_unaligned() const override { return unaligned_traps; }
  bool trap_divide_by_zero() const override { return division_traps; }

  std::string_view name() const override { return "FAKE"; }
  uint32_t read(uint32_t, unsigned, Cycles) override { return 0; }
  void write(uint32_t, unsigned, uint32_t, Cycles) override {}
  void reset() override {}
  MemoryAttributes attributes(uint32_t, bool) const override { return {}; }
  bool uniform_page(uint32_t, bool, MemoryAttributes* out) const override {
    *out = {};
    return true;
  }
};

// A core with 64 KB at 0 (code at 0x100, stack below 0x10000) and 64 KB at 0x20000000.
class FakeBoard {
 public:
  explicit FakeBoard(const Timing* timing = nullptr) : cpu(memory, system, events, timing) {
    memory.add(0, 0x10000);
    memory.add(0x20000000, 0x10000);
    cpu.state.r[13] = 0x10000;
    cpu.set_pc(kCode);
  }
  static constexpr uint32_t kCode = 0x100;
  // Loads code and a BKPT behind it, and runs it.
  CpuStop run(const std::vector<uint16_t>& code, Cycles cycles = 10000) {
    load(code);
    return cpu.run(cycles);
  }
  void load(const std::vector<uint16_t>& code) {
    memory.set_halfwords(kCode, code);
    memory.set_halfwords(kCode + 2 * static_cast<uint32_t>(code.size()), {0xBE00});
    cpu.halting_debug = true;
  }
  uint32_t& r(unsigned n) { return cpu.state.r[n]; }

  FlatMemory memory;
  FakeSystem system;
  EventQueue events;
  Cpu cpu;
};

}  // namespace millrace::board::testing
