// SPDX-License-Identifier: Apache-2.0
// The Cortex-M7: executes decoded blocks against the memory system, the system control space and
// the event queue, and keeps their common time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/bytes.h"
#include "core/event_queue.h"
#include "core/timing.h"
#include "cpu/block.h"
#include "cpu/branch_predictor.h"
#include "cpu/idle_watch.h"
#include "cpu/op.h"
#include "cpu/state.h"
#include "cpu/system_control.h"
#include "memory/memory_system.h"

namespace millrace::board {

enum class CpuStop : uint8_t {
  cycles,  // the given time has passed
  stepped,
  requested,  // request_stop()
  breakpoint,
  watchpoint,
  locked_up,
  reset,   // SYSRESETREQ
  asleep,  // nothing scheduled could ever wake it
};

struct Watchpoint {
  uint32_t address = 0;
  uint32_t size = 0;
  bool reads = false, writes = false;
  friend bool operator==(const Watchpoint&, const Watchpoint&) = default;
};

// How a data access ended.
enum class Access : uint8_t {
  done,
  done_stop,  // done, but the chain must end behind this instruction (Next::resync)
  fault,      // raised
};

class Cpu {
 public:
  // `timing` null: functional only, one cycle an instruction, memories still answer as they do.
  // All references outlive this.
  Cpu(MemorySystem& memory, SystemControl& system, EventQueue& events, const Timing* timing);
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  // Executes until time reaches `until` or something stops it. Events that are due run first, in
  // time; instructions that would issue at or behind an event's time execute after it. The same
  // program gives the same result however the time is sliced.
  CpuStop run(Cycles until);
  // One instruction, or one exception entry, or sleep: up to its end, at most a million cycles.
  CpuStop step();
  void request_stop() { stop_requested_ = true; }  // from a callback; takes effect at a boundary

  // Of the next instruction. REQUIRES for set: not from a callback.
  uint32_t pc() const { return state.r[15]; }
  void set_pc(uint32_t address);
  // Registers as after reset, except for what the caller then loads from the vector table.
  void reset();
  // To be called when someone else changed `state`, breakpoints aside.
  void state_changed();

  Cycles now() const;
  uint64_t instructions() const { return instructions_; }
  const CpuCounters& counters() const { return counters_; }
  uint64_t blocks_decoded() const { return blocks_.decoded(); }
  // A sum over the blocks executed: a factor made of the block's address times the time.
  uint64_t trace_digest() const { return digest_; }
  bool asleep() const { return sleep_ != Sleep::none; }

  void set_breakpoint(uint32_t address, bool on);
  void set_watchpoint(const Watchpoint& watchpoint, bool on);
  uint32_t watch_address() const { return watch_address_; }  // that stopped it last

  // BKPT: true if it was handled (semihosting) and execution continues behind it. Without a hook,
  // or if it says false: CpuStop::breakpoint with `halting_debug`, else the fault.
  std::function<bool(Cpu&, uint8_t imm)> bkpt_hook;
  bool halting_debug = false;
  // Loops that wait are skipped (idle.cc). Changes nothing but the time that execution takes; off
  // while `trace` is set.
  bool skip_idle_loops = true;
  uint64_t skipped_rounds() const { return skipped_rounds_; }
  // Each block about to execute and the time, before its instructions are fetched.
  std::function<void(const Block& block, Cycles at)> trace;
  // Of the instruction whose access to a peripheral or the system space is under way.
  uint32_t access_pc() const { return access_pc_; }

  // Registers, time, counters, predictor and place in the block. When restoring, the memory system
  // must have been restored before: blocks are decoded again.
  void snapshot(Snapshot& s);

  // ---- for the handlers ----
  CpuState state;

