// SPDX-License-Identifier: Apache-2.0
// The memory system of the RT1062. See memory_system.h for the contract and rt1062_memory.cc for
// how it works. Final, with the hit paths inline: code that knows the type pays no virtual call.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/bytes.h"
#include "memory/buses.h"
#include "memory/cache.h"
#include "memory/fill_buffers.h"
#include "memory/memory_counts.h"
#include "memory/memory_system.h"
#include "memory/page_table.h"
#include "memory/physical_memory.h"
#include "memory/store_buffer.h"

namespace millrace::board {

struct MemoryOptions {
  bool timing = true;  // false: no caches, no stalls, fast pages into every memory
  bool icache = true;  // false: stays off whatever the firmware does
  bool dcache = true;
  uint32_t psram_bytes = 0;
  uint64_t seed = 1;  // cache replacement
};

class Rt1062Memory final : public MemorySystem {
 public:
  // `clock` gives the time of DMA accesses to devices; must outlive this.
  Rt1062Memory(const MemoryOptions& options, const Timing& timing, const EventQueue& clock);

  LoadResult load(uint32_t address, unsigned size, bool privileged, Cycles at) override {
    const Page& page = pages_.page(address, privileged);
    if ((page.flags & kFastLoad) != 0 && address % kLineBytes + size <= kLineBytes &&
        at >= fills_.busy_until()) {
      const DataCache::Slot slot = dcache_.find(address);
      if (slot != DataCache::kMiss) {
        ++counts_.dcache.hits;
        return {load_le(dcache_.data(slot) + address % kLineBytes, size), 0, AccessFault::none};
      }
    }
    return load_slow(address, size, privileged, at);
  }
  StoreResult store(uint32_t address, unsigned size, uint32_t value, bool privileged,
                    Cycles at) override {
    const Page& page = pages_.page(address, privileged);
    if ((page.flags & kFastStore) != 0 && address % kLineBytes + size <= kLineBytes &&
        at >= fills_.busy_until() && at >= stores_.busy_until()) {
      const DataCache::Slot slot = dcache_.find(address);
      if (slot != DataCache::kMiss) {
        ++counts_.dcache.hits;
        dcache_.set_dirty(slot, true);
        store_le(dcache_.data(slot) + address % kLineBytes, size, value);
        return {};
      }
    }
    return store_slow(address, size, value, privileged, at);
  }
  const FastPage* fast_page(uint32_t address, bool privileged) override {
    const Page& page = pages_.page(address, privileged);
    return page.fast.read != nullptr || page.fast.write != nullptr ? &page.fast : nullptr;
  }
  uint32_t pages_changed() const override { return pages_.changes(); }

  AccessFault fetch(uint32_t address, bool privileged, uint16_t* out) override;
  uint32_t fetch_line(uint32_t address, Cycles at) override {
    return fetch_span(address, address, at);
  }
  uint32_t fetch_span(uint32_t first, uint32_t last, Cycles at) override {
    const Page& page = pages_.page(first, true);
    if ((page.flags & kFastFetch) != 0 && at >= instruction_fill_done_ &&
        icache_.find(first) != InstructionCache::kMiss) {
      ++counts_.icache.hits;
      return 0;
    }
    return fetch_slow(page, first, last, at);
  }
  bool code_changed() const override {
    return everything_changed_ || recheck_first_ <= recheck_last_ || !changed_pages_.empty();
  }
  std::vector<uint32_t> take_changed_code_pages(bool* everything) override;
  void watch_code_page(uint32_t page_address) override { pages_.watch(page_address); }

  uint32_t drain_stores(Cycles at) override;
  uint32_t cache_op(CacheOp op, uint32_t value, Cycles at) override;
  void enable_icache(bool on) override;
  void enable_dcache(bool on) override;

  bool dma_read(uint32_t address, uint8_t* out, uint32_t size) override;
  bool dma_write(uint32_t address, const uint8_t* in, uint32_t size) override;
  bool debug_read(uint32_t address, uint8_t* out, uint32_t size) override;
  bool debug_write(uint32_t address, const uint8_t* in, uint32_t size) override;
  // As dma_write, but the flash takes it: FlexSPI's program and erase commands.
  bool program(uint32_t address, const uint8_t* in, uint32_t size);

