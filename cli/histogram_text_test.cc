// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram_text.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(HistogramText, RoundSpansAndTheRest) {
  // 150 us in 15 spans are 10 us each; the greatest is behind the sixteenth.
  const std::string text = histogram_text(23'000, 173'000, 0, [](const BucketVisitor& add) {
    add(23'000, 100);
    add(29'999, 50);
    add(30'000, 25);
    add(173'000, 1);
    add(5'000'000, 2);
  });
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "          20..30 us        150  " + std::string(50, '#'));
  EXPECT_NE(text.find("\n          30..40 us         25  ########\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n        170..180 us          1  \n            more us          2  \n"),
            std::string::npos)
      << text;
}

TEST(HistogramText, NoSpanIsShorterThanABucket) {
  const std::string text = histogram_text(86'000, 88'000, 2'800, [](const BucketVisitor& add) {
    add(86'016, 7);
    add(88'064, 3);
  });
  EXPECT_EQ(text, "          85..90 us         10  " + std::string(50, '#') + "\n");
}

TEST(HistogramText, NothingIsNothing) {
  EXPECT_EQ(histogram_text(0, 0, 0, [](const BucketVisitor&) {}), "");
}

}  // namespace
}  // namespace millrace::cli
