// SPDX-License-Identifier: Apache-2.0
// Runs random histories of a link (link/src/testing/link_schedule.h) for a given time; prints how
// much was delivered under how much damage. Exit code 1 and the history at the first that fails.
// usage: link_soak SECONDS [FIRST_NUMBER]
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "testing/link_schedule.h"

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  if (argc < 2) {
    std::fprintf(stderr, "usage: link_soak SECONDS [FIRST_NUMBER]\n");
    return 2;
  }
  const double seconds = std::atof(argv[1]);
  uint64_t number = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const uint64_t first = number;
  uint64_t delivered = 0, damages = 0, again = 0;
  const auto start = Clock::now();
  double next_report = 10;
  for (double passed = 0; passed < seconds; ++number) {
    const auto schedule = millrace::link::testing::random_schedule(number);
    const auto result = millrace::link::testing::run_schedule(schedule);
    if (!result.error.empty()) {
      std::printf("FAILED: history %llu: %s\n%s\n", static_cast<unsigned long long>(number),
                  result.error.c_str(), to_text(schedule).c_str());
      return 1;
    }
    delivered += result.delivered_bytes;
    damages += result.damages;
    again += result.again_bytes;
    passed = std::chrono::duration<double>(Clock::now() - start).count();
    if (passed < next_report && passed < seconds) continue;
    next_report = passed + 10;
    std::printf("%.0f s: %llu histories, %.3f GB delivered, %llu damages, %.3f GB sent again\n",
                passed, static_cast<unsigned long long>(number - first + 1),
                static_cast<double>(delivered) / 1e9, static_cast<unsigned long long>(damages),
                static_cast<double>(again) / 1e9);
    std::fflush(stdout);
  }
  return 0;
}