  void set_flexram(uint32_t gpr16, uint32_t gpr17) override;
  void attach(Device& device, uint32_t base, uint32_t size) override;
  void set_attributes_source(const AttributeSource* source) override;
  void attributes_changed() override;
  void attributes_changed_in(uint32_t first, uint32_t last) override;
  void set_clocks(uint32_t core_khz, uint32_t flexspi1_khz, uint32_t flexspi2_khz) override;
  // AHBCR.PREFETCHEN of FlexSPI1 (index 0) or FlexSPI2 (index 1).
  void set_flexspi_prefetch(unsigned index, bool on);
  void disable_read_allocate(bool disabled) { fills_.disable_read_allocate(disabled); }  // ACTLR
  bool stores_freely(uint32_t address, bool privileged) override;
  Activity activity() const override;
  void repeat(const Activity& round, uint64_t times) override;
  void reset() override;
  void snapshot(Snapshot& s) override;

  const MemoryCounts& counts() const { return counts_; }
  // Every wait for memory and every line fill, as it happens; empty: nobody asks. Not told: waits
  // for devices.
  void set_wait_listener(std::function<void(const MemoryWait&)> listener) {
    on_wait_ = std::move(listener);
  }
  bool read_allocate_mode() const { return fills_.read_allocate(); }
  // Evictions by set, from now on; empty while off.
  void count_evictions_by_set(bool on);
  const std::vector<uint64_t>& icache_evictions_by_set() const { return icache_evictions_; }
  const std::vector<uint64_t>& dcache_evictions_by_set() const { return dcache_evictions_; }

 private:
  struct Attachment {
    uint32_t base;
    uint32_t size;
    Device* device;
  };

  // Data side (rt1062_data.cc). A piece lies in one line.
  LoadResult load_slow(uint32_t address, unsigned size, bool privileged, Cycles at);
  StoreResult store_slow(uint32_t address, unsigned size, uint32_t value, bool privileged,
                         Cycles at);
  LoadResult load_piece(uint32_t address, unsigned size, bool privileged, Cycles at);
  StoreResult store_piece(uint32_t address, unsigned size, uint32_t value, bool privileged,
                          Cycles at);
  AccessFault check_store(uint32_t address, bool privileged, bool aligned);
  LoadResult load_cached(const Page& page, uint32_t address, unsigned size, Cycles at);
  LoadResult load_uncached(const Page& page, uint32_t address, unsigned size, Cycles at);
  LoadResult load_device(Memory memory, uint32_t address, unsigned size, Cycles at);
  StoreResult store_cached(const Page& page, unsigned flags, uint32_t address, unsigned size,
                           uint32_t value, Cycles at);
  StoreResult store_memory(const Page& page, bool merges, uint32_t address, unsigned size,
                           uint32_t value, Cycles at);
  StoreResult store_device(Memory memory, uint32_t address, unsigned size, uint32_t value,
                           Cycles at);
  DataCache::Slot allocate(const Page& page, uint32_t address, const LineTimes& times,
                           uint32_t* evicted);
  void write_back(DataCache::Slot slot, Cycles at);
  void tell_wait(MemoryWait::Access access, MemoryWait::Cause cause, uint32_t address,
                 uint32_t stall, Cycles at);
  void tell_store_waits(MemoryWait::Access access, Cycles at);
  void count_store_stall(const StoreBuffer::Slot& entry, Cycles at);
  Device* find_device(uint32_t address, uint32_t* offset);
  static bool peripheral_is_fast(uint32_t address) { return (address >> 24) == 0x42; }

  // Instruction side (rt1062_code.cc).
  uint32_t fetch_slow(const Page& page, uint32_t first, uint32_t last, Cycles at);
  void note_written(uint32_t address, uint32_t size);
  void code_line_changed(uint32_t address);
  void report_stale_line(InstructionCache::Slot slot);
  void report_stale_lines();

  bool copy_in(uint32_t address, const uint8_t* in, uint32_t size, bool rom_too);

  MemoryOptions options_;
  Timing timing_;
  const EventQueue& clock_;
  PhysicalMemory memory_;
  PageTable pages_;
  DataCache dcache_;
  InstructionCache icache_;
  bool dcache_on_ = false;
  bool icache_on_ = false;
  FillBuffers fills_;
  StoreBuffer stores_;
  Buses buses_;
  Cycles eviction_done_ = 0;  // when the last line written back is in memory
  uint32_t instruction_fill_line_ = 1;
  LineTimes instruction_fill_{};
  Cycles instruction_fill_done_ = 0;

  std::vector<Attachment> devices_;  // by base
  size_t last_device_ = 0;

  std::vector<uint32_t> changed_pages_;
  bool everything_changed_ = false;
  uint32_t recheck_first_ = UINT32_MAX;  // addresses whose attributes changed; none if > last
  uint32_t recheck_last_ = 0;

  MemoryCounts counts_;
  std::function<void(const MemoryWait&)> on_wait_;
  std::vector<uint64_t> icache_evictions_, dcache_evictions_;
};

}  // namespace millrace::board
