// SPDX-License-Identifier: Apache-2.0
// An in-order scoreboard over one block: each instruction issues in the first cycle in which its
// operands are there and a slot for its class is free, two a cycle. Done once per block at decode
// time, so that execution adds one number per block; what it cannot know (misses, branches, early
// ends of divisions) is added when it happens. A scoreboard run for every executed instruction
// costs more than executing it (a factor of two to three in a trial), and gains only the overlap
// across blocks, which late results and first uses give nearly as well.
#include "cpu/schedule.h"

#include <algorithm>
#include <array>

#include "cpu/pipeline.h"

namespace millrace::board {
namespace {

constexpr int kNoUse = 127;

void keep_latest(const LateResult& result, Block* block) {
  if (block->late_count < block->late.size()) {
    block->late[block->late_count++] = result;
    return;
  }
  LateResult* soonest = std::min_element(
      block->late.begin(), block->late.end(),
      [](const LateResult& a, const LateResult& b) { return a.cycles < b.cycles; });
  if (soonest->cycles < result.cycles) {
    *soonest = result;
  }
}

class Scoreboard {
 public:
  explicit Scoreboard(const Timing& timing) : timing_(timing) { first_use_.fill(kNoUse); }

  // The cycle in which the instruction issues.
  int issue(const PipelineUse& use) {
    int at = cycle_;
    for (unsigned k = 0; k < use.read_count; ++k) {
      at = std::max(at, ready(use.reads[k]));
    }
    if (use.fp) {
      at = std::max(at, fp_free_);
    }
    if (use.load && use.word_known) {
      at = std::max(at, behind_store(use));
    }
    if (at == cycle_ && used_ != 0 && !fits(use)) {
      ++at;
    }
    if (at != cycle_) {
      cycle_ = at;
      used_ = 0;
      taken_ = {};
      loads_ = 0;
    }
    note_first_uses(use, at);
    occupy(use);
    for (unsigned k = 0; k < use.write_count; ++k) {
      write(use.writes[k], at);
    }
    if (use.store && use.word_known) {
      stores_[next_store_++ % stores_.size()] = {use.base, use.offset, at, true};
    }
    if (use.blocks_fp != 0) {
      fp_free_ = at + use.blocks_fp;
    }
    return at;
  }

  // One behind the last cycle in which something issues.
  int length() const { return used_ == 0 ? cycle_ : cycle_ + 1; }

  void finish(Block* block) const {
    const int end = length();
    for (unsigned r = 0; r < block->first_use.size(); ++r) {
      block->first_use[r] = static_cast<int8_t>(first_use_[r]);
      const int late = late_[r] - end;
      if (late > 0) {
        keep_latest({static_cast<uint8_t>(r), static_cast<uint8_t>(std::min(late, 100))}, block);
      }
    }
  }

 private:
  static constexpr unsigned kRegs = kScoreboard;

  int ready(const PipelineUse::Read& read) const {
    switch (read.stage) {
      case ReadStage::address:
        return early_[read.reg];
      case ReadStage::beside_shift:
        return fast_load_[read.reg] ? early_[read.reg] : late_[read.reg];
      case ReadStage::store:
      case ReadStage::accumulate:
        return late_[read.reg] - 1;
      case ReadStage::fp_accumulate:
        return late_[read.reg] - 2;
      default:
        return late_[read.reg];
    }
  }

  // When a load may issue for the stores before it, as far as the block shows their addresses.
  int behind_store(const PipelineUse& use) const {
    int at = 0;
    for (const Store& s : stores_) {
      if (s.known && s.base == use.base && (s.offset ^ use.offset) < 4) {
        at = std::max(at, s.at + static_cast<int>(std::min(timing_.store_to_load, 100u)));
      }
    }
    return at;
  }

