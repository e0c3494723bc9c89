// SPDX-License-Identifier: Apache-2.0
// Sleep is no work. A trace of the board has no records of it (kinds sleep and wake are for cores
// that tell): a core sleeps in a WFI or WFE, which ends its block, from when the block has issued
// and its misses are over until the next record, of a block or of an exception. `profile` counts
// the same cycles as idle (ElfIndex::is_waiting).
#include "predict/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace millrace::placement {

using profile::kNone;
using profile::printable;
using profile::TraceAccess;
using profile::TraceEvent;
using profile::TraceReader;
using profile::TraceRecord;

namespace {

constexpr double kEnough = 8;  // misses in a bucket that are believed
constexpr int64_t kNearLines = 32;
constexpr size_t kMaxMisses = size_t{4} << 20;
constexpr uint64_t kMaxLines = uint64_t{64} << 20;  // that a run of the model looks up

}  // namespace

size_t MissCost::class_of(int64_t line_distance) {
  if (line_distance == 1) return 0;
  return line_distance > 1 && line_distance <= kNearLines ? 1 : 2;
}

void MissCost::add(int64_t line_distance, uint64_t gap_cycles, double stall) {
  const size_t bucket = std::min<uint64_t>(gap_cycles / kBucketCycles, kBuckets - 1);
  Bucket& one = buckets_[class_of(line_distance)][bucket];
  one.sum += stall;
  one.count += 1;
}

// A bucket with few misses takes in its neighbours.
void MissCost::finish() {
  Bucket all;
  for (const auto& row : buckets_) {
    for (const Bucket& one : row) {
      all.sum += one.sum;
      all.count += one.count;
    }
  }
  mean_ = all.count > 0 ? all.sum / all.count : 0;
  for (size_t c = 0; c < kClasses; ++c) {
    for (size_t i = 0; i < kBuckets; ++i) {
      Bucket near = buckets_[c][i];
      for (size_t reach = 1; near.count < kEnough && reach < kBuckets; ++reach) {
        for (const size_t k : {i - reach, i + reach}) {  // below 0 wraps and is left out
          if (k >= kBuckets) continue;
          near.sum += buckets_[c][k].sum;
          near.count += buckets_[c][k].count;
        }
      }
      cost_[c][i] = near.count > 0 ? near.sum / near.count : mean_;
    }
  }
}

double MissCost::of(int64_t line_distance, uint64_t gap_cycles) const {
  return cost_[class_of(line_distance)]
              [std::min<uint64_t>(gap_cycles / kBucketCycles, kBuckets - 1)];
}

namespace {

class Recorder {
 public:
  Recorder(const ElfIndex& index, uint32_t event, uint32_t core_khz, Recording* out)
      : index_(index), event_(event), out_(*out), khz_(core_khz) {
    is_open_ = event == kNone;
  }

  void take(const TraceReader& reader, const TraceRecord& record) {
    spend(record.delta);
    switch (record.kind) {
      case TraceRecord::Kind::block:
        block(reader, record.block);
        break;
      case TraceRecord::Kind::miss:
        miss(record);
        break;
      case TraceRecord::Kind::event:
        event(record);
        break;
    }
  }

  // What came behind the last event counts to none.
  void finish(const std::vector<profile::TraceBlock>& blocks) {
    if (event_ == kNone) {
      close();
    } else {
      out_.visits.resize(at_event_.visits);
      out_.busy = at_event_.busy;
      busy_ms_ = at_event_.busy_ms;
      misses_.resize(at_event_.misses);
      data_.resize(at_event_.data);
      if (out_.events > 0) --out_.events;
    }
    if (busy_ms_ > 0) {
      out_.core_khz =
          static_cast<uint32_t>(std::llround(static_cast<double>(out_.busy) / busy_ms_));
    }
    out_.blocks = blocks;
    out_.misses = misses_.size();
    separate();
    std::map<uint32_t, uint64_t> lines;
    for (const DataMiss& one : data_) lines[one.line] += one.stall;
    for (const auto& [line, stall] : lines) out_.data.push_back({line, stall});
    out_.cost.finish();
  }
  bool is_full() const {
    return out_.visits.size() >= kMaxVisits || lines_ >= kMaxLines || misses_.size() >= kMaxMisses;
  }

 private:
  struct Sums {
    size_t visits = 0, data = 0, misses = 0;
    uint64_t busy = 0;
    double busy_ms = 0;
  };

  void spend(uint64_t delta) {
    now_ += delta;
    uint64_t awake = is_asleep_ ? 0 : delta;
    if (ends_in_wait_) {
      awake = std::min(awake, awake_left_);
      awake_left_ -= awake;
    }
    asleep_ += delta - awake;
    if (khz_ > 0) awake_ms_ += static_cast<double>(awake) / khz_;
  }

  void event(const TraceRecord& record) {
    switch (static_cast<TraceEvent>(std::min<uint64_t>(record.event, UINT8_MAX))) {
      case TraceEvent::sleep:
        is_asleep_ = true;
        break;
      case TraceEvent::core_clock:
        khz_ = static_cast<uint32_t>(std::min<uint64_t>(record.argument, UINT32_MAX));
        break;
      case TraceEvent::reset:
      case TraceEvent::wake:
      case TraceEvent::exception_taken:
      case TraceEvent::exception_return:
        is_asleep_ = ends_in_wait_ = false;
        break;
    }
  }

  bool ends_in_wait(const TraceReader& reader, uint32_t number) {
    for (size_t i = waits_.size(); i < reader.blocks().size(); ++i) {
      waits_.push_back(index_.is_wait_before(reader.blocks()[i].end()));
    }
    return waits_[number];
  }

