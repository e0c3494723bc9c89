// SPDX-License-Identifier: Apache-2.0
// What samples say of waiting for code, of programs of which it is known.
#include "value/fetch_input.h"

#include <gtest/gtest.h>

#include "place/place_fixture.h"

namespace millrace::placement {
namespace {

using profile::testing::find;
using testing::Place;

class FetchInputTest : public Place {
 protected:
  // `count` samples of each line of `large`: of those that ran, these per cent at its first
  // instructions; of those that waited, all at the first.
  void sample_lines(uint32_t ran, const std::vector<uint32_t>& per_cent, uint32_t waited) {
    const profile::Function* const function = find(index, "large");
    ASSERT_NE(function, nullptr);
    uint32_t lines = 0;
    for (uint32_t line = (function->start + 31) / 32 * 32;
         line + 32 <= function->start + function->size; line += 32) {
      // Where in a line its busy instructions are differs.
      const auto first = static_cast<uint32_t>(lines++ % 3);
      for (uint32_t k = 0; k < per_cent.size(); ++k) {
        for (uint32_t i = 0; i < ran * per_cent[k] / 100; ++i) add(line + (first + k) * 2);
      }
      for (uint32_t i = 0; i < waited; ++i) add(line);
    }
    ASSERT_GE(lines, 2u);
  }
  double waiting_share() {
    use(testing::kLarge);
    profile::Profile profile;
    const Failure failure = profile::attribute(&index, samples, target, {}, &profile);
    EXPECT_FALSE(failure) << failure->message;
    const Units units = find_units(index);
    const FetchInput input = read_fetches(profile, units, index, {});
    samples.samples.clear();
    return input.stall / static_cast<double>(profile.busy());
  }
};

// Code that computes is not even: pairs issue together, some instructions take longer. None of it
// waits, however many samples show that.
TEST_F(FetchInputTest, CodeThatComputesDoesNotSeemToWait) {
  sample_lines(100, {33, 22, 15, 12, 10, 8}, 0);
  EXPECT_NEAR(waiting_share(), 0, 0.02);
  sample_lines(1000, {33, 22, 15, 12, 10, 8}, 0);
  EXPECT_NEAR(waiting_share(), 0, 0.02);
  sample_lines(500, {10, 10, 10, 10, 10, 10, 10, 10, 10, 10}, 0);
  EXPECT_NEAR(waiting_share(), 0, 0.02);
}

// 100 that ran, and as many that waited as make the share. Half is not more than running code shows
// at times, and is believed in part.
TEST_F(FetchInputTest, WhatWaitsIsFoundAmongCodeThatComputes) {
  for (const auto& [share, error] : {std::pair(0.5, 0.35), {0.75, 0.1}, {0.9, 0.05}}) {
    const auto waited = static_cast<uint32_t>(100 * share / (1 - share) + 0.5);
    sample_lines(100, {33, 22, 15, 12, 10, 8}, waited);
    EXPECT_NEAR(waiting_share(), share, error) << share;
  }
}

// A line here looks as if it waited, one there as if it did less than nothing: in sum nothing.
TEST_F(FetchInputTest, ScatterOfLinesIsNoWaiting) {
  const profile::Function* const function = find(index, "large");
  ASSERT_NE(function, nullptr);
  uint32_t number = 0;
  for (uint32_t line = (function->start + 31) / 32 * 32;
       line + 64 <= function->start + function->size; line += 64) {
    // Two highest addresses: 65 % of one line, 45 % of the next, 55 % on average.
    for (const auto& per_cent : {std::vector<uint32_t>{38, 27, 13, 10, 7, 5},
                                 std::vector<uint32_t>{25, 20, 18, 15, 12, 10}}) {
      for (uint32_t k = 0; k < per_cent.size(); ++k) {
        for (uint32_t i = 0; i < per_cent[k]; ++i) add(line + (number % 2) * 32 + k * 2);
      }
      ++number;
    }
  }
  ASSERT_GE(number, 2u);
  EXPECT_NEAR(waiting_share(), 0, 0.02);
}

}  // namespace
}  // namespace millrace::placement
