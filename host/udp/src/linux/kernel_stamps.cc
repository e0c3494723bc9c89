// SPDX-License-Identifier: Apache-2.0
#include "kernel_stamps.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace millrace::udp {

namespace {

// A clock that is slewed (500 ppm at most) gains less between two batches.
constexpr int64_t kMostSlewNs = 1'000'000;
constexpr int64_t kGoodGapNs = 1000;
constexpr int kTries = 8;

int64_t time_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

void KernelStamps::compare(int64_t ahead_ns) {
  was_set_ = is_known_ && std::llabs(ahead_ns - ahead_ns_) > kMostSlewNs;
  ahead_ns_ = ahead_ns;
  is_known_ = true;
}

int64_t KernelStamps::to_monotonic(int64_t stamp_ns, int64_t now_ns) const {
  return was_set_ || !is_known_ ? now_ns : std::min(now_ns, stamp_ns - ahead_ns_);
}

int64_t wall_clock_ahead_ns() {
  int64_t ahead = 0, least_gap = INT64_MAX;
  for (int i = 0; i < kTries && least_gap > kGoodGapNs; ++i) {
    const int64_t before = time_of(CLOCK_MONOTONIC);
    const int64_t wall = time_of(CLOCK_REALTIME);
    const int64_t gap = time_of(CLOCK_MONOTONIC) - before;
    if (gap >= least_gap) continue;
    least_gap = gap;
    ahead = wall - before - gap / 2;
  }
  return ahead;
}

}  // namespace millrace::udp
