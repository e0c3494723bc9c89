// SPDX-License-Identifier: Apache-2.0
#include "cli/turnaround_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/table.h"

namespace millrace::cli {
namespace {

TEST(Microseconds, AreCutToTenths) {
  EXPECT_EQ(microseconds(62'000), "62");
  EXPECT_EQ(microseconds(62'500), "62.5");
  EXPECT_EQ(microseconds(71'766), "71.7");
  EXPECT_EQ(microseconds(99), "0");
  EXPECT_EQ(microseconds(-1), "0");
}

// The median in the first line and the same time in the table have the same digits: one pair of
// 71,766 ns, which the table's percentiles know to 100 ns.
TEST(TurnaroundReport, TheFigureAndTheTableAgree) {
  capture::CaptureAnalysis analysis;
  auto device = std::make_unique<capture::DeviceAnalysis>();
  auto turnaround = std::make_unique<capture::Turnaround>();
  turnaround->out_endpoint = 2;
  turnaround->in_endpoint = 0x82;
  capture::Pair pair;
  pair.out_end_ns = 1'000;
  pair.in_end_ns = 1'000 + 71'766;
  turnaround->add(pair);
  device->turnarounds.push_back(std::move(turnaround));
  analysis.devices.push_back(std::move(device));
  analysis.format = capture::CaptureFormat::usbmon_text;
  analysis.link_types[capture::kLinkUsbmonText] = analysis.file.records = 2;
  TurnaroundView view;
  view.name = '/' + std::string(300, 'd') + "/usb.pcapng";
  const std::string text = turnaround_report(analysis, view, Colour(nullptr));
  EXPECT_NE(text.find("turnaround 71.7 us: "), std::string::npos) << text;
  EXPECT_EQ(text.find("71.766"), std::string::npos) << text;
  EXPECT_NE(text.find("usb.pcapng:\n               usbmon text, 2 records in"), std::string::npos)
      << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), kWidth) << line;
}

}  // namespace
}  // namespace millrace::cli
