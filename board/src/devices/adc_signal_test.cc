// SPDX-License-Identifier: Apache-2.0
#include "devices/adc_signal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace millrace::board {
namespace {

AdcSignal parse(std::string_view text) {
  AdcSignal signal;
  EXPECT_EQ(parse_adc_signal(text, &signal), "") << text;
  return signal;
}

TEST(AdcSignal, ConstantIsTheSameAlways) {
  const AdcSignal signal = parse("constant:1.25");
  EXPECT_EQ(signal(1, 0, 0), 1.25);
  EXPECT_EQ(signal(2, 9, 1e6), 1.25);
}

TEST(AdcSignal, SineHasItsQuarters) {
  const AdcSignal signal = parse("sine:1000,1.5,1.65");
  EXPECT_NEAR(signal(1, 0, 0), 1.65, 1e-12);
  EXPECT_NEAR(signal(1, 0, 0.00025), 3.15, 1e-12);
  EXPECT_NEAR(signal(1, 0, 0.00075), 0.15, 1e-12);
  EXPECT_NEAR(signal(1, 0, 5.00025), 3.15, 1e-9);
}

TEST(AdcSignal, ChirpTurnsByTheMeanFrequencyAndRepeats) {
  const AdcSignal signal = parse("chirp:0,10,1,1,0");
  // f(t) = 10 t, so 5 t^2 turns; at t = 0.5 these are 1.25.
  EXPECT_NEAR(signal(1, 0, 0.5), std::sin(2 * std::numbers::pi * 1.25), 1e-12);
  EXPECT_NEAR(signal(1, 0, 7.5), signal(1, 0, 0.5), 1e-9);
}

TEST(AdcSignal, CsvIsInterpolatedAndHeldOutside) {
  AdcSignal signal;
  ASSERT_EQ(parse_adc_csv("# t,V\r\n\n0.1,1\r\n0.3, 2 # step\n0.3,3\n", "a.csv", &signal), "");
  EXPECT_EQ(signal(1, 0, 0), 1);
  EXPECT_NEAR(signal(1, 0, 0.2), 1.5, 1e-12);
  EXPECT_EQ(signal(1, 0, 0.3), 3);
  EXPECT_EQ(signal(1, 0, 9), 3);
}

TEST(AdcSignal, BadLinesAreNamedByTheirNumber) {
  AdcSignal signal = parse("constant:1");
  EXPECT_EQ(parse_adc_csv("0,1\nx,2\n", "a.csv", &signal), "a.csv: line 2 is not `seconds,volts`");
  EXPECT_EQ(parse_adc_csv("0,1,2", "a.csv", &signal), "a.csv: line 1 is not `seconds,volts`");
  EXPECT_EQ(parse_adc_csv("0,nan", "a.csv", &signal), "a.csv: line 1 is not `seconds,volts`");
  EXPECT_EQ(parse_adc_csv("1,1\n\n0,1", "a.csv", &signal),
            "a.csv: line 3 goes back in time (sort the lines)");
  EXPECT_EQ(parse_adc_csv("#\n", "a.csv", &signal), "a.csv: has no line `seconds,volts`");
  EXPECT_EQ(signal(1, 0, 0), 1);  // as before
}

TEST(AdcSignal, BadTextIsRefused) {
  AdcSignal signal;
  for (const char* text : {"", "sine", "sine:", "sine:1,2", "sine:1,2,3,4", "constant:inf",
                           "constant:1x", "chirp:1,2,0,1,1", "square:1", "constant:,"}) {
    EXPECT_NE(parse_adc_signal(text, &signal), "") << text;
  }
  EXPECT_FALSE(signal);
  EXPECT_EQ(parse_adc_signal("csv:/nonexistent/a.csv", &signal),
            "open /nonexistent/a.csv: cannot be read (check the name of the CSV file)");
}

}  // namespace
}  // namespace millrace::board
