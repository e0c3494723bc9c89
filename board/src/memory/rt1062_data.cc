// SPDX-License-Identifier: Apache-2.0
// The data side of the memory system past the inline hit paths.
#include <algorithm>
#include <cstring>

#include "memory/rt1062_memory.h"

namespace millrace::board {
namespace {

// Bits of the bytes `size` at `address` in its line.
constexpr uint32_t byte_mask(uint32_t address, unsigned size) {
  return ((1u << size) - 1) << (address % kLineBytes);
}

bool is_read_only(Memory memory) { return memory == Memory::flash || memory == Memory::rom; }

uint32_t elapsed(Cycles from, Cycles to) {
  return to > from ? static_cast<uint32_t>(to - from) : 0;
}

}  // namespace

LoadResult Rt1062Memory::load_slow(uint32_t address, unsigned size, bool privileged, Cycles at) {
  if (address % size == 0) return load_piece(address, size, privileged, at);
  const unsigned first = std::min<unsigned>(size, kLineBytes - address % kLineBytes);
  const uint32_t last_address = address + size - 1;
  for (const uint32_t part : {address, last_address}) {
    const Page& page = pages_.page(part, privileged);
    if ((pages_.flags(page, part, privileged) & kDeviceType) != 0) {
      return {0, 0, AccessFault::unaligned};
    }
  }
  const LoadResult low = load_piece(address, first, privileged, at);
  if (first == size || low.fault != AccessFault::none) return low;
  const LoadResult high = load_piece(address + first, size - first, privileged, at + low.stall + 1);
  return {low.value | high.value << (8 * first), low.stall + high.stall + 1, high.fault};
}

LoadResult Rt1062Memory::load_piece(uint32_t address, unsigned size, bool privileged, Cycles at) {
  const Page& page = pages_.page(address, privileged);
  const unsigned flags = pages_.flags(page, address, privileged);
  if ((flags & kReadable) == 0) return {0, 0, AccessFault::mpu_data};
  if (page.host == nullptr) return load_device(page.memory, address, size, at);
  if (!options_.timing || page.memory == Memory::itcm || page.memory == Memory::dtcm) {
    return {load_le(page.host + address % kPageBytes, size), 0, AccessFault::none};
  }
  if (dcache_on_ && (flags & kCacheable) != 0) return load_cached(page, address, size, at);
  return load_uncached(page, address, size, at);
}

LoadResult Rt1062Memory::load_cached(const Page& page, uint32_t address, unsigned size, Cycles at) {
  DataCache::Slot slot = dcache_.find(address);
  const bool missed = slot == DataCache::kMiss;
  Cycles start = at;
  uint32_t evicted = 0;
  if (!missed) {
    ++counts_.dcache.hits;
  } else {
    ++counts_.dcache.misses;
    fills_.load_missed(line_of(address));
    start = fills_.free_at(at);
    if (start > at && on_wait_) {
      tell_wait(MemoryWait::Access::load, MemoryWait::Cause::queue, fills_.line_done_first(),
                elapsed(at, start), at);
    }
    const LineTimes times = buses_.fill_line(page.memory, address, start);
    slot = allocate(page, address, times, &evicted);
    fills_.start(line_of(address), times, 0, start);
  }
  const Cycles there =
      std::max(fills_.arrival(address, at), fills_.arrival(address + size - 1, at));
  const uint32_t stall = elapsed(at, there);
  counts_.dcache_stalls[index_of(page.memory)] += stall;
  if (on_wait_ && (missed || there > start)) {
    on_wait_({MemoryWait::Access::load, missed ? MemoryWait::Cause::miss : MemoryWait::Cause::fill,
              page.memory, line_of(address), elapsed(start, there), start, evicted});
  }
  return {load_le(dcache_.data(slot) + address % kLineBytes, size), stall, AccessFault::none};
}

LoadResult Rt1062Memory::load_uncached(const Page& page, uint32_t address, unsigned size,
                                       Cycles at) {
  Cycles there = buses_.read(page.memory, address, at);
  const uint32_t last = address + size - 1;
  if (last / 8 != address / 8) there = buses_.read(page.memory, last & ~7u, there);
  const uint32_t stall = elapsed(at, there);
  counts_.uncached_stalls[index_of(page.memory)] += stall;
  if (on_wait_) {
    on_wait_({MemoryWait::Access::load, MemoryWait::Cause::uncached, page.memory, line_of(address),
              stall, at, 0});
  }
  return {load_le(page.host + address % kPageBytes, size), stall, AccessFault::none};
}

LoadResult Rt1062Memory::load_device(Memory memory, uint32_t address, unsigned size, Cycles at) {
  uint32_t offset = 0;
  Device* const device = memory == Memory::none ? nullptr : find_device(address, &offset);
  if (device == nullptr || size == 3 || address % size != 0) return {0, 0, AccessFault::bus};
  Cycles there = at;
  if (options_.timing && memory == Memory::ppb) {
    there = at + timing_.ppb_read;
  } else if (options_.timing) {
    // Device accesses keep their order: those still in the store buffer go first.
    if (on_wait_) tell_store_waits(MemoryWait::Access::load, at);
    there = std::max(at, stores_.busy_until()) +
            (peripheral_is_fast(address) ? timing_.ahb_peripheral_read : timing_.peripheral_read);
  }
  const uint32_t stall = elapsed(at, there);
  counts_.peripheral_stalls += stall;
  return {device->read(offset, size, there), stall, AccessFault::none};
}

// What an access waited for that was not its own line.
void Rt1062Memory::tell_wait(MemoryWait::Access access, MemoryWait::Cause cause, uint32_t address,
                             uint32_t stall, Cycles at) {
  const PhysicalMemory::Place place = memory_.find(address);
  if (place.host == nullptr) return;  // a device
  on_wait_({access, cause, place.memory, line_of(address), stall, at, 0});
}

// That all stores drain.
void Rt1062Memory::tell_store_waits(MemoryWait::Access access, Cycles at) {
  stores_.each_wait(at, [&](uint32_t address, Cycles from, Cycles to) {
    tell_wait(access, MemoryWait::Cause::queue, address, elapsed(from, to), from);
  });
}

// Makes room for the line and copies it from memory; its data arrive at `times`. *evicted: which
// line left for it; its own if none did.
DataCache::Slot Rt1062Memory::allocate(const Page& page, uint32_t address, const LineTimes& times,
                                       uint32_t* evicted) {
  const DataCache::Slot slot = dcache_.victim(address);
  *evicted = dcache_.valid(slot) ? dcache_.line_address(slot) : line_of(address);
  if (dcache_.valid(slot)) {
    ++counts_.dcache.evictions;
    if (!dcache_evictions_.empty()) ++dcache_evictions_[DataCache::set_of(address)];
    if (dcache_.dirty(slot)) write_back(slot, *std::max_element(times.begin(), times.end()));
  }
  dcache_.fill(slot, address, page.host + line_of(address) % kPageBytes);
  return slot;
}

void Rt1062Memory::write_back(DataCache::Slot slot, Cycles at) {
  const uint32_t line = dcache_.line_address(slot);
  dcache_.set_dirty(slot, false);
  const PhysicalMemory::Place place = memory_.find(line);
  if (place.host == nullptr || is_read_only(place.memory)) return;
  ++counts_.dcache.writebacks;
  std::memcpy(place.host, dcache_.data(slot), kLineBytes);
  eviction_done_ = buses_.write_line(place.memory, line, at);
  note_written(line, kLineBytes);
}

AccessFault Rt1062Memory::check_store(uint32_t address, bool privileged, bool aligned) {
  const Page& page = pages_.page(address, privileged);
  const unsigned flags = pages_.flags(page, address, privileged);
  if (!aligned && (flags & kDeviceType) != 0) return AccessFault::unaligned;
  if ((flags & kWritable) == 0) return AccessFault::mpu_data;
  if (page.host == nullptr && (!aligned || page.memory == Memory::none)) return AccessFault::bus;
  return is_read_only(page.memory) ? AccessFault::bus : AccessFault::none;
}

StoreResult Rt1062Memory::store_slow(uint32_t address, unsigned size, uint32_t value,
                                     bool privileged, Cycles at) {
  const bool aligned = address % size == 0;
  const AccessFault fault = check_store(address, privileged, aligned);
  if (fault != AccessFault::none) return {0, fault};
  const unsigned first = std::min<unsigned>(size, kLineBytes - address % kLineBytes);
  if (aligned || first == size) return store_piece(address, size, value, privileged, at);
  const AccessFault second = check_store(address + first, privileged, false);
  if (second != AccessFault::none) return {0, second};
  const StoreResult low = store_piece(address, first, value, privileged, at);
  const StoreResult high = store_piece(address + first, size - first, value >> (8 * first),
                                       privileged, at + low.stall + 1);
  return {low.stall + high.stall + 1, AccessFault::none};
}

StoreResult Rt1062Memory::store_piece(uint32_t address, unsigned size, uint32_t value,
                                      bool privileged, Cycles at) {
  const Page& page = pages_.page(address, privileged);
  if (page.host == nullptr) return store_device(page.memory, address, size, value, at);
  if (!options_.timing || page.memory == Memory::itcm || page.memory == Memory::dtcm) {
    store_le(page.host + address % kPageBytes, size, value);
    note_written(address, size);
    return {};
  }
  const unsigned flags = pages_.flags(page, address, privileged);
  if (dcache_on_ && (flags & kCacheable) != 0) {
    return store_cached(page, flags, address, size, value, at);
  }
  return store_memory(page, (flags & kDeviceType) == 0, address, size, value, at);
}

bool Rt1062Memory::stores_freely(uint32_t address, bool privileged) {
  const Page& page = pages_.page(address, privileged);
  const bool is_tcm = page.memory == Memory::itcm || page.memory == Memory::dtcm;
  return page.host != nullptr && (is_tcm || !options_.timing) &&
         (pages_.flags(page, address, privileged) & kWritable) != 0 && !pages_.decoded(address);
}

StoreResult Rt1062Memory::store_cached(const Page& page, unsigned flags, uint32_t address,
                                       unsigned size, uint32_t value, Cycles at) {
  const uint32_t line = line_of(address);
  const uint32_t mask = byte_mask(address, size);
  DataCache::Slot slot = dcache_.find(address);
  const bool hit = slot != DataCache::kMiss;
  ++(hit ? counts_.dcache.hits : counts_.dcache.misses);
  if (hit) {
    store_le(dcache_.data(slot) + address % kLineBytes, size, value);
    if ((flags & kWriteBack) == 0) return store_memory(page, true, address, size, value, at);
    dcache_.set_dirty(slot, true);
  } else if ((flags & kWriteBack) == 0 || (flags & kWriteAllocate) == 0 ||
             (fills_.read_allocate() && fills_.stream(line, mask))) {
    return store_memory(page, true, address, size, value, at);
  }
  const StoreBuffer::Slot entry = stores_.reserve(address, true, at);
  count_store_stall(entry, at);
  Cycles done = entry.start;
  if (hit) {
    fills_.wrote(line, mask, at + entry.stall);
  } else {
    // The entry is free again as soon as a fill buffer has the store.
    done = fills_.free_at(entry.merged ? at : entry.start);
    const LineTimes times = buses_.fill_line(page.memory, address, done);
    uint32_t evicted = 0;
    slot = allocate(page, address, times, &evicted);
    store_le(dcache_.data(slot) + address % kLineBytes, size, value);
    dcache_.set_dirty(slot, true);
    fills_.start(line, times, mask, done);
    // The core does not wait for it, but for what comes behind it.
    if (on_wait_) {
      on_wait_({MemoryWait::Access::store, MemoryWait::Cause::miss, page.memory, line, 0,
                at + entry.stall, evicted});
    }
  }
  if (!entry.merged) stores_.finish(done + 1);
  return {entry.stall, AccessFault::none};
}

void Rt1062Memory::count_store_stall(const StoreBuffer::Slot& entry, Cycles at) {
  counts_.store_buffer_stalls += entry.stall;
  if (entry.stall > 0 && on_wait_) {
    tell_wait(MemoryWait::Access::store, MemoryWait::Cause::queue, entry.behind, entry.stall, at);
  }
}

StoreResult Rt1062Memory::store_memory(const Page& page, bool merges, uint32_t address,
                                       unsigned size, uint32_t value, Cycles at) {
  store_le(page.host + address % kPageBytes, size, value);
  const Memory memory = page.memory;
  note_written(address, size);
  const StoreBuffer::Slot entry = stores_.reserve(address, merges, at);
  count_store_stall(entry, at);
  if (!entry.merged) stores_.finish(buses_.write(memory, address & ~7u, 8, entry.start));
  return {entry.stall, AccessFault::none};
}

StoreResult Rt1062Memory::store_device(Memory memory, uint32_t address, unsigned size,
                                       uint32_t value, Cycles at) {
  uint32_t offset = 0;
  Device* const device = find_device(address, &offset);
  if (device == nullptr || size == 3 || address % size != 0) return {0, AccessFault::bus};
  uint32_t stall = 0;
  Cycles there = at;
  if (options_.timing && memory == Memory::ppb) {
    stall = timing_.ppb_write;
    there = at + stall;
    counts_.peripheral_stalls += stall;
  } else if (options_.timing) {
    const StoreBuffer::Slot entry = stores_.reserve(address, false, at);
    stall = entry.stall;
    there = entry.start +
            (peripheral_is_fast(address) ? timing_.ahb_peripheral_write : timing_.peripheral_write);
    stores_.finish(there);
    counts_.peripheral_stalls += stall;
    if (stall > 0 && on_wait_) {
      tell_wait(MemoryWait::Access::store, MemoryWait::Cause::queue, entry.behind, stall, at);
    }
  }
  device->write(offset, size, value, there);
  return {stall, AccessFault::none};
}

uint32_t Rt1062Memory::drain_stores(Cycles at) {
  const uint32_t stall = elapsed(at, stores_.busy_until());
  counts_.store_buffer_stalls += stall;
  if (stall > 0 && on_wait_) tell_store_waits(MemoryWait::Access::store, at);
  return stall;
}

}  // namespace millrace::board
