// SPDX-License-Identifier: Apache-2.0
// The kernel stamps arrivals with the wall clock, requests are stamped with the monotonic one: it
// is never set and does not jump. This brings the one to the other.
#pragma once

#include <cstdint>

namespace millrace::udp {

class KernelStamps {
 public:
  // REQUIRES: called before the stamps of each batch are converted. `ahead_ns`: how far the wall
  // clock is ahead of the monotonic one. Where that has jumped since, somebody set the clock, and
  // of which of the two a waiting stamp is cannot be known.
  void compare(int64_t ahead_ns);
  // `now_ns`: of the monotonic clock, behind the arrival; the result where the stamp says nothing.
  int64_t to_monotonic(int64_t stamp_ns, int64_t now_ns) const;

 private:
  int64_t ahead_ns_ = 0;
  bool is_known_ = false, was_set_ = false;
};

// How far the wall clock is ahead, to the microsecond: asked again where something came between
// two looks at the clocks, such as another program's turn.
int64_t wall_clock_ahead_ns();

}  // namespace millrace::udp
