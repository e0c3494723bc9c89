// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_profile.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::board {
namespace {

TEST(UsbHostProfile, EveryBuiltInProfileParses) {
  for (const std::string_view name : builtin_usb_profiles()) {
    UsbHostProfile profile;
    EXPECT_EQ(apply_usb_profile(builtin_usb_profile(name), &profile), "") << name;
  }
  EXPECT_EQ(builtin_usb_profiles().size(), 4u);
  EXPECT_EQ(builtin_usb_profile("xhci"), "");
}

TEST(UsbHostProfile, BuiltInRatesAreThePublishedOnes) {
  // packets * 512 bytes * 8000 a second: 9.0 is 36.864 MB/s, 7.5 is 30.72 MB/s.
  UsbHostProfile desktop, laptop, windows;
  apply_usb_profile(builtin_usb_profile("xhci-desktop"), &desktop);
  apply_usb_profile(builtin_usb_profile("xhci-laptop"), &laptop);
  apply_usb_profile(builtin_usb_profile("windows-serial"), &windows);
  EXPECT_EQ(desktop.packets_per_microframe_milli, 9000u);
  EXPECT_EQ(laptop.packets_per_microframe_milli, 7500u);
  EXPECT_EQ(windows.packets_per_microframe_milli, 8000u);
  EXPECT_EQ(windows.read_cost_ns, 25000u);
  EXPECT_EQ(windows.reads_end_at_short, 1u);
}

TEST(UsbHostProfile, LinesOverrideAndCommentsAreIgnored) {
  UsbHostProfile profile;
  EXPECT_EQ(apply_usb_profile("# a host\n\n in_urbs = 4 # few\r\npackets_per_microframe=7.25\n"
                              "reader_stall_us = 1000,500  9000,250\n",
                              &profile),
            "");
  EXPECT_EQ(profile.in_urbs, 4u);
  EXPECT_EQ(profile.packets_per_microframe_milli, 7250u);
  const std::vector<UsbHostProfile::Stall> stalls = {{1000, 500}, {9000, 250}};
  EXPECT_EQ(profile.reader_stalls, stalls);
}

TEST(UsbHostProfile, BadLinesAreOneSentenceWithTheLineAndChangeNothing) {
  struct Case {
    const char* text;
    const char* says;
  };
  const Case cases[] = {
      {"in_urbs", "line 1: \"in_urbs\" is not of the form name = value"},
      {"seed = 3\nspeed = 1", "line 2: there is no parameter \"speed\""},
      {"in_urbs = x", "line 1: in_urbs is \"x\", not a decimal number in range"},
      {"in_urbs = ", "line 1: in_urbs is \"\", not a decimal number in range"},
      {"in_urbs = 0", "line 1: in_urbs is 0, outside 1..256"},
      {"seed = 4294967296", "line 1: seed is \"4294967296\", not a decimal number in range"},
      {"packets_per_microframe = 0", "from 0.001 to 13"},
      {"packets_per_microframe = 13.001", "from 0.001 to 13"},
      {"packets_per_microframe = 1.2345", "from 0.001 to 13"},
      {"packets_per_microframe = 4294967", "from 0.001 to 13"},
      {"packets_per_microframe = 7.", "from 0.001 to 13"},
      {"reader_stall_us = 5", "not a list of START,LENGTH in order"},
      {"reader_stall_us = 5,6 7,8", "not a list of START,LENGTH in order"},
      {"a\x1b[2J = 1", "there is no parameter \"a?[2J\""},
  };
  for (const Case& c : cases) {
    UsbHostProfile profile;
    const std::string error = apply_usb_profile(c.text, &profile);
    EXPECT_NE(error.find(c.says), std::string::npos) << c.text << ": " << error;
    EXPECT_EQ(profile, UsbHostProfile()) << c.text;
  }
}

}  // namespace
}  // namespace millrace::board
