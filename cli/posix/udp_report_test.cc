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

// A column of 8 holds 999,999 with its comma, and eight digits without.
TEST(UdpReport, CountsAreGroupedWhereThereIsRoom) {
  udp::StepResult step;
  step.plan.rate_per_s = 0.5;
  step.sent = 12'345'678;
  EXPECT_NE(step_line("pass 1", step, Colour(nullptr)).find("      0.5         0 12345678"),
            std::string::npos);
  step.sent = 345'678;
  EXPECT_NE(step_line("pass 1", step, Colour(nullptr)).find("      0.5         0  345,678"),
            std::string::npos);
}

TEST(UdpReport, HeadingFitsThePage) {
  udp::PortInfo port;
  EXPECT_EQ(ladder_heading("192.168.7.1", port, 32, false), "192.168.7.1: 32 B, real time\n");
  port.interface = "enx0123456789ab";
  const std::string path = "board:/" + std::string(200, 'd') + "/usb_echo_ncm_itcm.elf";
  const std::string heading = ladder_heading(path, port, 1472, true);
  EXPECT_EQ(heading.size(), kWidth + 1) << heading;  // and the end of the line
  EXPECT_NE(heading.find("echo_ncm_itcm.elf: 1472 B, enx0123456789ab, virtual time"),
            std::string::npos)
      << heading;
}

}  // namespace
}  // namespace millrace::cli