  void write(const PipelineUse::Write& w, int at) {
    for (Store& s : stores_) {
      s.known = s.known && s.base != w.reg;
    }
    const int extra = w.same_for_address ? 0 : w.loaded ? loaded_extra_ : 1;
    late_[w.reg] = at + w.latency;
    early_[w.reg] = late_[w.reg] + extra;
    fast_load_[w.reg] = w.loaded && w.latency <= 1 + timing_.load_use;
    written_[w.reg] = true;
  }

  void note_first_uses(const PipelineUse& use, int at) {
    for (unsigned k = 0; k < use.read_count; ++k) {
      const PipelineUse::Read& read = use.reads[k];
      if (written_[read.reg]) {
        continue;
      }
      const int need = read.stage == ReadStage::address      ? at - 1
                       : read.stage >= ReadStage::accumulate ? at + 1
                                                             : at;
      first_use_[read.reg] = std::min(first_use_[read.reg], std::min(need, kNoUse - 1));
    }
  }

  bool fits(const PipelineUse& use) const {
    if (used_ != 1 || closed_ || use.never_pairs || use.older_only) {
      return false;
    }
    return !(use.shifter && taken_.shifter) && !(use.multiplier && taken_.multiplier) &&
           !(use.store && taken_.store) && !(use.branch && taken_.branch) &&
           !(use.fp && taken_.fp) && !(use.load && loads_ >= timing_.loads_per_cycle);
  }

  void occupy(const PipelineUse& use) {
    ++used_;
    closed_ = use.never_pairs;
    taken_.shifter |= use.shifter;
    taken_.multiplier |= use.multiplier;
    taken_.store |= use.store;
    taken_.branch |= use.branch;
    taken_.fp |= use.fp;
    loads_ += use.load ? 1 : 0;
    if (use.issue_cycles > 1) {
      cycle_ += use.issue_cycles - 1;
      closed_ = true;
    }
  }

  struct Store {
    uint8_t base = 0;
    uint32_t offset = 0;
    int at = 0;
    bool known = false;
  };
  struct Taken {
    bool shifter = false, multiplier = false, store = false, branch = false, fp = false;
  };
  const Timing& timing_;
  // How much later than an ALU an address can use what was loaded.
  const int loaded_extra_ = static_cast<int>(std::min(timing_.load_to_address, 100u)) -
                            static_cast<int>(std::min(timing_.load_use, 100u));
  int cycle_ = 0;
  unsigned used_ = 0;  // slots of the cycle
  bool closed_ = false;
  unsigned loads_ = 0;
  Taken taken_;
  int fp_free_ = 0;
  std::array<Store, 4> stores_;
  unsigned next_store_ = 0;
  std::array<int, kRegs> late_{};   // when an ALU can use the register
  std::array<int, kRegs> early_{};  // when an address can
  std::array<bool, kRegs> fast_load_{};
  std::array<bool, kRegs> written_{};
  std::array<int, kRegs> first_use_{};
};

}  // namespace

void schedule(const std::vector<Insn>& insns, const Timing* timing, Block* block) {
  if (timing == nullptr) {
    for (Op& op : block->ops) {
      op.cycle = op.index;
    }
    block->cycles = static_cast<uint16_t>(insns.size());
    return;
  }
  Scoreboard board(*timing);
  size_t next = 0;
  int at = 0;
  size_t scheduled = 0;
  for (const Insn& i : insns) {
    at = board.issue(pipeline_use(i, *timing));
    for (; next < block->ops.size() && block->ops[next].index == scheduled; ++next) {
      block->ops[next].cycle = static_cast<uint16_t>(at);
    }
    ++scheduled;
  }
  block->cycles = static_cast<uint16_t>(board.length());
  for (; next < block->ops.size(); ++next) {
    block->ops[next].cycle = block->cycles;
  }
  board.finish(block);
}

uint8_t wait_between(const Block& before, const Block& next) {
  int wait = 0;
  for (unsigned k = 0; k < before.late_count; ++k) {
    const LateResult& late = before.late[k];
    wait = std::max(wait, late.cycles - next.first_use[late.reg]);
  }
  return static_cast<uint8_t>(std::min(wait, 255));
}

}  // namespace millrace::board
