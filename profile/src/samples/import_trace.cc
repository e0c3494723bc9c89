// SPDX-License-Identifier: Apache-2.0
// A trace of the virtual board (spec/trace.md) as weighted samples. The weights are cycles and
// exact, not estimates. A block's issue cycles are spread evenly over its halfwords: a trace does
// not say more, and a block is a handful of instructions. What it took beyond them goes to its end:
// what waits is what uses a value, and WFI ends a block. A wait for code goes to the first address
// of the block in the line that was waited for, as a sampler would have seen it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "millrace/profile/trace_reader.h"
#include "samples/sample_file.h"

namespace millrace::profile {
namespace {

constexpr size_t kMaxMissedLines = size_t{4} << 20;

struct Cost {
  uint64_t issued = 0;
  uint64_t waited = 0;      // for anything but code
  uint64_t data_stall = 0;  // of these
};

struct Key {
  uint32_t first = 0;   // number of a block
  uint32_t second = 0;  // line / 32 of code that was waited for
  uint16_t exception = 0;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = (uint64_t{key.first} << 32 | key.second) * 0x9E3779B97F4A7C15ull;
    h ^= (h >> 29) + key.exception * 0xBF58476D1CE4E5B9ull;
    return static_cast<size_t>(h ^ (h >> 32));
  }
};

class Importer {
 public:
  explicit Importer(std::span<const uint8_t> bytes)
      : reader_(bytes), core_khz_(reader_.core_khz()) {}

  const TraceReader& reader() const { return reader_; }

  std::string read(SampleSet* out) {
    TraceRecord record;
    while (reader_.next(&record)) {
      std::string problem = take(record);
      if (!problem.empty()) return problem;
    }
    if (!reader_.problem().empty()) return reader_.problem();
    if (reader_.is_cut_off()) {
      out->notes.push_back(fmt::format("the record at offset 0x{:X} is cut off", reader_.offset()));
    }
    if (reader_.blocks().empty()) return "no executed block in it";
    return emit(out);
  }

 private:
  // The time since the record before was spent in the current block, asleep, or (before the first
  // block) nowhere.
  void spend(uint64_t delta) {
    run_cycles_ += delta;
    if (core_khz_ > 0) run_ms_ += static_cast<double>(delta) / core_khz_;
    if (sleeping_) {
      asleep_ += delta;
      return;
    }
    if (current_ == UINT32_MAX) return;
    const uint64_t paid = std::min(delta, fetch_owed_);  // counted with its line already
    fetch_owed_ -= paid;
    const uint64_t issued = std::min(delta - paid, issue_left_);
    issue_left_ -= issued;
    const uint64_t waited = delta - paid - issued;
    const uint64_t data = std::min(waited, data_owed_);
    data_owed_ -= data;
    Cost& cost = costs_[{current_, 0, exception()}];
    cost.issued += issued;
    cost.waited += waited;
    cost.data_stall += data;
  }

  uint16_t exception() const { return exceptions_.empty() ? uint16_t{0} : exceptions_.back(); }

  void enter(uint32_t block) {
    current_ = block;
    issue_left_ = reader_.blocks()[block].issue;
    sleeping_ = false;
  }

  std::string take(const TraceRecord& record) {
    spend(record.delta);
    switch (record.kind) {
      case TraceRecord::Kind::block:
        enter(record.block);
        return {};
      case TraceRecord::Kind::wait:
        return wait(record);
      default:
        event(record.event, record.argument);
        return {};
    }
  }

  std::string wait(const TraceRecord& record) {
    if (current_ == UINT32_MAX || record.stall == 0) return {};
    if (record.is_fetch()) {
      fetch_[{current_, record.line, exception()}] += record.stall;
      fetch_owed_ += record.stall;
      if (fetch_.size() > kMaxMissedLines) return "more missed lines than are read";
    } else {
      data_owed_ += record.stall;
    }
    return {};
  }

