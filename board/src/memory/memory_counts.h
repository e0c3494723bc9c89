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

// A wait of the core for memory, or a line fill that it did not wait for (miss with no stall). An
// access may wait for several things, one after another: each is one of these.
struct MemoryWait {
  enum class Access : uint8_t { fetch, load, store };
  enum class Cause : uint8_t {
    miss,      // the line's fill began with this access
    fill,      // it had begun before: a hit on words that are still on their way
    uncached,  // a fetch or load past the caches
    queue,     // an earlier access, to `line`, was not done: a store, or what fills a line
  };
  Access access = Access::fetch;
  Cause cause = Cause::miss;
  Memory memory = Memory::none;
  uint32_t line = 0;   // address: what was waited for
  uint32_t stall = 0;  // core cycles
  Cycles at = 0;       // when it began
  // Of a miss: address of the line that left the cache for it. The line's own: none had to.
  uint32_t evicted = 0;
};

}  // namespace millrace::board
