// SPDX-License-Identifier: Apache-2.0
// Sleep is no work. A trace of the board has no records of it (kinds sleep and wake are for cores
// that tell): a core sleeps in a WFI or WFE, which ends its block, from when the block has issued
// and its misses are over until the next record, of a block or of an exception. `profile` counts
// the same cycles as idle (ElfIndex::is_waiting).
#include "predict/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace millrace::placement {

using profile::kNone;
using profile::printable;
using profile::TraceCause;
using profile::TraceEvent;
using profile::TraceReader;
using profile::TraceRecord;

namespace {

constexpr double kEnough = 8;  // misses in a bucket that are believed
constexpr int64_t kNearLines = 32;
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
  // `keep`: visits; older ones are forgotten. 0: all, until is_full().
  Recorder(const ElfIndex& index, uint32_t event, size_t keep, uint32_t core_khz, Recording* out)
      : index_(index), event_(event), keep_(keep), out_(*out), khz_(core_khz) {
    is_open_ = event == kNone;
  }

  void take(const TraceReader& reader, const TraceRecord& record) {
    spend(record.delta);
    switch (record.kind) {
      case TraceRecord::Kind::block:
        block(reader, record.block);
        break;
      case TraceRecord::Kind::wait:
        wait(record);
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
      settle();
    } else {
      out_.visits.resize(at_event_.visits);
      out_.visits_seen = at_event_.visits;
      out_.busy = at_event_.busy;
      busy_ms_ = at_event_.busy_ms;
      if (out_.events > 0) --out_.events;
    }
    if (busy_ms_ > 0) {
      out_.core_khz =
          static_cast<uint32_t>(std::llround(static_cast<double>(out_.busy) / busy_ms_));
    }
    out_.blocks = blocks;
    out_.data.reserve(data_.size());
    for (const auto& [line, stall] : data_) out_.data.push_back({line, stall});
    out_.cost.finish();
  }
  bool is_full() const {
    return keep_ == 0 && (out_.visits.size() >= kMaxVisits || lines_ >= kMaxLines);
  }

 private:
  struct Sums {
    size_t visits = 0;
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
    if (keep_ > 0 && out_.visits.size() == 2 * keep_) {
      out_.visits.erase(out_.visits.begin(), out_.visits.begin() + static_cast<ptrdiff_t>(keep_));
      settle();
    }
    out_.visits.push_back({current_, static_cast<float>(compute)});
    ++out_.visits_seen;
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
      at_event_ = {out_.visits.size(), out_.busy, busy_ms_};
      settle();
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

  void wait(const TraceRecord& record) {
    awake_left_ += std::min(record.stall, uint64_t{UINT32_MAX});
    if (!record.is_fetch()) {
      if (is_open_ && record.stall > 0) recent_data_.push_back({record.line, record.stall});
      return;
    }
    if (record.is_miss()) {
      if (has_current_) {
        misses_.push_back({int64_t{record.line} - last_line_, now_ - last_miss_, 0});
      }
      last_line_ = record.line;
      last_miss_ = now_;
    } else if (record.cause != static_cast<uint8_t>(TraceCause::fill)) {
      return;
    }
    // The rest of a line comes while its first words run: the wait for it is the miss's too.
    if (!has_current_ || misses_.empty()) return;
    misses_.back().stall += static_cast<double>(record.stall);
    fetch_ += record.stall;
  }

  // What has been waited for counts once the event is complete.
  void settle() {
    for (const DataWait& one : recent_data_) data_[one.line * kTraceLineBytes] += one.stall;
    recent_data_.clear();
    out_.misses += misses_.size();
    for (const Miss& one : misses_) {
      out_.cost.add(one.distance, one.gap, one.stall);
      out_.fetch += one.stall;
    }
    misses_.clear();
  }

  struct Miss {
    int64_t distance = 0;  // lines
    uint64_t gap = 0;
    double stall = 0;
  };

  static constexpr uint32_t kTraceLineBytes = 32;
  const ElfIndex& index_;
  const uint32_t event_;
  const size_t keep_;
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
  std::map<uint32_t, uint64_t> data_;  // by address of the line
  std::vector<DataWait> recent_data_;  // since settle()
  std::vector<Miss> misses_;           // likewise
};

Failure read(const ElfIndex& index, std::span<const uint8_t> trace, uint32_t event, size_t keep,
             Recording* out) {
  *out = Recording();
  TraceReader reader(trace);
  const auto damaged = [&] {
    return Error{Error::Kind::malformed, fmt::format("the trace: {}", printable(reader.problem()))};
  };
  if (!reader.problem().empty()) return damaged();
  out->core_khz = reader.core_khz();
  Recorder recorder(index, event, keep, reader.core_khz(), out);
  TraceRecord record;
  while (!recorder.is_full() && reader.next(&record)) recorder.take(reader, record);
  if (!reader.problem().empty()) return damaged();
  out->is_partial = recorder.is_full();
  recorder.finish(reader.blocks());
  return {};
}

}  // namespace

Failure read_recording(const ElfIndex& index, std::span<const uint8_t> trace, uint32_t event,
                       Recording* out) {
  return read(index, trace, event, 0, out);
}

Failure read_last_visits(const ElfIndex& index, std::span<const uint8_t> trace, size_t most,
                         Recording* out) {
  return read(index, trace, kNone, most, out);
}

}  // namespace millrace::placement
