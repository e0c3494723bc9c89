// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/usb_options.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::cli {
namespace {

TEST(UsbOptions, EventsAreExactToTheNanosecond) {
  const auto events =
      parse_usb_events("0=plug,0.000000001s=unplug,1.5s=suspend,1.5=resume,1000000s=reset");
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 5u);
  const uint64_t times[] = {0, 1, 1'500'000'000, 1'500'000'000, 1'000'000'000'000'000};
  const UsbAction actions[] = {UsbAction::plug, UsbAction::unplug, UsbAction::suspend,
                               UsbAction::resume, UsbAction::reset};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ((*events)[i].ns, times[i]) << i;
    EXPECT_EQ((*events)[i].action, actions[i]) << i;
  }
}

TEST(UsbOptions, WrongEventsAreRefused) {
  for (const char* text : {"",
                           ",",
                           "=",
                           "1",
                           "1=",
                           "=plug",
                           "1=plug,",
                           ",1=plug",
                           "1=plugs",
                           "1=Plug",
                           "-1=plug",
                           "+1=plug",
                           " 1=plug",
                           "1 =plug",
                           "1ss=plug",
                           "s=plug",
                           ".5=plug",
                           "1.=plug",
                           "1e3=plug",
                           "0x1=plug",
                           "1.0000000001=plug",
                           "1000000.1=plug",
                           "10000000=plug",
                           "99999999999999999999=plug",
                           "2=plug,1=plug",
                           "1=plug;2=plug",
                           "1=plug=unplug"}) {
    EXPECT_FALSE(parse_usb_events(text)) << text;
  }
}

TEST(UsbOptions, AThousandEventsAtMost) {
  std::string text = "1=reset";
  for (int i = 1; i < 1000; ++i) text += ",1=reset";
  EXPECT_TRUE(parse_usb_events(text));
  EXPECT_FALSE(parse_usb_events(text + ",1=reset"));
}

TEST(UsbOptions, UsbIpIsWithOrWithoutAPort) {
  UsbOptions options;
  EXPECT_TRUE(parse_usb_place("usbip", &options));
  EXPECT_EQ(options.place, UsbOptions::Place::usbip);
  EXPECT_EQ(options.port, 0u);
  EXPECT_TRUE(parse_usb_place("usbip=3240", &options));
  EXPECT_EQ(options.port, 3240u);
  for (const char* wrong : {"", "usbi", "usbip=", "usbip=65536", "usbip=-1", "usbip=x", "serial"}) {
    const host::Status status = parse_usb_place(wrong, &options);
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code, host::ErrorCode::usage) << wrong;
  }
}

TEST(UsbOptions, ATapIsWithOrWithoutANameThatAnInterfaceMayHave) {
  UsbOptions options;
  EXPECT_TRUE(parse_usb_place("tap", &options));
  EXPECT_EQ(options.place, UsbOptions::Place::tap);
  EXPECT_EQ(options.interface, "");
  EXPECT_TRUE(parse_usb_place("tap=teensy0", &options));
  EXPECT_EQ(options.interface, "teensy0");
  EXPECT_TRUE(parse_usb_place("tap=fifteen_letters", &options));
  for (const char* wrong : {"tap=", "tap=sixteen__letters", "tap=a b", "tap=a/b", "tap=a:1",
                            "tap=tap%d", "tap=.", "tap=..", "taps"}) {
    const host::Status status = parse_usb_place(wrong, &options);
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code, host::ErrorCode::usage) << wrong;
  }
}

TEST(UsbOptions, AHostIsAProfileOrAFile) {
  board::UsbHostOptions options;
  EXPECT_TRUE(choose_usb_host("xhci-laptop", &options));
  EXPECT_EQ(options.profile_name, "xhci-laptop");
  const host::Status absent = choose_usb_host("/nowhere/profile", &options);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, host::ErrorCode::usage);
  EXPECT_NE(absent.error().message.find("windows-serial"), std::string::npos);
}

}  // namespace
}  // namespace millrace::cli
