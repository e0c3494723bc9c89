// SPDX-License-Identifier: Apache-2.0
// For tests of the memory system: a board's memory with a clock, and helpers that fail the test on
// a fault.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/default_map.h"
#include "memory/rt1062_memory.h"

namespace millrace::board {

inline constexpr uint32_t kOcram = 0x20200000;
inline constexpr uint32_t kDtcm = 0x20000000;
inline constexpr uint32_t kFlash = 0x60000000;
inline constexpr uint32_t kPsram = 0x70000000;

// A memory system whose accesses advance time by one cycle and their stall.
struct TestMemory {
  explicit TestMemory(const MemoryOptions& options = {}, const Timing& with = {})
      : timing(with), memory(options, with, clock) {}

  uint32_t load(uint32_t address, unsigned size = 4) {
    const LoadResult result = memory.load(address, size, true, now);
    EXPECT_EQ(result.fault, AccessFault::none) << std::hex << address;
    stall = result.stall;
    now += 1 + stall;
    return result.value;
  }
  void store(uint32_t address, uint32_t value, unsigned size = 4) {
    const StoreResult result = memory.store(address, size, value, true, now);
    EXPECT_EQ(result.fault, AccessFault::none) << std::hex << address;
    stall = result.stall;
    now += 1 + stall;
  }
  AccessFault load_fault(uint32_t address, unsigned size = 4, bool privileged = true) {
    return memory.load(address, size, privileged, now).fault;
  }
  AccessFault store_fault(uint32_t address, unsigned size = 4, bool privileged = true) {
    return memory.store(address, size, 0, privileged, now).fault;
  }
  void op(MemorySystem::CacheOp operation, uint32_t value) {
    now += memory.cache_op(operation, value, now);
  }
  uint32_t dma_load(uint32_t address) {
    std::array<uint8_t, 4> bytes{};
    EXPECT_TRUE(memory.dma_read(address, bytes.data(), 4)) << std::hex << address;
    return load_le(bytes.data(), 4);
  }
  void dma_store(uint32_t address, uint32_t value) {
    std::array<uint8_t, 4> bytes{};
    store_le(bytes.data(), 4, value);
    EXPECT_TRUE(memory.dma_write(address, bytes.data(), 4)) << std::hex << address;
  }
  void program(uint32_t address, uint32_t value) {
    std::array<uint8_t, 4> bytes{};
    store_le(bytes.data(), 4, value);
    EXPECT_TRUE(memory.program(address, bytes.data(), 4)) << std::hex << address;
  }
  uint16_t fetch(uint32_t address) {
    uint16_t halfword = 0;
    EXPECT_EQ(memory.fetch(address, true, &halfword), AccessFault::none) << std::hex << address;
    return halfword;
  }
  // Executes from a line: the stall.
  uint32_t execute(uint32_t first, uint32_t last) {
    stall = memory.fetch_span(first, last, now);
    now += 1 + stall;
    return stall;
  }
  void idle(Cycles cycles) { now += cycles; }

  EventQueue clock;
  Timing timing;
  Rt1062Memory memory;
  Cycles now = 1000;
  uint32_t stall = 0;
};

// An MPU of a test: regions over the default map, the last one that matches counts.
class TestMpu final : public AttributeSource {
 public:
  struct Region {
    uint32_t base;
    uint32_t size;
    MemoryAttributes privileged;
    MemoryAttributes unprivileged;
  };
  std::vector<Region> regions;

  void add(uint32_t base, uint32_t size, const MemoryAttributes& both) {
    regions.push_back({base, size, both, both});
  }
  MemoryAttributes attributes(uint32_t address, bool privileged) const override {
    ++questions;
    MemoryAttributes result = default_attributes(address);
    for (const Region& region : regions) {
      if (address - region.base < region.size) {
        result = privileged ? region.privileged : region.unprivileged;
      }
    }
    return result;
  }
  bool uniform_page(uint32_t page, bool privileged, MemoryAttributes* out) const override {
    for (const Region& region : regions) {
      const bool apart = region.base >= page + kPageBytes || region.base + region.size <= page;
      const bool around = region.base <= page && region.base + region.size >= page + kPageBytes;
      if (!apart && !around) return false;
    }
    *out = attributes(page, privileged);
    return true;
  }
  mutable unsigned questions = 0;
};

inline MemoryAttributes normal_uncached() { return {}; }
inline MemoryAttributes write_back() {
  MemoryAttributes a;
  a.cacheable = a.write_back = a.write_allocate = true;
  return a;
}
inline MemoryAttributes write_back_no_allocate() {
  MemoryAttributes a;
  a.cacheable = a.write_back = true;
  return a;
}
inline MemoryAttributes write_through() {
  MemoryAttributes a;
  a.cacheable = true;
  return a;
}
inline MemoryAttributes no_access() {
  MemoryAttributes a;
  a.readable = a.writable = a.executable = false;
  return a;
}
inline MemoryAttributes device_memory() {
  MemoryAttributes a;
  a.device = true;
  a.executable = false;
  return a;
}

}  // namespace millrace::board