  void close() {
    if (!has_current_) return;
    const uint64_t total = now_ - begun_ - asleep_;
    const uint64_t compute = total > fetch_ ? total - fetch_ : 0;
    out_.visits.push_back({current_, static_cast<float>(compute)});
    out_.busy += total;
    busy_ms_ += awake_ms_;
    has_current_ = false;
  }

  void block(const TraceReader& reader, uint32_t number) {
    close();
    is_asleep_ = false;
    ends_in_wait_ = ends_in_wait(reader, number);
    awake_left_ = reader.blocks()[number].issue;
    if (event_ != kNone && reader.blocks()[number].address == event_) {
      is_open_ = true;
      ++out_.events;
      at_event_ = {out_.visits.size(), data_.size(), misses_.size(), out_.busy, busy_ms_};
    }
    if (!is_open_) {
      std::vector<uint32_t>& warm_up = out_.warm_up;
      if (warm_up.size() == 2 * kMaxWarmUp) {
        warm_up.erase(warm_up.begin(), warm_up.begin() + kMaxWarmUp);
      }
      warm_up.push_back(number);
      return;
    }
    has_current_ = true;
    lines_ += 1 + reader.blocks()[number].halfwords / 16;
    current_ = number;
    begun_ = now_;
    asleep_ = fetch_ = 0;
    awake_ms_ = 0;
  }

  void miss(const TraceRecord& record) {
    awake_left_ += std::min(record.stall, uint64_t{UINT32_MAX});
    if (record.access == static_cast<uint8_t>(TraceAccess::fetch)) {
      if (has_current_) {
        misses_.push_back({int64_t{record.line} - last_line_, now_ - last_miss_,
                           static_cast<double>(record.stall), out_.visits.size()});
      }
      last_line_ = record.line;
      last_miss_ = now_;
      fetch_ += record.stall;
    } else if (record.access == static_cast<uint8_t>(TraceAccess::load) && is_open_ &&
               data_.size() < kMaxDataMisses) {
      data_.push_back({record.line * kTraceLineBytes, record.stall});
    }
  }

  struct Miss {
    int64_t distance = 0;  // lines
    uint64_t gap = 0;
    double stall = 0;
    size_t visit = 0;  // during which it was waited for
  };

  // A miss is over when its first word is there; the rest of the line comes while the block goes
  // on, and holds it up. So a block takes longer where it, or one just before it, missed; what it
  // takes longer than elsewhere belongs to the miss.
  void separate() {
    std::vector<Miss>& misses = misses_;
    struct Clean {
      double sum = 0, count = 0;
      double least = std::numeric_limits<double>::max();
      double usual() const { return count > 0 ? sum / count : least; }
    };
    std::vector<Clean> clean(out_.blocks.size());
    std::vector<size_t> charged(out_.visits.size(), SIZE_MAX);  // to which miss
    for (size_t i = 0; i < misses.size(); ++i) {
      const size_t end = std::min(misses[i].visit + kTail, charged.size());
      for (size_t k = misses[i].visit; k < end; ++k) charged[k] = i;
    }
    for (size_t i = 0; i < out_.visits.size(); ++i) {
      const Visit& visit = out_.visits[i];
      Clean& one = clean[visit.block];
      one.least = std::min<double>(one.least, visit.compute);
      if (charged[i] != SIZE_MAX) continue;
      one.sum += visit.compute;
      one.count += 1;
    }
    for (size_t i = 0; i < out_.visits.size(); ++i) {
      Visit& visit = out_.visits[i];
      if (charged[i] == SIZE_MAX) continue;
      const double usual = clean[visit.block].usual();
      misses[charged[i]].stall += visit.compute - usual;
      visit.compute = static_cast<float>(usual);
    }
    for (const Miss& one : misses) {
      out_.cost.add(one.distance, one.gap, one.stall);
      out_.fetch += one.stall;
    }
  }

  static constexpr size_t kTail = 8;  // visits
  static constexpr size_t kMaxDataMisses = size_t{4} << 20;
  static constexpr uint32_t kTraceLineBytes = 32;
  const ElfIndex& index_;
  const uint32_t event_;
  Recording& out_;
  uint32_t khz_;
  bool is_open_ = false, is_asleep_ = false, has_current_ = false;
  bool ends_in_wait_ = false;  // the current block
  uint64_t awake_left_ = 0;    // cycles that it works before it sleeps
  double awake_ms_ = 0, busy_ms_ = 0;
  std::vector<bool> waits_;  // by block
  uint64_t now_ = 0, begun_ = 0, asleep_ = 0, fetch_ = 0, last_miss_ = 0;
  int64_t last_line_ = 0;
  uint32_t current_ = 0;
  uint64_t lines_ = 0;  // of all visits
  Sums at_event_;
  std::vector<DataMiss> data_;
  std::vector<Miss> misses_;
};

}  // namespace

Failure read_recording(const ElfIndex& index, std::span<const uint8_t> trace, uint32_t event,
                       Recording* out) {
  *out = Recording();
  TraceReader reader(trace);
  const auto damaged = [&] {
    return Error{Error::Kind::malformed, fmt::format("the trace: {}", printable(reader.problem()))};
  };
  if (!reader.problem().empty()) return damaged();
  out->core_khz = reader.core_khz();
  Recorder recorder(index, event, reader.core_khz(), out);
  TraceRecord record;
  while (!recorder.is_full() && reader.next(&record)) recorder.take(reader, record);
  if (!reader.problem().empty()) return damaged();
  out->is_partial = recorder.is_full();
  recorder.finish(reader.blocks());
  return {};
}

}  // namespace millrace::placement
