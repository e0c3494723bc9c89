// SPDX-License-Identifier: Apache-2.0
// Loops that wait: for a variable that an interrupt changes (`while (ticks < n)`), or for the cycle
// counter (`while (CYCCNT - start < n)`). A round that only reads memory and comes back to where it
// began with the same registers, predictor and counts will do so until the next event; so whole
// rounds up to there are not executed but multiplied out: time, instructions, stalls, digest. The
// outcome is that of execution to the last bit, so it does not matter when a loop is noticed, and
// slicing a run differently changes nothing.
//
// The run loop pays nothing for it: at growing intervals the deadline is put early, and for some
// tens of instructions the core is looked at between blocks. In a loop that polls the cycle counter
// some registers differ from round to round; counter_loop.h says which and how far the comparison
// is from another result. One whole round is always left to execute before the next event, which
// gives those registers their values.
#include <algorithm>
#include <array>
#include <bit>

#include "cpu/counter_loop.h"
#include "cpu/cpu.h"
#include "cpu/decoder.h"
#include "cpu/pipeline.h"

namespace millrace::board {
namespace {

constexpr uint32_t kCycleCounter = 0xE0001004;  // DWT_CYCCNT
constexpr unsigned kMaxSteps = 96;
constexpr Cycles kFirstInterval = 1024;
constexpr Cycles kLastInterval = Cycles{256} * 1024;

using CounterArray = std::array<uint64_t, sizeof(CpuCounters) / sizeof(uint64_t)>;

std::vector<Insn> decode_block(const Block& block, uint32_t find_pc, size_t* found) {
  std::vector<Insn> insns;
  uint32_t address = block.address;
  for (size_t k = 0; k < block.code.size();) {
    const uint16_t second = k + 1 < block.code.size() ? block.code[k + 1] : uint16_t{0};
    if (address == find_pc) *found = insns.size();
    insns.push_back(decode(block.code[k], second, address, 0));
    k += insns.back().size / 2;
    address += insns.back().size;
  }
  return insns;
}

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
  if (!block_->only_reads || previous_ == nullptr || events_run_ != w.events_run) {
    return end_watch(false);
  }
  ++w.blocks;
  w.digest_factors += block_->digest_factor;
  if (state.r[15] != w.state.r[15] || state.itstate != w.state.itstate) return;
  if (!w.confirming) {
    if (same_state(0) || reads_counter()) return begin_round(true);
    return end_watch(false);
  }
  const uint64_t rounds = rounds_to_skip();
  if (rounds != 0) skip_rounds(rounds);
  end_watch(rounds != 0);
}

// The round was one block with one access to a device: the cycle counter.
bool Cpu::reads_counter() const {
  return watch_.blocks == 1 && device_accesses_ - watch_.device_accesses == 1 &&
         device_address_ == kCycleCounter;
}

// The registers are those at the head, but for `varying` (by number of the scoreboard).
bool Cpu::same_state(uint64_t varying) const {
  const CpuState& head = watch_.state;
  CpuState s = state;
  const auto varies = [varying](unsigned reg) { return ((varying >> reg) & 1) != 0; };
  for (unsigned reg = 0; reg < kFlags; ++reg) {
    if (varies(reg)) s.r[reg] = head.r[reg];
  }
  for (unsigned reg = 0; reg < s.s.size(); ++reg) {
    if (varies(kFpBase + reg)) s.s[reg] = head.s[reg];
  }
  if (varies(kFlags)) {
    s.n_source = head.n_source;
    s.z_source = head.z_source;
    s.c = head.c;
    s.v = head.v;
  }
  return s == head;
}

// Rounds like the last one that can be left out before the deadline, at least one remaining.
uint64_t Cpu::rounds_to_skip() const {
  const IdleWatch& w = watch_;
  if (deadline_ == kNever || previous_ != w.previous || link_ != w.link || penalty_ != w.penalty ||
      memory_.activity().other != w.activity.other || predictor_ != *w.predictor) {
    return 0;
  }
  const Cycles period = now() - w.at;
  uint64_t rounds = (deadline_ - now()) / period;
  if (device_accesses_ == w.device_accesses) {
    if (!same_state(0)) return 0;
  } else {
    if (!reads_counter() || period > UINT32_MAX) return 0;
    size_t load = SIZE_MAX;
    const std::vector<Insn> insns = decode_block(*block_, access_pc_, &load);
    const std::optional<CounterLoop> loop = find_counter_loop(insns, load);
    if (!loop || !same_state(loop->varying)) return 0;
    rounds = std::min(rounds, steady_rounds(*loop, w.state, state, static_cast<uint32_t>(period)));
  }
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
