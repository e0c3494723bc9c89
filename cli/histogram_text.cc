// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "cli/print.h"
#include "cli/turnaround_report.h"
#include "cli/values.h"

namespace millrace::cli {

namespace {

constexpr size_t kRows = 16;
constexpr double kBarWidth = 50;

// 1, 2 or 5 times a power of ten of microseconds, at least `ns`.
int64_t round_span(int64_t ns) {
  for (const int64_t span : {1000, 2000, 5000}) {
    if (span >= ns) return span;
  }
  return 10 * round_span((ns + 9) / 10);
}

}  // namespace

std::string histogram_text(int64_t least_ns, int64_t p99_ns, int64_t resolution_ns,
                           const std::function<void(const BucketVisitor&)>& each) {
  const int64_t range = p99_ns - least_ns;
  const int64_t span = round_span(std::max(range / static_cast<int64_t>(kRows - 1), resolution_ns));
  const int64_t low = least_ns / span * span;
  std::vector<uint64_t> counts(kRows + 1);
  each([&](int64_t from, uint64_t count) {
    const auto index = static_cast<size_t>(std::max<int64_t>(0, from - low) / span);
    counts[std::min(index, kRows)] += count;
  });
  size_t used = kRows;
  while (used > 1 && counts[used - 1] == 0) --used;
  const uint64_t most = *std::max_element(counts.begin(), counts.end());
  if (most == 0) return "";
  std::string out;
  const auto line = [&](const std::string& label, uint64_t count) {
    const auto length =
        static_cast<size_t>(static_cast<double>(count) / static_cast<double>(most) * kBarWidth);
    out += fmt::format("{:>16} us {:>10}  {}\n", label, grouped(count), std::string(length, '#'));
  };
  for (size_t i = 0; i < used; ++i) {
    const auto from = static_cast<double>(low + static_cast<int64_t>(i) * span);
    line(fmt::format("{}..{}", microseconds(from), microseconds(from + static_cast<double>(span))),
         counts[i]);
  }
  if (counts[kRows] != 0) line("more", counts[kRows]);
  return out;
}

}  // namespace millrace::cli
