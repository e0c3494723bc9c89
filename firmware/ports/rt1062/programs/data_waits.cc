// SPDX-License-Identifier: Apache-2.0
// A filter that waits for its data: a block of samples larger than the D-cache goes through, and
// when the coefficients are wanted again they have been evicted. What it takes depends on where
// `coefficients` and `history` stand, 4 KB each; the block is twice the cache, so that it leaves
// nothing of them behind under any policy of replacement.
//
// Results are known beforehand. Coefficient k is 2 k + 1, and the first n odd numbers add up to
// n^2. Block word i is i: n (n - 1) / 2. History word k is k more after each round.
#include <cstdint>

#include "firmware/ports/rt1062/checks.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/ticks.h"

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kTaps = 1024, kBlockWords = 16384, kRounds = 16;

struct Coefficients {
  uint32_t words[kTaps];
  constexpr Coefficients() : words() {
    for (uint32_t k = 0; k < kTaps; ++k) words[k] = 2 * k + 1;
  }
};

}  // namespace

extern "C" {

// External, so that no compiler folds what it knows of them.
extern const Coefficients coefficients;
const Coefficients coefficients;
uint32_t history[kTaps];
uint32_t sample_block[kBlockWords];

[[gnu::noinline]] uint32_t pass_block() {
  uint32_t sum = 0;
  for (const uint32_t word : sample_block) sum += word;
  return sum;
}

[[gnu::noinline]] uint32_t apply_filter() {
  uint32_t sum = 0;
  for (uint32_t k = 0; k < kTaps; ++k) {
    sum += coefficients.words[k];
    history[k] += k;
  }
  return sum;
}

}  // extern "C"

void run_program() {
  for (uint32_t i = 0; i < kBlockWords; ++i) sample_block[i] = i;
  Checks checks;
  uint32_t block = 0, filter = 0;
  disable_interrupts();
  const uint32_t start = cycles();
  for (uint32_t round = 0; round < kRounds; ++round) {
    block += pass_block();
    filter += apply_filter();
  }
  const uint32_t spent = cycles() - start;
  enable_interrupts();
  print_decimal(spent / kRounds);
  print(" cycles a round\n");
  checks.equal("block", block, kRounds * (kBlockWords / 2 * (kBlockWords - 1)));
  checks.equal("filter", filter, kRounds * kTaps * kTaps);
  checks.equal("history", history[kTaps - 1], kRounds * (kTaps - 1));
  checks.print_summary("data_waits");
}

}  // namespace millrace::rt1062
