// SPDX-License-Identifier: Apache-2.0
// One cache with its data: 32-byte lines, pseudo-random replacement. Both caches of the Cortex-M7
// are of this kind (DDI 0489F 5.1): D 32 KB 4-way, I 32 KB 2-way.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "core/snapshot.h"

namespace millrace::board {

inline constexpr uint32_t kLineBytes = 32;

constexpr uint32_t line_of(uint32_t address) { return address & ~(kLineBytes - 1); }

// The sequence of Arm's replacement is not documented: an LFSR stands for it, and results are to
// be quoted over several seeds.
class Lfsr {
 public:
  explicit Lfsr(uint64_t seed) { reseed(seed); }
  void reseed(uint64_t seed) {
    state_ = static_cast<uint32_t>(seed ^ (seed >> 32)) * 2654435761u;
    if (state_ == 0) state_ = 1;
  }
  uint32_t next() {
    state_ = (state_ >> 1) ^ ((0u - (state_ & 1)) & 0xA3000000u);  // x^32 + x^30 + x^26 + x^25 + 1
    return (state_ * 0x9E3779B9u) >> 16;  // neighbouring states share all bits but one: mix
  }
  void snapshot(Snapshot& s) { s.field("lfsr", state_); }

 private:
  uint32_t state_ = 1;
};

template <uint32_t Sets, uint32_t Ways>
class Cache {
 public:
  static constexpr uint32_t kSets = Sets;
  static constexpr uint32_t kWays = Ways;

  // A place in the cache: set * Ways + way.
  using Slot = uint32_t;
  static constexpr Slot kMiss = UINT32_MAX;

  explicit Cache(uint64_t seed) : random_(seed) {}

  static constexpr uint32_t set_of(uint32_t address) { return (address / kLineBytes) % Sets; }

  Slot find(uint32_t address) const {
    const Slot first = set_of(address) * Ways;
    const uint32_t wanted = (address & ~(kLineBytes - 1)) | kValid;
    for (uint32_t way = 0; way < Ways; ++way) {
      if (tags_[first + way] == wanted) return first + way;
    }
    return kMiss;
  }

  bool valid(Slot slot) const { return (tags_[slot] & kValid) != 0; }
  uint32_t line_address(Slot slot) const { return tags_[slot] & ~kValid; }
  bool dirty(Slot slot) const { return dirty_[slot] != 0; }
  void set_dirty(Slot slot, bool dirty) { dirty_[slot] = dirty ? 1 : 0; }
  uint8_t* data(Slot slot) { return &data_[slot * kLineBytes]; }
  const uint8_t* data(Slot slot) const { return &data_[slot * kLineBytes]; }
  void invalidate(Slot slot) {
    tags_[slot] = 0;
    dirty_[slot] = 0;
  }
  void invalidate_all() {
    tags_.fill(0);
    dirty_.fill(0);
  }

  // Where the line of `address` is to go: a free way, or a random one, whose content is the
  // caller's to save.
  Slot victim(uint32_t address) {
    const Slot first = set_of(address) * Ways;
    for (uint32_t way = 0; way < Ways; ++way) {
      if (!valid(first + way)) return first + way;
    }
    return first + random_.next() % Ways;
  }
  void fill(Slot slot, uint32_t address, const uint8_t* bytes) {
    tags_[slot] = (address & ~(kLineBytes - 1)) | kValid;
    dirty_[slot] = 0;
    std::memcpy(data(slot), bytes, kLineBytes);
  }

  void reseed(uint64_t seed) { random_.reseed(seed); }
  void snapshot(Snapshot& s) {
    s.field("tags", tags_);
    s.field("dirty", dirty_);
    s.memory("lines", data_.data(), data_.size());
    random_.snapshot(s);
  }

 private:
  static constexpr uint32_t kValid = 1;  // in the low bits that a line's address has not

  alignas(64) std::array<uint32_t, Sets * Ways> tags_{};
  alignas(64) std::array<uint8_t, Sets * Ways * kLineBytes> data_{};
  std::array<uint8_t, Sets * Ways> dirty_{};
  Lfsr random_;
};

using DataCache = Cache<256, 4>;
using InstructionCache = Cache<512, 2>;

}  // namespace millrace::board
