// SPDX-License-Identifier: Apache-2.0
// Loops that wait: for a variable that an interrupt changes (`while (ticks < n)`), or for a
// counter, in one block (`while (CYCCNT - start < n)`) or in many (`while (micros() - start < n)
// yield()`). A round that comes back to where it began with everything that matters as it was, and
// that can only meet the same conditions again, will do so until the next event; so whole rounds up
// to there are not executed but multiplied out: time, instructions, stalls, digest. The outcome is
// that of execution to the last bit, so it does not matter when a loop is noticed, and slicing a
// run differently changes nothing.
//
// The run loop pays nothing for it: at growing intervals the deadline is put early, and for some
// hundred instructions the core is looked at between blocks, until the first place comes again and
// then once more. What differs from round to round, and for how long it does not matter, is
// waiting_round.h's to say. One whole round is always left to execute before the next event, which
// gives what differs its values.
#include <algorithm>
#include <array>
#include <bit>

#include "cpu/cpu.h"
#include "cpu/waiting_round.h"

namespace millrace::board {
namespace {

constexpr unsigned kMaxSteps = 384;
constexpr Cycles kFirstInterval = 1024;
constexpr Cycles kLastInterval = Cycles{1024} * 1024;

using CounterArray = std::array<uint64_t, sizeof(CpuCounters) / sizeof(uint64_t)>;

}  // namespace

// Called between instructions with nothing else to do; deadline_ is the next event or the end of
// the run.
void Cpu::watch_idle() {
  if (!watch_.on) {
    watch_.on = skip_idle_loops && !trace && !no_fast_path_;
    watch_.has_head = watch_.confirming = false;
    watch_.steps = 0;
  }
  if (!watch_.on || ++watch_.steps > kMaxSteps) {
    end_watch(false);
  } else if (cursor_ == nullptr) {
    watch_boundary();
  }
  deadline_ = std::min(deadline_, watch_.on ? now() + 1 : watch_at_);
}

void Cpu::end_watch(bool found) {
  watch_.on = false;
  watch_interval_ =
      found ? kFirstInterval : std::clamp(2 * watch_interval_, kFirstInterval, kLastInterval);
  watch_at_ = now() + watch_interval_;
}

void Cpu::begin_round(bool in_full) {
  IdleWatch& w = watch_;
  w.has_head = true;
  w.confirming = in_full;
  w.state = state;
  w.at = now();
  w.instructions = instructions_;
  w.digest = digest_;
  w.events_run = events_run_;
  w.device_accesses = device_accesses_;
  w.previous = previous_;
  w.link = link_;
  w.penalty = penalty_;
  w.counters = counters_;
  w.activity = memory_.activity();
  if (in_full) w.predictor = predictor_;
  w.blocks = 0;
  w.digest_factors = 0;
}

void Cpu::watch_boundary() {
  IdleWatch& w = watch_;
  if (!w.has_head) return begin_round(false);
  if (!block_->may_wait || previous_ == nullptr || events_run_ != w.events_run) {
    return end_watch(false);
  }
  ++w.blocks;
  w.digest_factors += block_->digest_factor;
  // In a function that is called from several places of the loop the stack or LR differ.
  const CpuState& head = w.state;
  if (state.r[15] != head.r[15] || state.itstate != head.itstate || state.r[13] != head.r[13] ||
      state.r[14] != head.r[14]) {
    return;
  }
  if (!w.confirming) return begin_round(true);
  const uint64_t rounds = rounds_to_skip();
  if (rounds != 0) skip_rounds(rounds);
  end_watch(rounds != 0);
}

// Rounds like the last one that can be left out before the deadline, at least one remaining.
uint64_t Cpu::rounds_to_skip() {
  const IdleWatch& w = watch_;
  if (deadline_ == kNever || previous_ != w.previous || link_ != w.link || penalty_ != w.penalty ||
      counters_.barrier != w.counters.barrier || memory_.activity().other != w.activity.other ||
      predictor_ != *w.predictor) {
    return 0;
  }
  WaitingRound round({.head = w.state,
                      .behind = state,
                      .begin = w.at,
                      .end = now(),
                      .instructions = instructions_ - w.instructions,
                      .device_accesses = device_accesses_ - w.device_accesses},
                     memory_, system_);
  const uint64_t rounds = round.equal_rounds((deadline_ - now()) / (now() - w.at));
  return rounds > 0 ? rounds - 1 : 0;
}

// As if `rounds` more rounds like the last one had been executed.
void Cpu::skip_rounds(uint64_t rounds) {
  const IdleWatch& w = watch_;
  const Cycles period = now() - w.at;
  // Round k adds what the last one added, and its factors times k periods.
  const uint64_t sum = rounds % 2 == 0 ? rounds / 2 * (rounds + 1) : (rounds + 1) / 2 * rounds;
  digest_ += rounds * (digest_ - w.digest) + w.digest_factors * period * sum;
  instructions_ += rounds * (instructions_ - w.instructions);
  CounterArray counters = std::bit_cast<CounterArray>(counters_);
  const CounterArray before = std::bit_cast<CounterArray>(w.counters);
  for (size_t k = 0; k < counters.size(); ++k) counters[k] += rounds * (counters[k] - before[k]);
  counters_ = std::bit_cast<CpuCounters>(counters);
  MemorySystem::Activity round = memory_.activity();
  round.icache_hits -= w.activity.icache_hits;
  round.dcache_hits -= w.activity.dcache_hits;
  round.peripheral_stalls -= w.activity.peripheral_stalls;
  memory_.repeat(round, rounds);
  block_time_ += rounds * period;
  events_.advance(now());
  skipped_rounds_ += rounds;
}

}  // namespace millrace::board
