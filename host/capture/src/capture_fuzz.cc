// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture, whole and in pieces: both must come to the same, and totals must agree.
// The first byte chooses the pieces.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "millrace/capture/capture_analysis.h"

namespace {

using namespace millrace::capture;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

std::unique_ptr<CaptureAnalysis> analysis_of(std::span<const uint8_t> bytes, size_t piece,
                                             uint64_t* pairs) {
  MemorySource source(bytes, piece);
  AnalysisOptions options;
  options.on_pair = [&](const Pair& pair) {
    ++*pairs;
    require(pair.turnaround_ns() >= 0, "a turnaround is no negative time");
  };
  auto result = analyse(&source, "fuzz", options);
  return result ? std::move(*result) : nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  uint64_t pairs = 0, pairs_again = 0;
  const auto whole = analysis_of(bytes, SIZE_MAX, &pairs);
  const auto pieces = analysis_of(bytes, 1u + data[0], &pairs_again);
  require((whole == nullptr) == (pieces == nullptr), "pieces change nothing");
  if (whole == nullptr) return 0;
  require(whole->file.records == pieces->file.records && pairs == pairs_again &&
              whole->file.damage == pieces->file.damage &&
              whole->file.cut_short == pieces->file.cut_short,
          "pieces change nothing");
  uint64_t typed = 0;
  for (const auto& [type, count] : whole->link_types) typed += count;
  require(typed == whole->file.records, "every record has a link type");
  for (const auto& device : whole->devices) {
    for (const auto& t : device->turnarounds) {
      require(t->times.count() == t->from_submit.count() && t->first_ns.size() <= 300,
              "every pair is in every distribution");
      require(t->times.quantile(0.5) <= t->times.max(), "quantiles are ordered");
    }
  }
  return 0;
}
