// SPDX-License-Identifier: Apache-2.0
// The instruction side, cache maintenance, and when decoded code is not what the core would
// execute any more.
//
// What the core executes from a line is the I-cache's copy if it has one, else memory. So the code
// of a line changes
//   - when memory changes (store past the D-cache, write-back, DMA) and the I-cache has no copy;
//   - when the I-cache loses a copy that differs from memory (invalidated, or evicted), or is
//   turned
//     on or off while it holds one.
// A fill never changes it: it copies what was seen already.
#include <algorithm>
#include <cstring>

#include "memory/rt1062_memory.h"

namespace millrace::board {
namespace {

// The core executes the beats that came first while it waits for those that come later.
constexpr uint32_t kCyclesPerBeat = 3;

constexpr DataCache::Slot dcache_set_way(uint32_t value) {
  return ((value / kLineBytes) % DataCache::kSets) * DataCache::kWays + (value >> 30);
}

}  // namespace

AccessFault Rt1062Memory::fetch(uint32_t address, bool privileged, uint16_t* out) {
  address &= ~1u;
  const Page& page = pages_.page(address, privileged);
  const unsigned flags = pages_.flags(page, address, privileged);
  if ((flags & kReadable) == 0 || (flags & kExecutable) == 0) return AccessFault::mpu_execute;
  if (page.host == nullptr) return AccessFault::bus;
  const uint8_t* bytes = page.host + address % kPageBytes;
  if (icache_on_ && (flags & kCacheable) != 0 && page.memory != Memory::itcm &&
      page.memory != Memory::dtcm) {
    const InstructionCache::Slot slot = icache_.find(address);
    if (slot != InstructionCache::kMiss) bytes = icache_.data(slot) + address % kLineBytes;
  }
  *out = static_cast<uint16_t>(load_le(bytes, 2));
  pages_.mark_decoded(address);
  return AccessFault::none;
}

uint32_t Rt1062Memory::fetch_slow(const Page& page, uint32_t first, uint32_t last, Cycles at) {
  if (!options_.timing || page.host == nullptr || page.memory == Memory::itcm ||
      page.memory == Memory::dtcm) {
    return 0;
  }
  const uint32_t first_beat = (first / 8) % 4;
  const uint32_t last_beat = line_of(last) == line_of(first) ? (last / 8) % 4 : 3;
  const Memory memory = page.memory;
  if (!icache_on_ || (pages_.flags(page, first, true) & kCacheable) == 0) {
    Cycles there = at;
    for (uint32_t beat = first_beat; beat <= last_beat; ++beat) {
      there = buses_.read(memory, line_of(first) + 8 * beat, there);
    }
    counts_.uncached_stalls[index_of(memory)] += there - at;
    if (on_wait_) {
      on_wait_({MemoryWait::Access::fetch, MemoryWait::Cause::uncached, memory, line_of(first),
                static_cast<uint32_t>(there - at), at, 0});
    }
    return static_cast<uint32_t>(there - at);
  }
  const bool missed = icache_.find(first) == InstructionCache::kMiss;
  uint32_t evicted = line_of(first);
  if (!missed) {
    ++counts_.icache.hits;
    if (instruction_fill_line_ != line_of(first)) return 0;
  } else {
    ++counts_.icache.misses;
    instruction_fill_ = buses_.fill_line(memory, first, std::max(at, instruction_fill_done_));
    instruction_fill_line_ = line_of(first);
    instruction_fill_done_ = *std::max_element(instruction_fill_.begin(), instruction_fill_.end());
    const InstructionCache::Slot slot = icache_.victim(first);
    if (icache_.valid(slot)) {
      ++counts_.icache.evictions;
      evicted = icache_.line_address(slot);
      if (!icache_evictions_.empty()) ++icache_evictions_[InstructionCache::set_of(first)];
      report_stale_line(slot);
    }
    icache_.fill(slot, first, page.host + line_of(first) % kPageBytes);
  }
  uint32_t stall = 0;
  for (uint32_t beat = first_beat; beat <= last_beat; ++beat) {
    const Cycles wanted = at + Cycles{beat - first_beat} * kCyclesPerBeat;
    if (instruction_fill_[beat] <= wanted) continue;
    stall = std::max(stall, static_cast<uint32_t>(instruction_fill_[beat] - wanted));
  }
  counts_.icache_stalls[index_of(memory)] += stall;
  if (on_wait_ && (missed || stall > 0)) {
    on_wait_({MemoryWait::Access::fetch, missed ? MemoryWait::Cause::miss : MemoryWait::Cause::fill,
              memory, line_of(first), stall, at, evicted});
  }
  return stall;
}

void Rt1062Memory::note_written(uint32_t address, uint32_t size) {
  for (uint32_t line = line_of(address); line - line_of(address) < size + address % kLineBytes;
       line += kLineBytes) {
    if (!pages_.decoded(line)) continue;
    if (icache_on_ && icache_.find(line) != InstructionCache::kMiss) continue;
    code_line_changed(line);
  }
}

void Rt1062Memory::code_line_changed(uint32_t address) {
  if (!pages_.decoded(address)) return;
  changed_pages_.push_back(address / kPageBytes);
  pages_.unwatch(address);  // so a page is listed once until the core decodes it again
}

// The I-cache is about to lose this copy, or to be turned on or off.
void Rt1062Memory::report_stale_line(InstructionCache::Slot slot) {
  const uint32_t line = icache_.line_address(slot);
  if (!pages_.decoded(line)) return;
  const PhysicalMemory::Place place = memory_.find(line);
  if (place.host != nullptr && std::memcmp(place.host, icache_.data(slot), kLineBytes) == 0) return;
  code_line_changed(line);
}

void Rt1062Memory::report_stale_lines() {
  for (InstructionCache::Slot slot = 0; slot < InstructionCache::kSets * InstructionCache::kWays;
       ++slot) {
    if (icache_.valid(slot)) report_stale_line(slot);
  }
}

std::vector<uint32_t> Rt1062Memory::take_changed_code_pages(bool* everything) {
  if (recheck_first_ <= recheck_last_) {
    const std::vector<uint32_t> changed =
        pages_.take_changed_permissions(recheck_first_, recheck_last_);
    changed_pages_.insert(changed_pages_.end(), changed.begin(), changed.end());
    recheck_first_ = UINT32_MAX;
    recheck_last_ = 0;
  }
  *everything = everything_changed_;
  everything_changed_ = false;
  std::vector<uint32_t> pages;
  pages.swap(changed_pages_);
  return pages;
}

void Rt1062Memory::enable_icache(bool on) {
  on = on && options_.icache && options_.timing;
  if (on == icache_on_) return;
  report_stale_lines();
  icache_on_ = on;
  pages_.set_caches(icache_on_, dcache_on_);
}

void Rt1062Memory::enable_dcache(bool on) {
  on = on && options_.dcache && options_.timing;
  if (on == dcache_on_) return;
  dcache_on_ = on;
  pages_.set_caches(icache_on_, dcache_on_);
}

uint32_t Rt1062Memory::cache_op(CacheOp op, uint32_t value, Cycles at) {
  DataCache::Slot slot = DataCache::kMiss;
  bool clean = false;
  bool invalidate = false;
  switch (op) {
    case CacheOp::icache_all:
      report_stale_lines();
      icache_.invalidate_all();
      return 1;
    case CacheOp::icache_line: {
      const InstructionCache::Slot code = icache_.find(value);
      if (code == InstructionCache::kMiss) return 1;
      report_stale_line(code);
      icache_.invalidate(code);
      return 1;
    }
    case CacheOp::branch_predictor_all:
      return 1;
    case CacheOp::dcache_invalidate_line:
    case CacheOp::dcache_clean_line:
    case CacheOp::dcache_clean_invalidate_line:
      slot = dcache_.find(value);
      clean = op != CacheOp::dcache_invalidate_line;
      invalidate = op != CacheOp::dcache_clean_line;
      break;
    case CacheOp::dcache_invalidate_set_way:
    case CacheOp::dcache_clean_set_way:
    case CacheOp::dcache_clean_invalidate_set_way:
      slot = dcache_set_way(value);
      clean = op != CacheOp::dcache_invalidate_set_way;
      invalidate = op != CacheOp::dcache_clean_set_way;
      break;
  }
  if (slot == DataCache::kMiss || !dcache_.valid(slot)) return 1;
  uint32_t stall = 1;
  if (clean && dcache_.dirty(slot)) {
    // One line waits for the bus; the next one waits for it.
    if (eviction_done_ > at) stall += static_cast<uint32_t>(eviction_done_ - at);
    if (stall > 1 && on_wait_) {
      tell_wait(MemoryWait::Access::store, MemoryWait::Cause::queue, dcache_.line_address(slot),
                stall - 1, at);
    }
    write_back(slot, at + stall);
  }
  if (invalidate) dcache_.invalidate(slot);
  return stall;
}

}  // namespace millrace::board
