// SPDX-License-Identifier: Apache-2.0
// The run loop. Its fast path does per block: compare the end of the block with the deadline (the
// next event or the end of the run), call the first handler (the others follow by tail calls), add
// the block's cycles, ask the branch predictor, follow the successor pointer. Everything else waits
// for `dirty_`, which accesses to devices, system instructions, faults and events set.
//
// When a block would reach the deadline, its instructions run one at a time out of a scratch copy
// of their ops, so that events happen between the right two instructions while the issue cycles
// stay those of the whole block: slicing a run differently changes nothing.
#include "cpu/cpu.h"

#include <algorithm>

#include "cpu/decoder.h"
#include "cpu/exec.h"
#include "cpu/schedule.h"

namespace millrace::board {
namespace {

// Of a step that sleeps: events that wake nothing may come for ever.
constexpr Cycles kLongestStep = 1'000'000;

}  // namespace

Cpu::Cpu(MemorySystem& memory, SystemControl& system, EventQueue& events, const Timing* timing)
    : memory_(memory),
      system_(system),
      events_(events),
      timing_(timing != nullptr ? *timing : Timing{}),
      timed_(timing != nullptr),
      blocks_(memory, timing != nullptr ? &timing_ : nullptr),
      predictor_(timing_) {}

CpuStop Cpu::run(Cycles until) { return execute(until, false); }
CpuStop Cpu::step() { return execute(now() + kLongestStep, true); }

Cycles Cpu::now() const { return cursor_ != nullptr ? block_time_ + cursor_->cycle : block_time_; }

void Cpu::set_pc(uint32_t address) {
  state.r[15] = address;
  state.itstate = 0;
  system_.sleep_ends(now());
  sleep_ = Sleep::none;
  state_changed();
}

void Cpu::state_changed() { abandon_block(now()); }

void Cpu::reset() {
  state = CpuState{};
  state.r[14] = 0xFFFFFFFF;  // B1.5.5
  sleep_ = Sleep::none;
  predictor_.reset();
  exc_return_ = 0;
  invalid_state_ = false;
  raised_ = false;
  blocks_.mark_all();
  flush_tlb();
  abandon_block(now());
}

void Cpu::set_breakpoint(uint32_t address, bool on) {
  abandon_block(now());
  blocks_.set_breakpoint(address & ~1u, on);
}

void Cpu::set_watchpoint(const Watchpoint& watchpoint, bool on) {
  const auto found = std::find(watchpoints_.begin(), watchpoints_.end(), watchpoint);
  if (on && found == watchpoints_.end()) {
    watchpoints_.push_back(watchpoint);
  } else if (!on && found != watchpoints_.end()) {
    watchpoints_.erase(found);
  }
  flush_tlb();
  dirty_ = true;
}

// Forgets the block in progress: the next one begins at r[15], at `at`.
void Cpu::abandon_block(Cycles at) {
  block_time_ = at;
  cursor_ = nullptr;
  successor_ = nullptr;
  previous_ = nullptr;
  link_ = 2;
  dirty_ = true;
}

void Cpu::leave_before(const Op* op) {
  state.r[15] = address_of(op);
  state.itstate = op->itstate;
}

// The block at r[15] where no direct branch led to it before.
Block* Cpu::find_block() {
  const uint64_t generation = blocks_.generation();
  const uint64_t decoded = blocks_.decoded();
  Block* block = blocks_.find(state.r[15], state.itstate, privileged_);
  if (decoded != blocks_.decoded()) {
    flush_tlb();  // stores to the page are watched from now on
    if (generation != blocks_.generation()) {
      previous_ = nullptr;
    }
  }
  if (previous_ != nullptr && link_ < 2) {
    previous_->next[link_] = block;
    previous_->next_wait[link_] = wait_between(*previous_, *block);
  }
  return block;
}

// False: a breakpoint.
bool Cpu::check_block(Block* block) {
  if ((block->flags & Block::kVerify) != 0) {
    blocks_.verify(block);
    flush_tlb();
  }
  return (block->flags & Block::kBreakpoint) == 0 || state.r[15] == passed_breakpoint_;
}

// What comes before the first instruction of `block`, `link` of the one before it.
inline void Cpu::charge_start(const Block& block, uint32_t wait, uint32_t penalty) {
  if (wait > penalty) {
    block_time_ += wait - penalty;
    counters_.operand += wait - penalty;
  }
  if (block.line_count != 0) {
    charge_fetch(block);
  }
}

inline void Cpu::note_start(const Block& block) {
  digest_ += block.digest_factor * (block_time_ + 1);
}

// Takes the block at r[15] and charges what comes before its first instruction. False: breakpoint.
bool Cpu::start_block() {
  Block* block = successor_;
  if (block == nullptr) {
    block = blocks_.find_recent(state.r[15], state.itstate, privileged_);
    if (block == nullptr || link_ < 2) {
      block = find_block();
    }
  }
  if (block->flags != 0 && !check_block(block)) [[unlikely]] {
    return false;
  }
  passed_breakpoint_ = kNoBreakpoint;
  block_ = block;
  cursor_ = block->ops.data();
  if (trace) [[unlikely]] {
    trace(*block, block_time_);
  }
  if (timed_) {
    const uint32_t wait = previous_ == nullptr ? 0
                          : link_ < 2          ? previous_->next_wait[link_]
                                               : wait_between(*previous_, *block);
    charge_start(*block, wait, penalty_);
  }
  note_start(*block);
  return true;
}

// The cycles that leaving the block costs. r[15] is the next address.
inline uint32_t Cpu::leave_block(const Block& block, Next next) {
  if (block.leaves == BlockEnd::fall) {
    return 0;
  }
  const uint32_t penalty =
      predictor_.leave(block.leaves, block.branch_pc, block.end, state.r[15], next != Next::fall);
  ++counters_.branches;
  if (penalty != 0) {
    block_time_ += penalty;
    counters_.branch += penalty;
    counters_.mispredicts += penalty == predictor_.mispredict() ? 1 : 0;
  }
  return penalty;
}

// The block is complete and r[15] is the next address.
void Cpu::end_block(Next next) {
  Block* block = block_;
  state.itstate = block->end_itstate;
  block_time_ += block->cycles;
  cursor_ = nullptr;
  previous_ = block;
  if (next <= Next::taken && block->end_itstate == 0) {
    link_ = link_of(next);
    successor_ = block->next[link_];
  } else {
    link_ = 2;
    successor_ = nullptr;
  }
  penalty_ = timed_ ? leave_block(*block, next) : 0;
}

// Executes block_, which was started, and those behind it, as long as each follows from the last
// and can be executed whole. The same as start_block() and end_block() in turn, without what can be
// known not to be the case.
template <bool timed>
void Cpu::run_chain() {
  Block* block = block_;
  cursor_ = nullptr;
  for (;;) {
    const Op* first = block->ops.data();
    const Next next = first->handler(*this, first);
    if (next > Next::indirect) [[unlikely]] {
      finish(next, 0, stop_op_ + 1);
      return;
    }
    instructions_ += block->count;
    block_time_ += block->cycles;
    uint32_t penalty = 0;
    if constexpr (timed) {
      penalty = leave_block(*block, next);
    }
    unsigned link = link_of(next);
    Block* successor = nullptr;
    uint32_t wait = 0;
    if (block->end_itstate != 0) [[unlikely]] {
      link = 2;
    } else if (next != Next::indirect) {
      successor = block->next[link];
      wait = block->next_wait[link];
    } else {
      // An indirect branch keeps its last target where a direct one keeps its only one.
      const uint64_t key = block_key(state.r[15], 0, privileged_);
      successor = block->next[1];
      if (successor == nullptr || successor->key != key) {
        successor = block->next[1] = blocks_.find_recent(key);
      }
      if (timed && block->late_count != 0 && successor != nullptr) {
        wait = wait_between(*block, *successor);
      }
    }
    if (successor == nullptr || successor->flags != 0 || dirty_ || block_time_ >= deadline_)
        [[unlikely]] {
      state.itstate = block->end_itstate;
      previous_ = block;
      link_ = link;
      successor_ = link < 2 ? successor : nullptr;
      penalty_ = penalty;
      return;
    }
    block_ = block = successor;
    if constexpr (timed) {
      charge_start(*block, wait, penalty);
    }
    note_start(*block);
    if (block_time_ + block->cycles > deadline_) [[unlikely]] {
      state.itstate = 0;
      cursor_ = block->ops.data();
      return;
    }
  }
}

CpuStop Cpu::execute(Cycles until, bool single) {
  CpuStop stop = CpuStop::cycles;
  dirty_ = true;
  if (single) passed_breakpoint_ = state.r[15];
  watch_.on = false;  // whoever called may have changed anything
  const uint64_t before = instructions_;
  for (;;) {
    if (dirty_ || now() >= deadline_) {
      const Cycles at = now();
      if (!prepare(until, &stop)) {
        return stop;
      }
      if (single && (instructions_ != before || now() != at)) {
        return CpuStop::stepped;
      }
      if (!single) {
        if (watch_.on || now() >= watch_at_) {
          watch_idle();
        } else {
          deadline_ = std::min(deadline_, watch_at_);
        }
      }
    }
    if (cursor_ == nullptr && !start_block()) {
      passed_breakpoint_ = state.r[15];
      return CpuStop::breakpoint;
    }
    const unsigned first_index = cursor_->index;
    if (block_time_ + block_->cycles <= deadline_ && !single) [[likely]] {
      const Op* op = cursor_;
      if (first_index == 0 && !trace) [[likely]] {
        timed_ ? run_chain<true>() : run_chain<false>();
        continue;
      }
      const Next next = op->handler(*this, op);
      if (next <= Next::indirect) [[likely]] {
        instructions_ += block_->count - first_index;
        end_block(next);
      } else {
        finish(next, first_index, stop_op_ + 1);
      }
    } else if (now() < deadline_) {
      const Op* behind = cursor_ + cursor_->ops;
      finish(run_one(), first_index, behind);
      dirty_ |= single;
    }
  }
}

// Everything that is looked at between instructions. False: stop for *stop.
bool Cpu::prepare(Cycles until, CpuStop* stop) {
  for (;;) {
    dirty_ = false;
    run_events();
    refresh();
    if (system_.locked_up() || system_.reset_requested()) {
      *stop = system_.locked_up() ? CpuStop::locked_up : CpuStop::reset;
      return false;
    }
    if (stop_requested_ || breakpoint_hit_ || watch_hit_) {
      *stop = breakpoint_hit_ ? CpuStop::breakpoint
              : watch_hit_    ? CpuStop::watchpoint
                              : CpuStop::requested;
      stop_requested_ = breakpoint_hit_ = watch_hit_ = false;
      return false;
    }
    if (now() >= until) {
      *stop = CpuStop::cycles;
      dirty_ = true;
      return false;
    }
    if (sleep_ != Sleep::none) {
      if (!sleep_until(until, stop)) {
        return false;
      }
      continue;
    }
    if (system_.attention()) {
      take_exceptions();
    }
    if (!dirty_) {
      break;
    }
  }
  event_time_ = kNever;
  deadline_ = std::min(until, events_.next());
  return true;
}

void Cpu::run_events() {
  const Cycles time = now();
  while (events_.next() <= time) {
    ++events_run_;
    event_time_ = std::max(events_.next(), events_.now());
    events_.advance(event_time_);
    events_.run_due();
  }
  events_.advance(time);
}

void Cpu::refresh() {
  blocks_.take_changes();
  const bool privileged = state.privileged();
  const bool slow = !watchpoints_.empty() || system_.watches_data();
  if (memory_.pages_changed() != pages_seen_ || privileged != privileged_ ||
      slow != no_fast_path_) {
    pages_seen_ = memory_.pages_changed();
    no_fast_path_ = slow;
    if (privileged != privileged_) {
      privileged_ = privileged;
      if (cursor_ == nullptr) {
        successor_ = nullptr;
        link_ = 2;
      }
    }
    flush_tlb();
  }
  fp_ready_ = !system_.fp_lazy_pending();
}

bool Cpu::sleep_until(Cycles until, CpuStop* stop) {
  if (system_.should_wake(state) || (sleep_ == Sleep::wfe && system_.take_event())) {
    system_.sleep_ends(block_time_);
    sleep_ = Sleep::none;
    dirty_ = true;
    return true;
  }
  system_.sleep_begins(block_time_);
  if (events_.next() == kNever) {
    *stop = CpuStop::asleep;
    return false;
  }
  const Cycles wake = std::max(std::min(until, events_.next()), block_time_);
  counters_.asleep += wake - block_time_;
  block_time_ = wake;
  return true;
}

// At the instruction boundary at r[15].
void Cpu::take_exceptions() {
  const uint32_t pc_before = state.r[15];
  const uint32_t exception_before = state.ipsr;
  Cycles time = now();
  // An instruction that waits for operands does not hold up an interrupt that comes meanwhile.
  if (event_time_ < time && cursor_ != nullptr && cursor_ != block_->ops.data()) {
    time = std::clamp(block_time_ + (cursor_ - 1)->cycle + 1, event_time_, time);
  }
  const uint32_t cycles = system_.enter_pending(state);
  if (cycles == 0 && state.r[15] == pc_before && state.ipsr == exception_before) {
    return;
  }
  if (state.r[15] != pc_before || state.ipsr != exception_before) {
    counters_.exception += cycles;
    abandon_block(time + cycles);
    state.r[15] &= ~1u;
    sleep_ = Sleep::none;
  } else {
    block_time_ += timed_ ? cycles : 0;  // stalls owed by register accesses
    dirty_ = true;
  }
}

void Cpu::charge_fetch(const Block& block) {
  for (unsigned k = 0; k < block.line_count; ++k) {
    const Block::Line& line = block.lines[k];
    const uint32_t stall = memory_.fetch_span(line.first, line.last, block_time_ + line.cycle);
    if (stall != 0) {
      block_time_ += stall;
      (line.first >= 0x60000000u ? counters_.fetch_flash : counters_.fetch_ocram) += stall;
    }
  }
}

// Executes the instruction at cursor_ alone.
Next Cpu::run_one() {
  const unsigned count = cursor_->ops;
  std::copy(cursor_, cursor_ + count + 1, scratch_.begin());
  if (cursor_ - block_->ops.data() == block_->joined) {
    scratch_[0].handler = block_->unjoined;
  }
  if (cursor_ + count != &block_->ops.back()) {
    scratch_[count].handler = &op_stepped;
  }
  return scratch_[0].handler(*this, scratch_.data());
}

// What is not the plain end of a block. `behind`: the op after the instruction executed last.
void Cpu::finish(Next next, unsigned first_index, const Op* behind) {
  switch (next) {
    case Next::resync:
    case Next::stepped:
      instructions_ += behind->index - first_index;
      if (behind == &block_->ops.back()) {
        state.r[15] = behind->imm;
        end_block(Next::fall);
      } else {
        cursor_ = behind;
        leave_before(behind);
      }
      dirty_ |= next == Next::resync;
      return;
    case Next::fault:
      instructions_ += stop_op_->index - first_index;
      on_fault();
      return;
    case Next::breakpoint:
      instructions_ += stop_op_->index - first_index;
      on_breakpoint();
      return;
    case Next::sleep_wfi:
    case Next::sleep_wfe:
      sleep_ = next == Next::sleep_wfi ? Sleep::wfi : Sleep::wfe;
      break;
    default:
      break;
  }
  instructions_ += block_->count - first_index;
  end_block(next);
  if (next <= Next::indirect) {
    return;
  }
  dirty_ = true;
  if (invalid_state_) {
    invalid_state_ = false;
    system_.fault(state, FaultCause::invalid_state, 0);
  } else if (exc_return_ != 0) {
    run_events();
    const uint32_t cycles = system_.exception_return(state, exc_return_);
    exc_return_ = 0;
    counters_.exception += cycles;
    state.r[15] &= ~1u;
    abandon_block(block_time_ + cycles);
    if (system_.take_sleep_on_exit()) {
      sleep_ = Sleep::wfi;
    }
  }
}

void Cpu::on_fault() {
  const Op* op = stop_op_;
  const Cycles at = time_of(op) + 1;
  leave_before(op);
  abandon_block(at);
  if (raised_) {
    raised_ = false;
    return;
  }
  system_.fault(state, fault_cause_, fault_address_);
}

void Cpu::on_breakpoint() {
  const Op* op = stop_op_;
  const Cycles at = time_of(op) + 1;
  const uint8_t imm = static_cast<uint8_t>(op->imm);
  leave_before(op);
  abandon_block(at);
  if (bkpt_hook && bkpt_hook(*this, imm)) {
    ++instructions_;
    state.r[15] += 2;
    state.itstate = advance_itstate(state.itstate);
  } else if (halting_debug) {
    breakpoint_hit_ = true;
  } else {
    system_.fault(state, FaultCause::breakpoint, state.r[15]);
  }
}

}  // namespace millrace::board
