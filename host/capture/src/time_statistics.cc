// SPDX-License-Identifier: Apache-2.0
#include "millrace/capture/time_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace millrace::capture {

size_t TimeDistribution::index_of(int64_t ns) {
  const int64_t step = ns / kStepNs;
  if (step < static_cast<int64_t>(kSteps)) return static_cast<size_t>(step);
  // Octaves of the multiple of 20 ms, 256 equal parts each.
  const uint64_t multiple = static_cast<uint64_t>(step) * kPerOctave / kSteps;
  const auto octave = static_cast<size_t>(std::bit_width(multiple / kPerOctave)) - 1;
  const size_t part = static_cast<size_t>(multiple >> octave) - kPerOctave;
  return kSteps + std::min(octave, kOctaves - 1) * kPerOctave +
         (octave < kOctaves ? part : kPerOctave - 1);
}

int64_t TimeDistribution::low_of(size_t index) {
  if (index <= kSteps) return static_cast<int64_t>(index) * kStepNs;
  const size_t octave = (index - kSteps) / kPerOctave, part = (index - kSteps) % kPerOctave;
  return static_cast<int64_t>(((kPerOctave + part) << octave) * kSteps / kPerOctave) * kStepNs;
}

void TimeDistribution::add(int64_t ns) {
  // A longer time than a year of nanoseconds is a time stamp gone wrong.
  ns = std::clamp<int64_t>(ns, 0, int64_t{1} << 54);
  const size_t index = index_of(ns);
  if (index >= counts_.size()) {
    counts_.resize(std::min(std::bit_ceil(index + 1), kSteps + kOctaves * kPerOctave));
  }
  ++counts_[index];
  ++count_;
  min_ = std::min(min_, ns);
  max_ = std::max(max_, ns);
  const auto value = static_cast<double>(ns);
  sum_ += value;
  squares_ += value * value;
}

double TimeDistribution::deviation() const {
  if (count_ < 2) return 0;
  const auto n = static_cast<double>(count_);
  return std::sqrt(std::max(0.0, (squares_ - sum_ * sum_ / n) / (n - 1)));
}

int64_t TimeDistribution::quantile(double share) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::clamp(low_of(i), min_, max_);
  }
  return max_;
}

void TimeSeries::add(int64_t time_ns, double value) {
  if (spans_.empty()) start_ns_ = time_ns;
  const int64_t since = time_ns <= start_ns_ ? 0 : time_ns - start_ns_;
  while (since / span_ns_ >= static_cast<int64_t>(kSpans)) {
    std::vector<Span> halved((spans_.size() + 1) / 2);
    for (size_t i = 0; i < spans_.size(); ++i) {
      halved[i / 2].count += spans_[i].count;
      halved[i / 2].sum += spans_[i].sum;
      halved[i / 2].max = std::max(halved[i / 2].max, spans_[i].max);
    }
    spans_.swap(halved);
    span_ns_ *= 2;
  }
  const auto index = static_cast<size_t>(since / span_ns_);
  if (index >= spans_.size()) spans_.resize(index + 1);
  Span& span = spans_[index];
  ++span.count;
  span.sum += value;
  span.max = std::max(span.max, value);
}

}  // namespace millrace::capture
