// SPDX-License-Identifier: Apache-2.0
// How long to spin: as long as waking up has been late here. That is 20 us on a desktop, and up to
// a millisecond on a virtual machine whose processors the hypervisor takes away when they are idle:
// with a fixed 40 us, 1 % of the requests of a 1,000/s step left there 970 us off their time, and
// 13 us with sockperf, which always spins. So a thread learns: a sleep that was later than the
// margin widens it at once, the others narrow it by 0.05 %, so that few in a thousand are late.
#include "pacing_clock.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace millrace::udp {
namespace {

constexpr int64_t kLeastSpinNs = 20'000, kMostSpinNs = 3'000'000;
constexpr int64_t kNarrow = 2000;  // by a 2,000th

class PacingClock final : public host::Clock {
 public:
  int64_t now_ns() override {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  }
  void sleep_until(int64_t deadline_ns) override {
    thread_local const bool is_prompt = ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0;
    (void)is_prompt;
    thread_local int64_t spin_ns = 100'000;
    const int64_t wake_ns = deadline_ns - spin_ns;
    if (wake_ns > now_ns()) {
      const timespec wake{wake_ns / 1'000'000'000, wake_ns % 1'000'000'000};
      while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) == EINTR) {
      }
      const int64_t late_ns = now_ns() - wake_ns;
      spin_ns -= spin_ns / kNarrow;
      if (late_ns * 5 / 4 > spin_ns) spin_ns = late_ns * 5 / 4;
      spin_ns = std::clamp(spin_ns, kLeastSpinNs, kMostSpinNs);
    }
    while (now_ns() < deadline_ns) {
    }
  }
  bool is_virtual() const override { return false; }
};

}  // namespace

host::Clock& pacing_clock() {
  static PacingClock clock;
  return clock;
}

}  // namespace millrace::udp
