// SPDX-License-Identifier: Apache-2.0
// A trace as what the model runs: visits of blocks with the time that they take by themselves, and
// how long misses were waited for.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "millrace/placement/predict.h"
#include "millrace/profile/trace_reader.h"

namespace millrace::placement {

// How long a fetch waits, by what the memory did before: a serial flash that reads ahead has the
// next line half there, and is still busy with the last one when the next miss comes soon.
class MissCost {
 public:
  void add(int64_t line_distance, uint64_t gap_cycles, double stall);
  void finish();  // before of()
  double of(int64_t line_distance, uint64_t gap_cycles) const;
  double mean() const { return mean_; }

 private:
  static constexpr size_t kClasses = 3, kBuckets = 64;
  static constexpr uint64_t kBucketCycles = 32;
  struct Bucket {
    double sum = 0, count = 0;
  };
  static size_t class_of(int64_t line_distance);

  std::array<std::array<Bucket, kBuckets>, kClasses> buckets_{};
  std::array<std::array<double, kBuckets>, kClasses> cost_{};
  double mean_ = 0;
};

struct RunVisit {
  uint32_t block = 0;
  float compute = 0;  // cycles until the next one, without fetches and sleep
};

struct DataWait {
  uint32_t line = 0;  // address
  uint64_t stall = 0;
};

struct Recording {
  std::vector<profile::TraceBlock> blocks;
  std::vector<uint32_t> warm_up;  // blocks before the first event, the last kMaxWarmUp: not counted
  std::vector<RunVisit> visits;
  uint64_t busy = 0, misses = 0;  // cycles, number
  double fetch = 0;               // of busy, waiting for instructions
  uint64_t events = 0;
  uint64_t visits_seen = 0;    // all that counted, kept in `visits` or not
  std::vector<DataWait> data;  // by line, each once
  MissCost cost;
  bool is_partial = false;
  uint32_t core_khz = 0;  // mean of the cycles in `busy`: a program changes its clock at start
};

inline constexpr size_t kMaxWarmUp = size_t{1} << 20;
inline constexpr size_t kMaxVisits = size_t{12} << 20;

// `trace`: of the program `index`. `event`: address of the function that begins one; kNone: the
// whole trace.
Failure read_recording(const ElfIndex& index, std::span<const uint8_t> trace, uint32_t event,
                       Recording* out);
// All of the trace, of which the last `most` visits are kept, or up to twice as many.
Failure read_last_visits(const ElfIndex& index, std::span<const uint8_t> trace, size_t most,
                         Recording* out);

}  // namespace millrace::placement
