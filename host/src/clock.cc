// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/clock.h"

#include <chrono>
#include <thread>

namespace millrace::host {
namespace {

class SystemClock final : public Clock {
 public:
  int64_t now_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void sleep_until(int64_t deadline_ns) override {
    const int64_t left = deadline_ns - now_ns();
    if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
  }
  bool is_virtual() const override { return false; }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace millrace::host
