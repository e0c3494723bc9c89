// SPDX-License-Identifier: Apache-2.0
// How the memory system works.
//
// Content and time are computed together at the moment of the access; nothing runs in between. A
// cache holds real bytes, so what the core sees and what a DMA master sees differ exactly where
// they would on the chip. Everything that takes time is a description of when it will be done: a
// line fill is four arrival times, the store buffer four completion times, a FlexSPI read command a
// start and a rate (flexspi_timing.cc). An access compares these with its own time.
//
// A load goes page -> D-cache -> slow path. The page (page_table.h) knows attributes and host
// pointer, so that a hit costs a table look-up and a compare of four tags. The TCMs have no cache
// in front of them and cost nothing: the CPU reads and writes them through fast_page().
//
// Choices where the manual is silent or the chip is imprecise:
//   - A bus error of a store is reported with the store, not later from the store buffer.
//   - A store to flash or ROM is a bus error, also where it could have been cached.
//   - A store that crosses into a page that refuses it writes nothing.
//   - Invalid ways are filled first; the replacement sequence is an LFSR.
//   - The caches are invalid after reset, as the boot ROM leaves them.
//   - A write-back to memory that is not there any more (a FlexRAM bank) is lost.
#include "memory/rt1062_memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace millrace::board {

Rt1062Memory::Rt1062Memory(const MemoryOptions& options, const Timing& timing,
                           const EventQueue& clock)
    : options_(options),
      timing_(timing),
      clock_(clock),
      memory_(options.psram_bytes),
      pages_(memory_, {options.timing, options.psram_bytes}),
      dcache_(options.seed),
      icache_(~options.seed),
      buses_(timing) {}

Device* Rt1062Memory::find_device(uint32_t address, uint32_t* offset) {
  if (last_device_ < devices_.size()) {
    const Attachment& last = devices_[last_device_];
    *offset = address - last.base;
    if (*offset < last.size) return last.device;
  }
  const auto after = std::upper_bound(
      devices_.begin(), devices_.end(), address,
      [](uint32_t wanted, const Attachment& attachment) { return wanted < attachment.base; });
  if (after == devices_.begin()) return nullptr;
  const Attachment& found = *(after - 1);
  *offset = address - found.base;
  if (*offset >= found.size) return nullptr;
  last_device_ = static_cast<size_t>(after - devices_.begin()) - 1;
  return found.device;
}

void Rt1062Memory::attach(Device& device, uint32_t base, uint32_t size) {
  const auto after = std::upper_bound(
      devices_.begin(), devices_.end(), base,
      [](uint32_t wanted, const Attachment& attachment) { return wanted < attachment.base; });
  devices_.insert(after, {base, size, &device});
  if (size == 0) return;
  for (uint64_t at = base & ~0xFFFFFu; at <= uint64_t{base} + size - 1; at += 1u << 20) {
    pages_.add_device_chunk(static_cast<uint32_t>(at));
  }
}

void Rt1062Memory::set_flexram(uint32_t gpr16, uint32_t gpr17) {
  memory_.set_flexram(gpr16, gpr17);
  pages_.unwatch_all();
  everything_changed_ = true;
}

void Rt1062Memory::set_attributes_source(const AttributeSource* source) {
  pages_.set_source(source);
  attributes_changed();
}

void Rt1062Memory::attributes_changed() {
  pages_.forget_all();
  recheck_first_ = 0;
  recheck_last_ = UINT32_MAX;
}

void Rt1062Memory::attributes_changed_in(uint32_t first, uint32_t last) {
  pages_.forget(first, last);
  recheck_first_ = std::min(recheck_first_, first);
  recheck_last_ = std::max(recheck_last_, last);
}

void Rt1062Memory::set_clocks(uint32_t core_khz, uint32_t flexspi1_khz, uint32_t flexspi2_khz) {
  if (core_khz == 0) return;
  if (flexspi1_khz != 0) buses_.flexspi1().set_clocks(core_khz, flexspi1_khz);
  if (flexspi2_khz != 0) buses_.flexspi2().set_clocks(core_khz, flexspi2_khz);
}

void Rt1062Memory::set_flexspi_prefetch(unsigned index, bool on) {
  (index == 0 ? buses_.flexspi1() : buses_.flexspi2()).set_prefetch(on);
}

bool Rt1062Memory::dma_read(uint32_t address, uint8_t* out, uint32_t size) {
  uint32_t offset = 0;
  const uint32_t end = address + size;
  if (end < address) return false;
  if ((address >> 28) != 0xE && memory_.find(address).host == nullptr) {
    if ((size != 1 && size != 2 && size != 4) || address % size != 0) return false;
    Device* const device = find_device(address, &offset);
    if (device == nullptr) return false;
    store_le(out, size, device->read(offset, size, clock_.now()));
    return true;
  }
  while (address != end) {
    const uint32_t count = std::min(end - address, kPageBytes - address % kPageBytes);
    const PhysicalMemory::Place place = memory_.find(address);
    if (place.host == nullptr) return false;
    std::memcpy(out, place.host, count);
    out += count;
    address += count;
  }
  return true;
}

bool Rt1062Memory::dma_write(uint32_t address, const uint8_t* in, uint32_t size) {
  uint32_t offset = 0;
  if ((address >> 28) != 0xE && memory_.find(address).host == nullptr) {
    if ((size != 1 && size != 2 && size != 4) || address % size != 0) return false;
    Device* const device = find_device(address, &offset);
    if (device == nullptr) return false;
    device->write(offset, size, load_le(in, size), clock_.now());
    return true;
  }
  return copy_in(address, in, size, false);
}

