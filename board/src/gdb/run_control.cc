// SPDX-License-Identifier: Apache-2.0
// A step of gdb is one instruction of the code that the user looks at. A board whose SysTick fires
// every millisecond would otherwise land in the handler on every other `next`, since the time that
// a person takes is no time for the board but a `next` over a loop is. So a PendSV, SysTick or
// device interrupt that is taken during a step runs to its end within the step; a breakpoint in it
// stops as always. Faults and SVC are what the instruction itself did: the step ends in their
// handler.
#include "gdb/run_control.h"

#include <utility>

namespace millrace::board::gdb {
namespace {

constexpr unsigned kLr = 14;
constexpr unsigned kPc = 15;
constexpr unsigned kXpsr = 16;
constexpr uint32_t kPendSv = 14;  // from here on exceptions are not the instruction's doing

uint32_t exception_of(const Board& board) { return board.read_register(kXpsr) & 0x1FF; }

}  // namespace

void RunControl::reset() {
  kind_ = Kind::go;
  in_interrupt_ = false;
  done_ = false;
  bkpt_.reset();
  watch_.reset();
}

void RunControl::start() {
  leave_bkpt();
  watch_.reset();
  kind_ = Kind::go;
}

void RunControl::start_step(uint32_t from, uint32_t to) {
  leave_bkpt();
  kind_ = Kind::step;
  from_ = from;
  to_ = to;
  level_ = exception_of(board_);
  step_pc_ = board_.read_register(kPc);
  in_interrupt_ = false;
  done_ = step_was_done(from, to);
  watch_.reset();
}

// gdb believes that an Arm core stops before the access that a watchpoint is for: it takes its
// watchpoints out, steps, and compares the values then. This board, like the chip, stops behind the
// instruction, so there is nothing to step any more. Stepping would show the user the place one
// instruction late, which is outside of the handler if an interrupt handler ends with a store.
bool RunControl::step_was_done(uint32_t from, uint32_t to) const {
  return watch_ && from == to && watch_->pc == step_pc_ &&
         points_.watch_text(watch_->watch_address).empty();
}

// The board stops before a BKPT, again and again; a person who continues wants to get past it.
void RunControl::leave_bkpt() {
  const uint32_t pc = board_.read_register(kPc);
  if (bkpt_ == pc) board_.write_register(kPc, pc + 2);
  bkpt_.reset();
}

std::optional<StopInfo> RunControl::run(uint64_t cycles) {
  const uint64_t until = board_.cycles() + cycles;
  if (kind_ == Kind::go) {
    const StopInfo info = board_.run_until(until);
    if (info.reason == StopReason::cycles) return std::nullopt;
    return stopped(info);
  }
  if (std::exchange(done_, false)) {
    StopInfo info;
    info.pc = step_pc_;
    return info;
  }
  while (board_.cycles() < until) {
    if (const std::optional<StopInfo> info = step_once()) return stopped(*info);
  }
  return std::nullopt;
}

// A value: the step is complete (reason `cycles`), or something else stopped it.
std::optional<StopInfo> RunControl::step_once() {
  StopInfo info = board_.step();
  if (info.reason != StopReason::cycles) return info;
  info.pc = board_.read_register(kPc);
  const uint32_t exception = exception_of(board_);
  const bool was_in_interrupt = in_interrupt_;
  in_interrupt_ = was_in_interrupt ? exception != level_ && exception != 0 : interrupts(exception);
  // Back from an interrupt that was taken before the instruction.
  if (was_in_interrupt && !in_interrupt_ && info.pc == step_pc_) return std::nullopt;
  if (points_.has_breakpoint(info.pc)) {
    info.reason = StopReason::breakpoint;
    return info;
  }
  if (in_interrupt_) return std::nullopt;
  if (info.pc - from_ < to_ - from_) {
    step_pc_ = info.pc;
    return std::nullopt;
  }
  return info;
}

// The exception came from outside while code of level_ ran. A handler that returns into the next
// one (tail-chaining) has a different number behind the step, too: it is told from preemption by
// EXC_RETURN, which says "to handler mode" (0x...1) for preemption only (DDI 0403E B1.5.8).
bool RunControl::interrupts(uint32_t exception) const {
  if (exception == level_ || exception < kPendSv) return false;
  return level_ == 0 || (board_.read_register(kLr) & 0xF) == 1;
}

StopInfo RunControl::stopped(StopInfo info) {
  if (info.reason == StopReason::breakpoint && !points_.has_breakpoint(info.pc)) bkpt_ = info.pc;
  if (info.reason == StopReason::watchpoint) watch_ = info;
  return info;
}

}  // namespace millrace::board::gdb
