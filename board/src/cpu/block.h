// SPDX-License-Identifier: Apache-2.0
// Decoded code: straight runs of ops, made on first execution and kept until the memory under them
// changes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/timing.h"
#include "cpu/op.h"
#include "memory/memory_system.h"

namespace millrace::board {

// How control leaves a block; decides what the branch predictor does.
enum class BlockEnd : uint8_t { fall, conditional, jump, call, indirect_call, indirect, returns };

// A result that is not ready when the block ends.
struct LateResult {
  uint8_t reg = 0;     // number of the scoreboard (pipeline.h)
  uint8_t cycles = 0;  // after the end of the block
};

struct Block {
  static constexpr uint8_t kVerify = 1;      // memory may have changed: compare before execution
  static constexpr uint8_t kBreakpoint = 2;  // stop before the first instruction
  static constexpr uint8_t kTransient = 4;   // a fetch fault: decode again each time

  uint64_t key = 0;      // block_key()
  uint32_t address = 0;  // of the first instruction
  uint32_t end = 0;      // behind the last
  uint32_t branch_pc = 0;
  uint16_t cycles = 0;  // issue cycles of the whole block
  uint8_t count = 0;    // instructions
  uint8_t flags = 0;
  BlockEnd leaves = BlockEnd::fall;
  uint8_t end_itstate = 0;
  uint8_t late_count = 0;
  uint8_t line_count = 0;      // entries of `lines`; 0 where fetches never stall
  bool may_wait = false;       // has only instructions of loops that wait (idle.cc)
  uint64_t digest_factor = 1;  // of the address, odd
  // Successors seen last: [0] behind the end, [1] the target of the branch, and, but for indirect
  // branches, the cycles that they wait for this block's late results.
  std::array<Block*, 2> next{};
  std::array<uint8_t, 2> next_wait{};
  std::vector<Op> ops;  // the last is the end op
  // The op before a final branch whose handler does the branch too, as an offset in `ops` (0xFF:
  // none), and the handler that does not, for single steps.
  uint8_t joined = 0xFF;
  Handler unjoined = nullptr;
  struct Line {
    uint32_t first = 0;  // addresses of the first and last byte of code in it
    uint32_t last = 0;
    uint16_t cycle = 0;  // issue cycle of its first instruction
  };
  std::array<Line, 5> lines{};
  std::array<LateResult, 6> late{};
  // Cycle in which a result of the block before must be there for an ALU, by number of the
  // scoreboard (pipeline.h); 127: not read.
  std::array<int8_t, 49> first_use{};
  std::vector<uint16_t> code;
};

// Blocks are told apart by all that decoding depends on.
constexpr uint64_t block_key(uint32_t address, uint32_t itstate, bool privileged) {
  return address | (static_cast<uint64_t>(itstate) << 32) |
         (static_cast<uint64_t>(privileged ? 0 : 1) << 40);
}

class BlockCache {
 public:
  static constexpr unsigned kMaxInstructions = 32;
  static constexpr size_t kMaxBlocks = 32768;  // then all are dropped: bounds the memory used

  // `timing` null: one cycle an instruction, no fetch stalls. All outlive this.
  BlockCache(MemorySystem& memory, const Timing* timing);

  // The block that begins at `address`, decoded if need be and up to date. May drop all blocks
  // (generation() changes); else pointers stay valid.
  Block* find(uint32_t address, uint32_t itstate, bool privileged);
  // The same if it was found lately and is at hand, else null.
  Block* find_recent(uint32_t address, uint32_t itstate, bool privileged) const {
    return find_recent(block_key(address, itstate, privileged));
  }
  Block* find_recent(uint64_t key) const {
    Block* block = recent_[recent_slot(key)];
    return block != nullptr && block->key == key ? block : nullptr;
  }
  // Compares a block with memory; decodes it again if it differs.
  void verify(Block* block);
  // Asks the memory system what changed and marks the blocks there.
  void take_changes();
  void mark_all();
  void clear();
  uint64_t generation() const { return generation_; }
  uint64_t decoded() const { return decoded_; }

  void set_breakpoint(uint32_t address, bool on);

 private:
  static constexpr size_t kRecent = 8192;
  static size_t recent_slot(uint64_t key) { return static_cast<size_t>((key >> 1) % kRecent); }
  void build(Block* block);
  void fetch_failed(Block* block, AccessFault fault);
  void register_pages(Block* block);
  void set_lines(Block* block);

  MemorySystem& memory_;
  const Timing* timing_;
  std::vector<Block*> recent_;  // direct-mapped by address
  std::unordered_map<uint64_t, std::unique_ptr<Block>> blocks_;
  std::unordered_map<uint32_t, std::vector<Block*>> by_page_;
  std::vector<uint32_t> breakpoints_;
  uint64_t generation_ = 0;
  uint64_t decoded_ = 0;
};

}  // namespace millrace::board
