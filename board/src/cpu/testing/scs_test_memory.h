// SPDX-License-Identifier: Apache-2.0
// A MemorySystem for tests of the system control space: three flat memories, faults and stalls by
// address range, everything asked of it recorded. The device is reached as a core reaches it.
#pragma once

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "memory/memory_system.h"

namespace millrace::board::testing {

class ScsTestMemory : public MemorySystem {
 public:
  static constexpr uint32_t kBytes = 0x10000;
  static constexpr std::array<uint32_t, 3> kBases = {0x00000000, 0x20000000, 0x60000000};

  struct Range {
    uint32_t first = 0;
    uint32_t end = 0;
    AccessFault fault = AccessFault::none;
    uint32_t stall = 0;
  };
  std::vector<Range> ranges;
  std::vector<std::pair<CacheOp, uint32_t>> cache_ops;
  uint32_t cache_op_stall = 0;
  unsigned attributes_changes = 0;
  std::pair<uint32_t, uint32_t> changed{1, 0};  // of the last attributes_changed_in()
  bool icache = false;
  bool dcache = false;
  bool obey_attributes = false;
  std::vector<uint32_t> loads;
  std::vector<uint32_t> stores;
  bool last_privileged = true;

  uint32_t word(uint32_t address) const {
    uint32_t value = 0;
    if (const uint8_t* at = host(address)) {
      std::memcpy(&value, at, 4);
    }
    return value;
  }
  void set_word(uint32_t address, uint32_t value) { std::memcpy(host(address), &value, 4); }

  LoadResult load(uint32_t address, unsigned size, bool privileged, Cycles at) override {
    LoadResult out;
    loads.push_back(address);
    last_privileged = privileged;
    check(address, privileged, false, &out.stall, &out.fault);
    if (out.fault != AccessFault::none) {
      return out;
    }
    if (device_ != nullptr && address - device_base_ < device_size_) {
      out.value = device_->read(address - device_base_, size, at);
      return out;
    }
    const uint8_t* from = host(address);
    if (from == nullptr) {
      out.fault = AccessFault::bus;
      return out;
    }
    std::memcpy(&out.value, from, size);
    return out;
  }
  StoreResult store(uint32_t address, unsigned size, uint32_t value, bool privileged,
                    Cycles at) override {
    StoreResult out;
    stores.push_back(address);
    last_privileged = privileged;
    check(address, privileged, true, &out.stall, &out.fault);
    if (out.fault != AccessFault::none) {
      return out;
    }
    if (device_ != nullptr && address - device_base_ < device_size_) {
      device_->write(address - device_base_, size, value, at);
      return out;
    }
    uint8_t* to = host(address);
    if (to == nullptr) {
      out.fault = AccessFault::bus;
      return out;
    }
    std::memcpy(to, &value, size);
    return out;
  }
  const FastPage* fast_page(uint32_t, bool) override { return nullptr; }
  uint32_t pages_changed() const override { return 0; }
  AccessFault fetch(uint32_t address, bool, uint16_t* out) override {
    const uint8_t* from = host(address);
    if (from == nullptr) {
      return AccessFault::bus;
    }
    std::memcpy(out, from, 2);
    return AccessFault::none;
  }
  uint32_t fetch_line(uint32_t, Cycles) override { return 0; }
  bool code_changed() const override { return false; }
  std::vector<uint32_t> take_changed_code_pages(bool* everything) override {
    *everything = false;
    return {};
  }
  void watch_code_page(uint32_t) override {}
  uint32_t drain_stores(Cycles) override { return 0; }
  uint32_t cache_op(CacheOp op, uint32_t value, Cycles) override {
    cache_ops.emplace_back(op, value);
    return cache_op_stall;
  }
  void enable_icache(bool on) override { icache = on; }
  void enable_dcache(bool on) override { dcache = on; }
  bool dma_read(uint32_t, uint8_t*, uint32_t) override { return false; }
  bool dma_write(uint32_t, const uint8_t*, uint32_t) override { return false; }
  bool debug_read(uint32_t address, uint8_t* out, uint32_t size) override {
    const uint8_t* from = host(address);
    if (from != nullptr) {
      std::memcpy(out, from, size);
    }
    return from != nullptr;
  }
  bool debug_write(uint32_t, const uint8_t*, uint32_t) override { return false; }
  void set_flexram(uint32_t, uint32_t) override {}
  void attach(Device& device, uint32_t base, uint32_t size) override {
    device_ = &device;
    device_base_ = base;
    device_size_ = size;
  }
  void set_attributes_source(const AttributeSource* source) override { source_ = source; }
  void attributes_changed() override { ++attributes_changes; }
  void attributes_changed_in(uint32_t first, uint32_t last) override {
    ++attributes_changes;
    changed = {first, last};
  }
  void reset() override {}

 private:
  void check(uint32_t address, bool privileged, bool is_write, uint32_t* stall,
             AccessFault* fault) const {
    for (const Range& range : ranges) {
      if (address >= range.first && address < range.end) {
        *stall = range.stall;
        *fault = range.fault;
      }
    }
    if (obey_attributes && source_ != nullptr) {
      const MemoryAttributes attributes = source_->attributes(address, privileged);
      if (!(is_write ? attributes.writable : attributes.readable)) {
        *fault = AccessFault::mpu_data;
      }
    }
  }
  const uint8_t* host(uint32_t address) const {
    for (size_t i = 0; i < kBases.size(); ++i) {
      if (address - kBases[i] <= kBytes - 4) {
        return memories_[i].data() + (address - kBases[i]);
      }
    }
    return nullptr;
  }
  uint8_t* host(uint32_t address) {
    return const_cast<uint8_t*>(static_cast<const ScsTestMemory*>(this)->host(address));
  }

  std::array<std::vector<uint8_t>, 3> memories_ = {
      std::vector<uint8_t>(kBytes), std::vector<uint8_t>(kBytes), std::vector<uint8_t>(kBytes)};
  Device* device_ = nullptr;
  uint32_t device_base_ = 0;
  uint32_t device_size_ = 0;
  const AttributeSource* source_ = nullptr;
};

}  // namespace millrace::board::testing
