// SPDX-License-Identifier: Apache-2.0
// The memories as the core and the DMA masters see them: ITCM, DTCM, OCRAM, flash and PSRAM behind
// FlexSPI, peripherals; the caches with their data; and what each access costs.
//
// Functional and timing behaviour are one: a load returns the value the core would see (a stale
// cache line included) and the cycles it stalls.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "core/timing.h"

namespace millrace::board {

enum class AccessFault : uint8_t {
  none,
  bus,          // nothing there, or the memory refuses (write to flash)
  mpu_data,     // MPU or default map: no permission
  mpu_execute,  // XN or no permission, instruction side
  unaligned,    // an unaligned access to Device memory: UsageFault UNALIGNED (A3.2.1)
};

// What the MPU and the default memory map say about an address; made by the CPU layer.
struct MemoryAttributes {
  bool readable = true;
  bool writable = true;
  bool executable = true;
  bool cacheable = false;
  bool write_back = false;  // else write-through
  bool write_allocate = false;
  bool device = false;  // Device or Strongly-ordered: no unaligned access, no merging
};

// The MPU, seen from below. Implemented in cpu/.
class AttributeSource {
 public:
  virtual MemoryAttributes attributes(uint32_t address, bool privileged) const = 0;
  // Attributes of the whole aligned 4 KB page if they are the same everywhere in it.
  virtual bool uniform_page(uint32_t page_address, bool privileged,
                            MemoryAttributes* out) const = 0;

 protected:
  ~AttributeSource() = default;
};

struct LoadResult {
  uint32_t value = 0;
  uint32_t stall = 0;  // cycles beyond those of a zero-wait access
  AccessFault fault = AccessFault::none;
};

struct StoreResult {
  uint32_t stall = 0;
  AccessFault fault = AccessFault::none;
};

// A page that needs no call: the CPU reads and writes it directly, at no stall (the TCMs).
struct FastPage {
  uint8_t* read = nullptr;   // host address of the page's first byte, or null: call load()
  uint8_t* write = nullptr;  // or null: call store(). Null also for pages that hold decoded code
};

inline constexpr uint32_t kPageBytes = 4096;

class MemorySystem {
 public:
  virtual ~MemorySystem() = default;

  // Data side. `size` 1, 2 or 4; any alignment (split here; alignment faults are the CPU's).
  // `at`: the core cycle in which the access starts.
  virtual LoadResult load(uint32_t address, unsigned size, bool privileged, Cycles at) = 0;
  virtual StoreResult store(uint32_t address, unsigned size, uint32_t value, bool privileged,
                            Cycles at) = 0;
  // The page of `address`, in the TCMs only (functional mode: in every memory); null elsewhere.
  // The pointer is valid for good, what it points to until pages_changed() differs. A member is
  // null where the attributes are not the same in the whole page or do not allow the access.
  virtual const FastPage* fast_page(uint32_t address, bool privileged) = 0;
  virtual uint32_t pages_changed() const = 0;

  // Instruction side. The halfword the core would execute (from the I-cache if the line is there).
  // No timing; used when a block is decoded.
  virtual AccessFault fetch(uint32_t address, bool privileged, uint16_t* out) = 0;
  // Stall of executing from the 32-byte line of `address` at `at`, and the effect on the I-cache;
  // 0 for ITCM. Called once per line and block execution, in order.
  virtual uint32_t fetch_line(uint32_t address, Cycles at) = 0;
  // The same for code from byte `first` to byte `last` of one line: waits also for the later beats
  // of a line fill, or for every fetch of an uncached memory.
  virtual uint32_t fetch_span(uint32_t first, uint32_t last, Cycles at) {
    static_cast<void>(last);
    return fetch_line(first, at);
  }
  // Memory content under decoded blocks changed as the core sees it: the pages (address /
  // kPageBytes), or everything. The CPU polls code_changed() at block boundaries and asks then.
  // "Decoded" is each 32-byte line that fetch() was asked for in a page that is watched; a page
  // that was reported is watched no more.
  virtual bool code_changed() const = 0;
  virtual std::vector<uint32_t> take_changed_code_pages(bool* everything) = 0;
  // The CPU holds decoded code of this page: stores to it must be noticed.
  virtual void watch_code_page(uint32_t page_address) = 0;

  // Barriers and cache maintenance (SCB registers 0xE000EF50..78); return their stall.
  virtual uint32_t drain_stores(Cycles at) = 0;  // DSB, DMB
  enum class CacheOp : uint8_t {
    icache_all,
    icache_line,
    dcache_invalidate_line,
    dcache_clean_line,
    dcache_clean_invalidate_line,
    dcache_invalidate_set_way,
    dcache_clean_set_way,
    dcache_clean_invalidate_set_way,
    branch_predictor_all,
  };
  virtual uint32_t cache_op(CacheOp op, uint32_t value, Cycles at) = 0;
  virtual void enable_icache(bool on) = 0;
  virtual void enable_dcache(bool on) = 0;

  // DMA masters: memory behind the caches. False: no memory there.
  virtual bool dma_read(uint32_t address, uint8_t* out, uint32_t size) = 0;
  virtual bool dma_write(uint32_t address, const uint8_t* in, uint32_t size) = 0;
  // Debugger and loader: what the core would see, no side effect, no timing.
  virtual bool debug_read(uint32_t address, uint8_t* out, uint32_t size) = 0;
  virtual bool debug_write(uint32_t address, const uint8_t* in, uint32_t size) = 0;

  // FlexRAM: 16 banks of 32 KB; GPR17 codes, 2 bits each: 0 off, 1 OCRAM, 2 DTCM, 3 ITCM.
  virtual void set_flexram(uint32_t gpr16, uint32_t gpr17) = 0;
  virtual void attach(Device& device, uint32_t base, uint32_t size) = 0;
  virtual void set_attributes_source(const AttributeSource* source) = 0;
  virtual void attributes_changed() = 0;  // MPU reprogrammed
  // Only addresses in first..last are affected: cheaper, for stack guards.
  virtual void attributes_changed_in(uint32_t first, uint32_t last) {
    static_cast<void>(first);
    static_cast<void>(last);
    attributes_changed();
  }
  // A store to the word at `address` changes its bytes and nothing else, and costs nothing.
  virtual bool stores_freely(uint32_t address, bool privileged) {
    static_cast<void>(address);
    static_cast<void>(privileged);
    return false;
  }
  // What accesses have counted so far, for loops of which many equal rounds are skipped
  // (cpu/idle.cc): a round that changes `other` is not like the next. repeat() counts rounds that
  // were skipped.
  struct Activity {
    uint64_t icache_hits = 0, dcache_hits = 0, peripheral_stalls = 0;
    uint64_t other = 0;
  };
  virtual Activity activity() const { return {}; }
  virtual void repeat(const Activity& round, uint64_t times) {
    static_cast<void>(round);
    static_cast<void>(times);
  }
  // The clock controller changed the core clock or those of FlexSPI1 (flash) and FlexSPI2 (PSRAM).
  virtual void set_clocks(uint32_t core_khz, uint32_t flexspi1_khz, uint32_t flexspi2_khz) {
    static_cast<void>(core_khz);
    static_cast<void>(flexspi1_khz);
    static_cast<void>(flexspi2_khz);
  }
  virtual void reset() = 0;  // contents of the memories stay
  virtual void snapshot(Snapshot& s) { static_cast<void>(s); }
};

}  // namespace millrace::board
