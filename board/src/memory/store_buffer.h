// SPDX-License-Identifier: Apache-2.0
// The store buffer of the Cortex-M7: 4 entries of 64 bits, drained in order (DDI 0489F 5.3.3). It
// holds times, not bytes: a store takes effect on the cache or the memory at once. What is lost by
// that is the window of some cycles in which a DMA master could still see the old bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/event_queue.h"
#include "core/snapshot.h"

namespace millrace::board {

class StoreBuffer {
 public:
  static constexpr unsigned kEntries = 4;

  struct Slot {
    uint32_t stall = 0;   // until an entry was free
    uint32_t behind = 0;  // address of the 8 bytes that left it, if that was waited for
    bool merged = false;  // into the newest entry: costs nothing more
    Cycles start = 0;     // when the entry's turn comes
  };

  // An entry for a store at `at` into the 8 bytes around `address`. If not merged, finish() says
  // when the memory has taken it. `merges`: Normal memory.
  Slot reserve(uint32_t address, bool merges, Cycles at) {
    retire(at);
    Slot slot;
    if (count_ > 0 && merges) {
      const Entry& newest = entries_[(first_ + count_ - 1) % kEntries];
      if (newest.merges && newest.word == address / 8 && newest.start > at) {
        slot.merged = true;
        return slot;
      }
    }
    if (count_ == kEntries) {
      const Cycles free_at = entries_[first_].done;
      slot.stall = static_cast<uint32_t>(free_at - at);
      slot.behind = entries_[first_].word * 8;
      retire(free_at);
      at = free_at;
    }
    // An entry is picked up two cycles after it was written, so that a second store to its 8 bytes
    // in the next cycle still finds it.
    slot.start = std::max(at + 2, busy_until_);
    entries_[(first_ + count_) % kEntries] = {slot.start, slot.start, address / 8, merges};
    ++count_;
    return slot;
  }
  void finish(Cycles done) {
    Entry& newest = entries_[(first_ + count_ - 1) % kEntries];
    newest.done = std::max(done, newest.start + 1);
    busy_until_ = newest.done;
  }

  Cycles busy_until() const { return busy_until_; }  // everything stored so far has drained then
  // Calls f(address of 8 bytes, from, to) for each entry that is waited for from `at` on until all
  // has drained, in order: the times follow one another.
  template <class F>
  void each_wait(Cycles at, F f) const {
    for (unsigned i = 0; i < count_; ++i) {
      const Entry& entry = entries_[(first_ + i) % kEntries];
      if (entry.done <= at) continue;
      f(entry.word * 8, at, entry.done);
      at = entry.done;
    }
  }
  void reset() { *this = StoreBuffer(); }
  void snapshot(Snapshot& s) {
    for (Entry& entry : entries_) {
      s.field("start", entry.start);
      s.field("done", entry.done);
      s.field("word", entry.word);
      s.field("merges", entry.merges);
    }
    s.field("first", first_);
    s.field("count", count_);
    s.field("busy_until", busy_until_);
    if (s.restoring() && (first_ >= kEntries || count_ > kEntries)) {
      reset();
      s.fail("count", "is impossible");
    }
  }

 private:
  struct Entry {
    Cycles start = 0;
    Cycles done = 0;
    uint32_t word = 0;
    bool merges = false;
  };
  void retire(Cycles at) {
    while (count_ > 0 && entries_[first_].done <= at) {
      first_ = (first_ + 1) % kEntries;
      --count_;
    }
  }

  std::array<Entry, kEntries> entries_{};
  unsigned first_ = 0;
  unsigned count_ = 0;
  Cycles busy_until_ = 0;
};

}  // namespace millrace::board
