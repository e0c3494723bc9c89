// SPDX-License-Identifier: Apache-2.0
// What the memory system counts. Stalls are core cycles beyond zero-wait accesses, indexed by
// static_cast<size_t>(Memory).
#pragma once

#include <array>
#include <cstdint>

#include "core/event_queue.h"
#include "memory/physical_memory.h"

namespace millrace::board {

inline constexpr size_t kMemoryKinds = 9;

struct CacheCounter {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t evictions = 0;   // valid lines that made room
  uint64_t writebacks = 0;  // dirty ones among them and by maintenance
};

struct MemoryCounts {
  CacheCounter icache, dcache;
  std::array<uint64_t, kMemoryKinds> icache_stalls{};    // waiting for a line fill to execute
  std::array<uint64_t, kMemoryKinds> dcache_stalls{};    // waiting for a line fill to load
  std::array<uint64_t, kMemoryKinds> uncached_stalls{};  // loads and fetches past the caches
  uint64_t store_buffer_stalls = 0;                      // full, or drained by a barrier
  uint64_t peripheral_stalls = 0;                        // device and PPB accesses
};

// A line fill that the core asked for.
struct CacheMiss {
  enum class Access : uint8_t { fetch, load, store } access = Access::fetch;
  Memory memory = Memory::none;
  uint32_t line = 0;   // address
  uint32_t stall = 0;  // core cycles of the access that missed
  Cycles at = 0;       // when it began
};

}  // namespace millrace::board