  void event(uint64_t code, uint64_t argument) {
    fetch_owed_ = data_owed_ = 0;
    if (code == 1 && exceptions_.size() < 512) {
      exceptions_.push_back(static_cast<uint16_t>(argument & 0x1FFu));
    } else if (code == 2 && !exceptions_.empty()) {
      exceptions_.pop_back();
    } else if (code == 3) {
      sleeping_ = true;
    } else if (code == 4) {
      sleeping_ = false;
    } else if (code == 5) {
      core_khz_ = static_cast<uint32_t>(std::min<uint64_t>(argument, UINT32_MAX));
    } else if (code == 6) {
      exceptions_.clear();
      current_ = UINT32_MAX;
    }
  }

  bool put(uint32_t pc, uint16_t exception, uint64_t weight, uint64_t stall, SampleSet* out) const {
    while (weight > 0) {
      if (out->samples.size() == kMaxSamples) return false;
      Sample sample;
      sample.pc = pc;
      sample.exception = exception;
      sample.weight = static_cast<uint32_t>(std::min<uint64_t>(weight, UINT32_MAX));
      sample.stall = static_cast<uint32_t>(std::min<uint64_t>(stall, sample.weight));
      weight -= sample.weight;
      stall -= sample.stall;
      out->samples.push_back(sample);
    }
    return true;
  }

  std::string emit(SampleSet* out) const {
    bool fits = put(kPcSleeping, 0, asleep_, 0, out);
    for (const auto& [key, cost] : costs_) {
      const TraceBlock& block = reader_.blocks()[key.first];
      const auto up_to = [&, total = cost.issued](uint32_t i) {
        return total / block.halfwords * i + total % block.halfwords * i / block.halfwords;
      };
      for (uint32_t i = 0; i < block.halfwords; ++i) {
        const bool is_last = i + 1 == block.halfwords;
        const uint64_t weight = up_to(i + 1) - up_to(i) + (is_last ? cost.waited : 0);
        fits =
            put(block.address + 2 * i, key.exception, weight, is_last ? cost.data_stall : 0, out) &&
            fits;
      }
    }
    for (const auto& [key, stall] : fetch_) {
      const TraceBlock& block = reader_.blocks()[key.first];
      const uint32_t last = block.address + 2 * (block.halfwords - 1);
      const uint32_t pc = std::clamp(key.second * 32, block.address, std::max(last, block.address));
      fits = put(pc, key.exception, stall, stall, out) && fits;
    }
    if (!fits) return "more samples than are read (trace a shorter run)";
    std::sort(out->samples.begin(), out->samples.end(), [](const Sample& a, const Sample& b) {
      return a.pc != b.pc ? a.pc < b.pc : a.exception < b.exception;
    });
    out->run_cycles = run_cycles_;
    // What turns the cycles of the run into its time, as the clock was changed on the way.
    const double mean_khz = run_ms_ > 0 ? static_cast<double>(run_cycles_) / run_ms_ : 0;
    if (mean_khz > 0.5 && mean_khz < UINT32_MAX) {
      out->core_khz = static_cast<uint32_t>(std::llround(mean_khz));
    }
    return {};
  }

  TraceReader reader_;
  uint32_t current_ = UINT32_MAX;
  uint64_t fetch_owed_ = 0, data_owed_ = 0, issue_left_ = 0;
  uint32_t core_khz_;
  uint64_t asleep_ = 0, run_cycles_ = 0;
  double run_ms_ = 0;
  bool sleeping_ = false;
  std::vector<uint16_t> exceptions_;
  std::unordered_map<Key, Cost, KeyHash> costs_;
  std::unordered_map<Key, uint64_t, KeyHash> fetch_;
};

}  // namespace

std::string parse_trace(std::span<const uint8_t> bytes, SampleSet* out) {
  Importer importer(bytes);
  if (!importer.reader().problem().empty()) return importer.reader().problem();
  out->unit = WeightUnit::cycles;
  out->has_stall = true;
  out->has_exception = true;
  out->core_khz = importer.reader().core_khz();
  out->identity = importer.reader().identity();
  return importer.read(out);
}

}  // namespace millrace::profile
