// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace millrace::host {
namespace {

constexpr uint64_t kSub = 32;  // sub-buckets an octave
constexpr int kSubBits = 5;

}  // namespace

// Values below 32 have a bucket each. An octave [2^e, 2^(e+1)), e >= 5, has 32 buckets of width
// 2^(e-5); so the values up to 63 are still exact.
size_t Histogram::index_of(uint64_t value) {
  if (value < kSub) return static_cast<size_t>(value);
  const int octave = static_cast<int>(std::bit_width(value)) - 1 - kSubBits;
  return static_cast<size_t>(kSub * static_cast<uint64_t>(octave + 1) +
                             ((value >> octave) & (kSub - 1)));
}

uint64_t Histogram::low_of(size_t index) {
  if (index < kSub) return index;
  const uint64_t octave = index / kSub - 1;
  return (kSub + index % kSub) << octave;
}

uint64_t Histogram::high_of(size_t index) {
  if (index < kSub) return index;
  const uint64_t octave = index / kSub - 1;
  return low_of(index) + ((uint64_t{1} << octave) - 1);
}

void Histogram::add(uint64_t value, uint64_t times) {
  if (times == 0) return;
  buckets_[index_of(value)] += times;
  count_ += times;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

void Histogram::merge(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

double Histogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

uint64_t Histogram::quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(quantile, 0.0, 1.0) * static_cast<double>(count_));
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::clamp(high_of(i), min_, max_);
  }
  return max_;
}

}  // namespace millrace::host