  // Reads `size` bytes, zero-extended. On a fault raise() has been called.
  template <unsigned size>
  Access load(const Op* op, uint32_t address, uint32_t* value);
  template <unsigned size>
  Access store(const Op* op, uint32_t address, uint32_t value);
  // The same without the fast path. `after`: cycles behind the instruction's issue (multiples).
  // `aligned_only`: an unaligned address faults whatever CCR says.
  struct AccessKind {
    uint8_t size = 4;
    bool aligned_only = false;
    bool unprivileged = false;
    uint8_t after = 0;
  };
  Access load_slow(const Op* op, uint32_t address, AccessKind kind, uint32_t* value);
  Access store_slow(const Op* op, uint32_t address, AccessKind kind, uint32_t value);
  // Host address of `count` words at `address` if all are on the fast path, else null.
  uint8_t* fast_words(uint32_t address, unsigned count, bool write);

  Next raise(const Op* op, FaultCause cause, uint32_t address);
  // The instruction's own address.
  uint32_t address_of(const Op* op) const { return block_->address + 2u * op->half; }
  // BXWritePC (A2.3.1): ends the block.
  Next branch_exchange(const Op* op, uint32_t target) {
    static_cast<void>(op);
    if (target >= 0xF0000000u && state.ipsr != 0) {
      exc_return_ = target;
      return Next::exception;
    }
    return call_exchange(target);
  }
  // BLXWritePC: no exception return.
  Next call_exchange(uint32_t target) {
    state.r[15] = target & ~1u;
    if ((target & 1) == 0) [[unlikely]] {
      invalid_state_ = true;
      return Next::exception;
    }
    return Next::indirect;
  }
  bool prepare_fp(const Op* op);  // false: raised; return Next::fault
  void add_stall(uint64_t cycles) { block_time_ += timed_ ? cycles : 0; }
  bool timed() const { return timed_; }
  const Timing& timing() const { return timing_; }
  Next stop_at(const Op* op, Next why) {
    stop_op_ = op;
    return why;
  }
  Cycles time_of(const Op* op) const { return block_time_ + op->cycle; }
  MemorySystem& memory() { return memory_; }
  SystemControl& system() { return system_; }
  void barrier(const Op* op);  // DMB, DSB, ISB: the stores before it complete

 private:
  enum class Sleep : uint8_t { none, wfi, wfe };
  // A page on the fast path. The tags hold the page's address or kNoPage. What load() and store()
  // look for is the page with the bits of a misalignment, so kNoPage has a bit that is in neither.
  static constexpr uint32_t kNoPage = kPageBytes / 2;
  struct Tlb {
    uint32_t read_tag = kNoPage, write_tag = kNoPage;
    uint8_t* read = nullptr;
    uint8_t* write = nullptr;
  };
  static constexpr unsigned kTlbEntries = 64;
  static constexpr uint32_t kNoBreakpoint = 1;  // no instruction is at an odd address

  CpuStop execute(Cycles until, bool single);
  bool prepare(Cycles until, CpuStop* stop);
  bool sleep_until(Cycles until, CpuStop* stop);
  void run_events();
  void refresh();
  void take_exceptions();
  bool start_block();
  Block* find_block();
  bool check_block(Block* block);
  void charge_fetch(const Block& block);
  void charge_start(const Block& block, uint32_t wait, uint32_t penalty);
  void note_start(const Block& block);
  uint32_t leave_block(const Block& block, Next next);
  template <bool timed>
  void run_chain();
  // Which Block::next leads on; 2: none, an indirect branch.
  static unsigned link_of(Next next) {
    return static_cast<unsigned>(next) - static_cast<unsigned>(Next::fall);
  }
  Next run_one();
  void finish(Next next, unsigned first_index, const Op* behind);
  void end_block(Next next);
  void leave_before(const Op* op);
  void abandon_block(Cycles at);
  void on_fault();
  void on_breakpoint();
  void flush_tlb();
  Tlb* fill_tlb(uint32_t address);
  bool watch(uint32_t address, unsigned size, bool is_write, const Op* op);
  // What loads and stores have in common before the memory is asked: alignment, time. False: a
  // fault was raised.
  bool begin_access(const Op* op, uint32_t address, AccessKind kind, bool* device, Cycles* at);
  Access finish_access(uint32_t address, uint32_t stall, bool device);

