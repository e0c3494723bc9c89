// SPDX-License-Identifier: Apache-2.0
// The core's state between two instructions. Decoded blocks are not part of it: a block that was
// under way is decoded again from the restored memory and entered at the same instruction.
#include "cpu/cpu.h"

namespace millrace::board {
namespace {

constexpr uint64_t kNoBlock = UINT64_MAX;

}  // namespace

void Cpu::snapshot(Snapshot& s) {
  s.field("cpu.r", state.r);
  s.field("cpu.other_sp", state.other_sp);
  s.field("cpu.n_source", state.n_source);
  s.field("cpu.z_source", state.z_source);
  s.field("cpu.c", state.c);
  s.field("cpu.v", state.v);
  s.field("cpu.q", state.q);
  s.field("cpu.ge", state.ge);
  s.field("cpu.itstate", state.itstate);
  s.field("cpu.ipsr", state.ipsr);
  s.field("cpu.primask", state.primask);
  s.field("cpu.faultmask", state.faultmask);
  s.field("cpu.basepri", state.basepri);
  s.field("cpu.control", state.control);
  s.field("cpu.s", state.s);
  s.field("cpu.fpscr", state.fpscr);
  s.field("cpu.exclusive", state.exclusive);
  s.field("cpu.exclusive_address", state.exclusive_address);
  predictor_.snapshot(s);

  uint64_t block = cursor_ != nullptr ? block_->key : kNoBlock;
  uint64_t place = cursor_ != nullptr ? static_cast<uint64_t>(cursor_ - block_->ops.data()) : 0;
  uint64_t previous = previous_ != nullptr ? previous_->key : kNoBlock;
  s.field("cpu.block", block);
  s.field("cpu.place", place);
  s.field("cpu.previous", previous);
  s.field("cpu.link", link_);
  s.field("cpu.penalty", penalty_);
  s.field("cpu.block_time", block_time_);
  s.field("cpu.event_time", event_time_);
  s.field("cpu.sleep", sleep_);
  s.field("cpu.instructions", instructions_);
  s.field("cpu.digest", digest_);
  for (uint64_t* counter : {&counters_.fetch_flash, &counters_.fetch_ocram, &counters_.data_flash,
                            &counters_.data_ocram, &counters_.peripheral, &counters_.barrier,
                            &counters_.branch, &counters_.operand, &counters_.exception,
                            &counters_.asleep, &counters_.branches, &counters_.mispredicts}) {
    s.field("cpu.counter", *counter);
  }
  if (!s.restoring() || !s.ok()) return;

  privileged_ = state.privileged();
  blocks_.clear();
  flush_tlb();
  block_ = previous_ = successor_ = nullptr;
  cursor_ = nullptr;
  const auto find = [this](uint64_t key) {
    return blocks_.find(static_cast<uint32_t>(key), (key >> 32) & 0xFF, (key >> 40) == 0);
  };
  if (previous != kNoBlock) previous_ = find(previous);
  if (block != kNoBlock) {
    block_ = find(block);
    if (place >= block_->ops.size()) return s.fail("cpu.place", "is not in its block");
    cursor_ = block_->ops.data() + place;
  }
  if (link_ > 2) return s.fail("cpu.link", "is no way out of a block");
  pages_seen_ = memory_.pages_changed();
  stop_requested_ = raised_ = breakpoint_hit_ = watch_hit_ = invalid_state_ = false;
  exc_return_ = 0;
  watch_.on = false;
  watch_at_ = watch_interval_ = 0;
  dirty_ = true;
}

}  // namespace millrace::board
