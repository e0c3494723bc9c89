// SPDX-License-Identifier: Apache-2.0
// Runs random histories of a link (link/src/testing/link_schedule.h) for a time or a volume: small
// ones, which are many, and now and then one of 32 to 128 MiB, which is where the volume comes
// from. Prints how much was delivered under which kinds of fault; a history counts for each that it
// has. The same at Ctrl-C (exit code 130) and at the first that fails (exit code 1, with that
// history). On a terminal one line shows how far it is.
// usage: link_soak LIMIT [FIRST_NUMBER]   LIMIT: seconds, or a volume such as 10G or 1T
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testing/link_schedule.h"

namespace {

using namespace millrace::link::testing;

constexpr uint64_t kSmallOnes = 20;  // for each large one

constexpr std::array<const char*, 13> kKinds = {
    "flipped bits",   "lost chunks",    "repeated chunks",  "inserted bytes", "short reads",
    "overrun (gaps)", "stalls of host", "stalls of device", "replugs",        "host killed",
    "device reset",   "another host",   "bad weather (x20)"};

volatile std::sig_atomic_t interrupted = 0;

struct Kind {
  uint64_t histories = 0;
  uint64_t bytes = 0;
};

std::array<bool, kKinds.size()> kinds_of(const Schedule& s) {
  std::array<bool, kKinds.size()> has{s.flip_every != 0,      s.drop_every != 0,
                                      s.duplicate_every != 0, s.insert_every != 0,
                                      s.split != 0,           s.may_drop};
  for (const ScheduleEvent& event : s.events) {
    if (event.kind != EventKind::count) has[6 + static_cast<size_t>(event.kind)] = true;
  }
  return has;
}

class Soak {
 public:
  bool run(uint64_t number, const Schedule& schedule) {
    const ScheduleResult result = run_schedule(schedule);
    if (!result.error.empty()) {
      std::printf("\nFAILED: history %llu: %s\n%s\n", static_cast<unsigned long long>(number),
                  result.error.c_str(), to_text(schedule).c_str());
      return false;
    }
    ++histories_;
    delivered_ += result.delivered_bytes;
    gaps_ += result.gap_bytes;
    damages_ += result.damages;
    again_ += result.again_bytes;
    const auto has = kinds_of(schedule);
    for (size_t i = 0; i < has.size(); ++i) {
      if (!has[i]) continue;
      ++kinds_[i].histories;
      kinds_[i].bytes += result.delivered_bytes;
    }
    return true;
  }

  // On a terminal the line is written over by the next one.
  void show_progress(double share) const {
    std::printf("\r\x1b[K%3.0f %%  %llu histories, %.3f GB delivered, %llu damages", share * 100,
                static_cast<unsigned long long>(histories_), gigabytes(delivered_),
                static_cast<unsigned long long>(damages_));
    std::fflush(stdout);
  }

  void print_line(double seconds) const {
    std::printf(
        "%.0f s: %llu histories, %.3f GB delivered (%.0f MB/s), %.3f GB in gaps, %llu damages, "
        "%.3f GB sent again\n",
        seconds, static_cast<unsigned long long>(histories_), gigabytes(delivered_),
        static_cast<double>(delivered_) / 1e6 / seconds, gigabytes(gaps_),
        static_cast<unsigned long long>(damages_), gigabytes(again_));
    std::fflush(stdout);
  }

  void print_kinds() const {
    for (size_t i = 0; i < kKinds.size(); ++i) {
      std::printf("%-18s %10llu histories %12.3f GB\n", kKinds[i],
                  static_cast<unsigned long long>(kinds_[i].histories), gigabytes(kinds_[i].bytes));
    }
  }

  uint64_t delivered() const { return delivered_; }

 private:
  static double gigabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }
  uint64_t histories_ = 0, delivered_ = 0, gaps_ = 0, damages_ = 0, again_ = 0;
  std::array<Kind, kKinds.size()> kinds_;
};

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  if (argc < 2) {
    std::fprintf(stderr, "usage: link_soak LIMIT [FIRST_NUMBER]   LIMIT: seconds, or 10G, 1T\n");
    return 2;
  }
  char* unit = nullptr;
  const double limit = std::strtod(argv[1], &unit);
  const double factor = *unit == 'T' ? 1e12 : *unit == 'G' ? 1e9 : 0;
  uint64_t number = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (const int each : {SIGINT, SIGTERM}) std::signal(each, [](int) { interrupted = 1; });
  const char* const term = std::getenv("TERM");
  const bool is_terminal =
      isatty(STDOUT_FILENO) != 0 && (term == nullptr || std::strcmp(term, "dumb") != 0);
  const double between = is_terminal ? 1 : 10;
  const auto start = Clock::now();
  double passed = 0;
  double next_report = between;
  Soak soak;
  bool is_right = true;
  for (bool done = false; !done && is_right && interrupted == 0; ++number) {
    const bool large = number % (kSmallOnes + 1) == 0;
    is_right = soak.run(number, large ? random_bulk_schedule(number) : random_schedule(number));
    passed = std::chrono::duration<double>(Clock::now() - start).count();
    const double share =
        factor > 0 ? static_cast<double>(soak.delivered()) / (limit * factor) : passed / limit;
    done = !(share < 1);
    if (passed < next_report || done) continue;
    next_report = passed + between;
    if (is_terminal) {
      soak.show_progress(share);
    } else {
      soak.print_line(passed);
    }
  }
  if (is_terminal) std::printf("\r\x1b[K");
  soak.print_line(passed);
  soak.print_kinds();
  if (!is_right) return 1;
  if (interrupted != 0) std::printf("interrupted: this is what was run until then\n");
  return interrupted != 0 ? 130 : 0;
}
