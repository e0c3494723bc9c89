// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/udp_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/table.h"

namespace millrace::cli {
namespace {

// A step that did not keep up, with seconds of round trip: its notes go below its figures.
TEST(UdpReport, StepLinesFitThePage) {
  udp::StepResult step;
  step.plan.rate_per_s = 30280;
  step.planned = step.sent = 6056;
  step.answered_per_s = 15140;
  step.backlog = 1088;
  step.rtt_growth_ns = 60'000'000'000;  // as long as the link is behind, it grows
  step.altered = 12;
  step.rtt.add(9'000'000'000);
  std::istringstream lines(step_line("overload", step, Colour(nullptr)));
  std::string figures, notes, more;
  std::getline(lines, figures);
  std::getline(lines, notes);
  EXPECT_LE(figures.size(), kWidth) << figures;
  EXPECT_EQ(notes, "          1,088 queued  12 altered");
  EXPECT_FALSE(std::getline(lines, more)) << more;
}

}  // namespace
}  // namespace millrace::cli
