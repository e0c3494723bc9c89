// SPDX-License-Identifier: Apache-2.0
// How long to spin: as long as waking up has been late on this machine. That is 50 us on a desktop,
// and up to a scheduler's slice of some ms where processors are shared or the hypervisor takes them
// away when they are idle: with a fixed 40 us, 1 % of the requests of a 1,000/s step left there
// 970 us off their time, and 13 us with sockperf, which always spins. So it is learned, over all
// steps of a run: a sleep that was later than the margin widens it at once, the others narrow it by
// 0.05 %, so that few in a thousand are late. Learning it anew in each step made a dozen of a
// thousand requests late, which is p99. A margin above the interval is spinning without end.
#include "pacing_clock.h"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <mutex>

namespace millrace::udp {
namespace {

constexpr int64_t kLeastSpinNs = 20'000, kMostSpinNs = 3'000'000, kFirstSpinNs = 100'000;
constexpr int64_t kNarrow = 2000;  // by a 2,000th
constexpr int kTrials = 20;
constexpr int64_t kTrialNs = 1'000'000;

class PacingClock final : public host::Clock {
 public:
  int64_t now_ns() override {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  }
  void sleep_until(int64_t deadline_ns) override {
    const int64_t wake_ns = deadline_ns - spin_ns_.load(std::memory_order_relaxed);
    if (wake_ns > now_ns()) doze_until(wake_ns);
    while (now_ns() < deadline_ns) {
    }
  }
  bool is_virtual() const override { return false; }

  void learn() {
    std::call_once(learned_, [this] {
      for (int i = 0; i < kTrials; ++i) doze_until(now_ns() + kTrialNs);
    });
  }

 private:
  void doze_until(int64_t wake_ns) {
    thread_local const bool is_prompt = ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0;
    (void)is_prompt;
    const timespec wake{wake_ns / 1'000'000'000, wake_ns % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) == EINTR) {
    }
    const int64_t late_ns = now_ns() - wake_ns;
    int64_t spin_ns = spin_ns_.load(std::memory_order_relaxed);
    spin_ns = std::max(spin_ns - spin_ns / kNarrow, late_ns * 5 / 4);
    spin_ns_.store(std::clamp(spin_ns, kLeastSpinNs, kMostSpinNs), std::memory_order_relaxed);
  }

  std::atomic<int64_t> spin_ns_{kFirstSpinNs};
  std::once_flag learned_;
};

PacingClock& the_clock() {
  static PacingClock clock;
  return clock;
}

}  // namespace

host::Clock& pacing_clock() { return the_clock(); }

void learn_to_wake() { the_clock().learn(); }

}  // namespace millrace::udp
