// SPDX-License-Identifier: Apache-2.0
// Pairs submissions and completions by URB id. An id is an address in the kernel: free again after
// the completion, so a table of those seen stays small; captures that number their URBs are swept.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/capture/totals.h"
#include "millrace/capture/transfer.h"
#include "millrace/capture/urb_event.h"

namespace millrace::capture {

class UrbTracker {
 public:
  static constexpr size_t kMaxOpen = 16384;
  static constexpr size_t kMaxCopy = size_t{64} << 10;    // of an OUT's data
  static constexpr size_t kMaxCopies = size_t{64} << 20;  // of all of them

  explicit UrbTracker(TransferSink* sink);
  void take(const UrbEvent& event);
  // Nothing more comes.
  void finish() { totals_.open_at_end = open_; }
  const UrbTotals& totals() const { return totals_; }

 private:
  enum class State : uint8_t { free, open, ended };
  struct Entry {
    uint64_t id = 0;
    uint32_t slot = 0;
    uint16_t bus = 0;
    State state = State::free;
  };
  // Of an open URB.
  struct Slot {
    int64_t submit_ns = 0;
    DeviceKey device = 0;
    uint32_t asked = 0;
    uint8_t endpoint = 0;
    TransferType type = TransferType::bulk;
    bool asked_known = false, has_setup = false;
    std::array<uint8_t, 8> setup{};
    std::vector<uint8_t> data;
  };

  void submit(const UrbEvent& event);
  void complete(const UrbEvent& event);
  void refuse(const UrbEvent& event);
  Entry* find(uint64_t id, uint16_t bus, bool add);
  void close(Entry* entry);
  void make_room();
  void copy(const UrbEvent& event, Slot* slot);
  size_t place_of(uint64_t id, uint16_t bus) const;
  static uint32_t asked_of(const Slot& slot);

  TransferSink* sink_;
  uint64_t seed_;
  std::vector<Entry> table_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  size_t used_ = 0, open_ = 0, copied_ = 0;
  UrbTotals totals_;
};

}  // namespace millrace::capture