bool Rt1062Memory::program(uint32_t address, const uint8_t* in, uint32_t size) {
  return copy_in(address, in, size, true);
}

// Into memory behind the caches: all of it or nothing.
bool Rt1062Memory::copy_in(uint32_t address, const uint8_t* in, uint32_t size, bool rom_too) {
  const uint32_t end = address + size;
  if (end < address) return false;
  for (uint64_t at = address & ~(kPageBytes - 1); at < end; at += kPageBytes) {
    const PhysicalMemory::Place place = memory_.find(static_cast<uint32_t>(at));
    if (place.host == nullptr) return false;
    if (!rom_too && (place.memory == Memory::flash || place.memory == Memory::rom)) return false;
  }
  while (address != end) {
    const uint32_t count = std::min(end - address, kPageBytes - address % kPageBytes);
    const PhysicalMemory::Place place = memory_.find_to_write(address);
    if (place.memory == Memory::flash) pages_.forget(address, address);
    std::memcpy(place.host, in, count);
    note_written(address, count);
    in += count;
    address += count;
  }
  return true;
}

bool Rt1062Memory::debug_read(uint32_t address, uint8_t* out, uint32_t size) {
  if (address + size < address) return false;
  for (uint32_t i = 0; i < size; ++i) {
    const uint32_t at = address + i;
    const PhysicalMemory::Place place = memory_.find(at);
    if (place.host == nullptr) return false;
    const DataCache::Slot slot = dcache_on_ ? dcache_.find(at) : DataCache::kMiss;
    out[i] = slot != DataCache::kMiss ? dcache_.data(slot)[at % kLineBytes] : *place.host;
  }
  return true;
}

// The caches' copies change with the memory, so that everybody sees the new bytes.
bool Rt1062Memory::debug_write(uint32_t address, const uint8_t* in, uint32_t size) {
  if (!copy_in(address, in, size, true)) return false;
  for (uint32_t i = 0; i < size; ++i) {
    const uint32_t at = address + i;
    const DataCache::Slot d = dcache_.find(at);
    if (d != DataCache::kMiss) dcache_.data(d)[at % kLineBytes] = in[i];
    const InstructionCache::Slot c = icache_.find(at);
    if (c != InstructionCache::kMiss) icache_.data(c)[at % kLineBytes] = in[i];
    code_line_changed(at);
  }
  return true;
}

void Rt1062Memory::count_evictions_by_set(bool on) {
  icache_evictions_.assign(on ? InstructionCache::kSets : 0, 0);
  dcache_evictions_.assign(on ? DataCache::kSets : 0, 0);
}

MemorySystem::Activity Rt1062Memory::activity() const {
  Activity a;
  a.icache_hits = counts_.icache.hits;
  a.dcache_hits = counts_.dcache.hits;
  a.peripheral_stalls = counts_.peripheral_stalls;
  for (const CacheCounter* c : {&counts_.icache, &counts_.dcache}) {
    a.other += c->misses + c->evictions + c->writebacks;
  }
  for (const auto* stalls :
       {&counts_.icache_stalls, &counts_.dcache_stalls, &counts_.uncached_stalls}) {
    a.other = std::accumulate(stalls->begin(), stalls->end(), a.other);
  }
  a.other += counts_.store_buffer_stalls;
  return a;
}

void Rt1062Memory::repeat(const Activity& round, uint64_t times) {
  counts_.icache.hits += round.icache_hits * times;
  counts_.dcache.hits += round.dcache_hits * times;
  counts_.peripheral_stalls += round.peripheral_stalls * times;
}

void Rt1062Memory::reset() {
  icache_on_ = dcache_on_ = false;
  icache_.invalidate_all();
  dcache_.invalidate_all();
  fills_.reset();
  stores_.reset();
  buses_.reset();
  eviction_done_ = 0;
  instruction_fill_line_ = 1;
  instruction_fill_done_ = 0;
  pages_.set_caches(false, false);
  set_flexram(0x00200003, 0);
}

void Rt1062Memory::snapshot(Snapshot& s) {
  memory_.snapshot(s);
  dcache_.snapshot(s);
  icache_.snapshot(s);
  s.field("dcache_on", dcache_on_);
  s.field("icache_on", icache_on_);
  fills_.snapshot(s);
  stores_.snapshot(s);
  buses_.snapshot(s);
  s.field("eviction_done", eviction_done_);
  s.field("instruction_fill_line", instruction_fill_line_);
  s.field("instruction_fill", instruction_fill_);
  s.field("instruction_fill_done", instruction_fill_done_);
  for (CacheCounter* counter : {&counts_.icache, &counts_.dcache}) {
    s.field("hits", counter->hits);
    s.field("misses", counter->misses);
    s.field("evictions", counter->evictions);
    s.field("writebacks", counter->writebacks);
  }
  s.field("icache_stalls", counts_.icache_stalls);
  s.field("dcache_stalls", counts_.dcache_stalls);
  s.field("uncached_stalls", counts_.uncached_stalls);
  s.field("store_buffer_stalls", counts_.store_buffer_stalls);
  s.field("peripheral_stalls", counts_.peripheral_stalls);
  if (!s.restoring()) return;
  pages_.set_caches(icache_on_, dcache_on_);
  pages_.unwatch_all();
  changed_pages_.clear();
  everything_changed_ = true;
}

}  // namespace millrace::board