  // idle.cc
  void watch_idle();
  void watch_boundary();
  void end_watch(bool found);
  void begin_round(bool in_full);
  uint64_t rounds_to_skip();
  void skip_rounds(uint64_t rounds);

  MemorySystem& memory_;
  SystemControl& system_;
  EventQueue& events_;
  const Timing timing_;
  const bool timed_;
  BlockCache blocks_;
  BranchPredictor predictor_;
  std::array<Tlb, kTlbEntries> tlb_{};

  Block* block_ = nullptr;      // being executed, or executed last
  const Op* cursor_ = nullptr;  // next op in it; null: the next block begins at r[15]
  Block* successor_ = nullptr;  // the block at r[15] if known
  Block* previous_ = nullptr;   // the block before, unless an exception came between
  unsigned link_ = 2;           // previous_->next[] that is the way here; 2: an indirect branch
  uint32_t penalty_ = 0;        // of leaving previous_; late results wait at the same time
  const Op* stop_op_ = nullptr;
  Cycles block_time_ = 0;  // when op->cycle 0 issues, stalls so far included
  Cycles deadline_ = 0;
  std::array<Op, 6> scratch_{};

  bool dirty_ = true;  // service() must look
  bool privileged_ = true;
  bool fp_ready_ = false;
  bool no_fast_path_ = false;  // watchpoints
  bool stop_requested_ = false;
  bool raised_ = false;  // by the system control itself
  bool breakpoint_hit_ = false;
  bool watch_hit_ = false;
  Sleep sleep_ = Sleep::none;
  FaultCause fault_cause_ = FaultCause::undefined_instruction;
  uint32_t fault_address_ = 0;
  uint32_t exc_return_ = 0;  // 0: none
  bool invalid_state_ = false;
  uint32_t watch_address_ = 0;
  // The breakpoint that stopped it last, until the instruction there has begun. Only this one is
  // passed over: a run that begins at another breakpoint, where time had ended the last one, stops.
  uint32_t passed_breakpoint_ = kNoBreakpoint;
  uint32_t access_pc_ = 0;
  uint32_t pages_seen_ = 0;
  uint64_t instructions_ = 0;
  uint64_t digest_ = 0x9E3779B97F4A7C15u;
  uint64_t events_run_ = 0;     // times that events were due
  Cycles event_time_ = kNever;  // of the last that ran since an instruction was executed
  uint64_t device_accesses_ = 0;
  Cycles watch_at_ = 0;  // when to look for an idle loop next
  Cycles watch_interval_ = 0;
  uint64_t skipped_rounds_ = 0;
  IdleWatch watch_;
  CpuCounters counters_;
  std::vector<Watchpoint> watchpoints_;
};

template <unsigned size>
inline Access Cpu::load(const Op* op, uint32_t address, uint32_t* value) {
  const Tlb& t = tlb_[(address / kPageBytes) % kTlbEntries];
  if (t.read_tag == (address & (~(kPageBytes - 1) | (size - 1)))) [[likely]] {
    const uint8_t* p = t.read + (address & (kPageBytes - 1));
    if constexpr (size == 4) {
      *value = load_le32(p);
    } else if constexpr (size == 2) {
      *value = load_le16(p);
    } else {
      *value = *p;
    }
    return Access::done;
  }
  return load_slow(op, address, {.size = size}, value);
}

template <unsigned size>
inline Access Cpu::store(const Op* op, uint32_t address, uint32_t value) {
  const Tlb& t = tlb_[(address / kPageBytes) % kTlbEntries];
  if (t.write_tag == (address & (~(kPageBytes - 1) | (size - 1)))) [[likely]] {
    uint8_t* p = t.write + (address & (kPageBytes - 1));
    if constexpr (size == 4) {
      store_le32(p, value);
    } else if constexpr (size == 2) {
      store_le16(p, static_cast<uint16_t>(value));
    } else {
      *p = static_cast<uint8_t>(value);
    }
    return Access::done;
  }
  return store_slow(op, address, {.size = size}, value);
}

}  // namespace millrace::board
