// SPDX-License-Identifier: Apache-2.0
// How long to spin: what the kernel takes to wake a thread whose timer slack is 1 ns. Less makes
// late calls, more burns a processor.
#include "pacing_clock.h"

#include <sys/prctl.h>

#include <cerrno>
#include <ctime>

namespace millrace::udp {
namespace {

constexpr int64_t kSpinNs = 40'000;

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
    const int64_t wake_ns = deadline_ns - kSpinNs;
    if (wake_ns > now_ns()) {
      const timespec wake{wake_ns / 1'000'000'000, wake_ns % 1'000'000'000};
      while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) == EINTR) {
      }
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
