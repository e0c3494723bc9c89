// SPDX-License-Identifier: Apache-2.0
#include "core/timing.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace millrace::board {
namespace {

TEST(Timing, TableNamesEveryMemberOnceInOrder) {
  const auto& parameters = timing_parameters();
  // All members are uint32_t, so the table is complete if it has as many entries as fit.
  ASSERT_EQ(parameters.size(), sizeof(Timing) / sizeof(uint32_t));
  Timing timing;
  std::set<std::string_view> names;
  const auto* const base = reinterpret_cast<const char*>(&timing);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto* const member = reinterpret_cast<const char*>(&(timing.*(parameters[i].member)));
    EXPECT_EQ(static_cast<size_t>(member - base), i * sizeof(uint32_t)) << parameters[i].name;
    EXPECT_TRUE(names.insert(parameters[i].name).second) << parameters[i].name;
    EXPECT_NE(std::strchr("ABCI", parameters[i].grade), nullptr) << parameters[i].name;
    EXPECT_FALSE(parameters[i].source.empty()) << parameters[i].name;
    EXPECT_FALSE(parameters[i].unit.empty()) << parameters[i].name;
    EXPECT_GE(timing.*(parameters[i].member), parameters[i].minimum) << parameters[i].name;
  }
}

TEST(Timing, ProfileSetsWhatItNamesAndNothingElse) {
  Timing timing;
  EXPECT_EQ(
      apply_profile("# my board\r\n\n  ocram_read = 31  # measured\nflexspi_prefetch=0", &timing),
      "");
  EXPECT_EQ(timing.ocram_read, 31u);
  EXPECT_EQ(timing.flexspi_prefetch, 0u);
  timing.ocram_read = Timing().ocram_read;
  timing.flexspi_prefetch = Timing().flexspi_prefetch;
  const Timing defaults;
  EXPECT_EQ(std::memcmp(&timing, &defaults, sizeof timing), 0);
}

TEST(Timing, EmptyProfileIsFine) {
  Timing timing;
  EXPECT_EQ(apply_profile("", &timing), "");
  EXPECT_EQ(apply_profile("\n\n#\n", &timing), "");
}

TEST(Timing, ErrorsNameTheLineAndChangeNothing) {
  const auto error_of = [](std::string_view text) {
    Timing timing;
    const std::string error = apply_profile(text, &timing);
    const Timing defaults;
    EXPECT_EQ(std::memcmp(&timing, &defaults, sizeof timing), 0) << text;
    return error;
  };
  EXPECT_EQ(error_of("load_use = 3\n\nbranch_mispredikt = 3\n"),
            "timing profile line 3: there is no parameter \"branch_mispredikt\"");
  EXPECT_EQ(error_of("load_use = 3\nload_use 3"),
            "timing profile line 2: \"load_use 3\" is not of the form name = value");
  EXPECT_EQ(error_of("load_use = 3x"),
            "timing profile line 1: load_use is \"3x\", not a decimal number in range");
  EXPECT_EQ(error_of("load_use ="),
            "timing profile line 1: load_use is \"\", not a decimal number in range");
  EXPECT_EQ(error_of("load_use = -1"),
            "timing profile line 1: load_use is \"-1\", not a decimal number in range");
  EXPECT_EQ(error_of("load_use = 99999999999"),
            "timing profile line 1: load_use is \"99999999999\", not a decimal number in range");
  EXPECT_EQ(error_of("load_use = 10000001"),
            "timing profile line 1: load_use is 10000001, outside 0..10000000 cycles");
  EXPECT_EQ(error_of("flexspi_prefetch = 2"),
            "timing profile line 1: flexspi_prefetch is 2, outside 0..1 flag");
  EXPECT_EQ(error_of("flexspi_khz = 0"),
            "timing profile line 1: flexspi_khz is 0, outside 1000..10000000 kHz");
}

TEST(Timing, ErrorsShowNoControlBytesAndNoEndlessText) {
  Timing timing;
  const std::string error = apply_profile(std::string(1000, '\x1b') + "=1", &timing);
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_LT(error.size(), 120u);
}

}  // namespace
}  // namespace millrace::board
