// SPDX-License-Identifier: Apache-2.0
// What the core counts, and what it notes at the head of a loop that may do nothing but wait.
#pragma once

#include <cstdint>
#include <optional>

#include "core/event_queue.h"
#include "cpu/block.h"
#include "cpu/branch_predictor.h"
#include "cpu/state.h"
#include "memory/memory_system.h"

namespace millrace::board {

// Stall cycles by cause; instructions and time are Cpu's.
struct CpuCounters {
  uint64_t fetch_flash = 0, fetch_ocram = 0, data_flash = 0, data_ocram = 0;
  uint64_t peripheral = 0, barrier = 0, branch = 0, operand = 0, exception = 0, asleep = 0;
  uint64_t branches = 0, mispredicts = 0;
  friend bool operator==(const CpuCounters&, const CpuCounters&) = default;
};

struct IdleWatch {
  bool on = false;
  bool has_head = false;    // all below is set
  bool confirming = false;  // of the second round, which is compared in full
  unsigned steps = 0;       // instructions watched
  CpuState state;
  Cycles at = 0;
  uint64_t instructions = 0;
  uint64_t digest = 0;
  uint64_t events_run = 0;
  uint64_t device_accesses = 0;
  const Block* previous = nullptr;
  unsigned link = 0;
  uint32_t penalty = 0;
  CpuCounters counters;
  MemorySystem::Activity activity;
  std::optional<BranchPredictor> predictor;
  // Of the round under way.
  unsigned blocks = 0;
  uint64_t digest_factors = 0;
};

}  // namespace millrace::board
