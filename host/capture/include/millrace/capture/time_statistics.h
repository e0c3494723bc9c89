// SPDX-License-Identifier: Apache-2.0
// Distributions and series of times in fixed memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::capture {

// Times of 0 and more. Quantiles are exact to 100 ns up to 20 ms, to 0.4 % above: usbmon's whole
// microseconds come out as they went in. Takes 4 bytes for each 100 ns of the longest time, up to
// 0.8 MB.
class TimeDistribution {
 public:
  void add(int64_t ns);
  uint64_t count() const { return count_; }
  int64_t min() const { return count_ == 0 ? 0 : min_; }
  int64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double deviation() const;  // of a sample
  // The smallest time that at least this share (0..1) of all does not exceed; 0 without any.
  int64_t quantile(double share) const;

  // Calls f(low_ns, high_ns, count) for each step of the finest grain that is not empty, rising.
  template <class F>
  void for_each(F f) const {
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] != 0) f(low_of(i), low_of(i + 1), counts_[i]);
    }
  }

 private:
  static constexpr int64_t kStepNs = 100;
  static constexpr size_t kSteps = 200'000;
  static constexpr size_t kPerOctave = 256;
  static constexpr size_t kOctaves = 24;
  static size_t index_of(int64_t ns);
  static int64_t low_of(size_t index);

  std::vector<uint32_t> counts_;
  uint64_t count_ = 0;
  int64_t min_ = INT64_MAX, max_ = 0;
  double sum_ = 0, squares_ = 0;
};

// Something over time: 256 equal spans from the first moment on, which double as time goes on.
class TimeSeries {
 public:
  static constexpr size_t kSpans = 256;
  struct Span {
    uint64_t count = 0;
    double sum = 0;
    double max = 0;
  };
  // What comes before the first moment counts to the first span.
  void add(int64_t time_ns, double value);
  int64_t start_ns() const { return start_ns_; }
  int64_t span_ns() const { return span_ns_; }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  int64_t start_ns_ = 0;
  int64_t span_ns_ = 1'000'000;
  std::vector<Span> spans_;
};

}  // namespace millrace::capture
