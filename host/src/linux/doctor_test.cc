// SPDX-License-Identifier: Apache-2.0
// Each check both ways: what it must say when something is wrong, and that it is quiet when not.
#include "linux/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linux/test_tree.h"
#include "linux/tty_settings.h"

namespace millrace::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Doctor : public ::testing::Test {
 protected:
  DoctorReport examine_port(const std::string& path = "/dev/ttyACM0") {
    Result<std::vector<DoctorReport>> reports = examine_on(SysTree(tree.root()), live, path);
    EXPECT_TRUE(reports.ok());
    EXPECT_EQ(reports->size(), 1u);
    return reports->at(0);
  }
  // The only finding of `check`.
  Finding finding(const std::string& check, const std::string& path = "/dev/ttyACM0") {
    Finding found{"absent", Severity::ok, "", ""};
    for (const Finding& one : examine_port(path).findings) {
      if (one.check != check) continue;
      EXPECT_EQ(found.check, "absent") << check << " reported twice";
      found = one;
    }
    EXPECT_EQ(found.check, check);
    return found;
  }
  void add_bridge(const std::string& driver, const std::string& vid, const std::string& pid) {
    TestUsbPort bridge;
    bridge.tty = "ttyUSB0";
    bridge.driver = driver;
    bridge.vid = vid;
    bridge.pid = pid;
    bridge.speed = "12";
    tree.add(bridge);
  }

  TestTree tree;
  TestUsbPort teensy;
  LivePort live;
};

TEST_F(Doctor, HealthyPortSpoilsNothing) {
  tree.add(teensy);
  const DoctorReport report = examine_port();
  EXPECT_FALSE(report.would_spoil());
  for (const Finding& one : report.findings) {
    EXPECT_EQ(one.severity, Severity::ok) << one.check << ": " << one.text;
  }
  EXPECT_EQ(report.port.serial_number, "7654320");
}

TEST_F(Doctor, AbsentPortNamesWhatIsThere) {
  tree.add(teensy);
  const DoctorReport report = examine_port("/dev/ttyACM5");
  EXPECT_TRUE(report.would_spoil());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].check, "exists");
  EXPECT_THAT(report.findings[0].text, HasSubstr("/dev/ttyACM5"));
  EXPECT_THAT(report.findings[0].remedy, HasSubstr("/dev/ttyACM0"));
}

TEST_F(Doctor, SymlinkLeadsToThePort) {
  tree.add(teensy);
  tree.link("/dev/serial/by-id/usb-board", "../../ttyACM0");
  EXPECT_EQ(examine_port("/dev/serial/by-id/usb-board").port.path, "/dev/ttyACM0");
}

TEST_F(Doctor, PermissionNamesGroupCommandAndNewLogin) {
  tree.add(teensy);
  live.access = [](const std::string&) {
    return PortAccess{true, false, "root", "dialout", 0660, "ann", false, false};
  };
  const Finding no = finding("permission");
  EXPECT_EQ(no.severity, Severity::problem);
  EXPECT_THAT(no.remedy, HasSubstr("sudo usermod -aG dialout ann"));
  EXPECT_THAT(no.remedy, HasSubstr("log out and in again"));
}

TEST_F(Doctor, PermissionGivenByTheNextLoginSaysSo) {
  tree.add(teensy);
  live.access = [](const std::string&) {
    return PortAccess{true, false, "root", "dialout", 0660, "ann", true, false};
  };
  const Finding no = finding("permission");
  EXPECT_EQ(no.severity, Severity::problem);
  EXPECT_THAT(no.remedy, Not(HasSubstr("usermod")));
  EXPECT_THAT(no.remedy, HasSubstr("log out and in again"));
}

TEST_F(Doctor, PermissionThatNoGroupGivesNamesAnotherWay) {
  tree.add(teensy);
  live.access = [](const std::string&) {
    return PortAccess{true, false, "root", "root", 0600, "ann", false, false};
  };
  const Finding no = finding("permission");
  EXPECT_THAT(no.remedy, Not(HasSubstr("usermod")));
  EXPECT_THAT(no.remedy, HasSubstr("udev rule"));
}

TEST_F(Doctor, PermissionGrantedIsOk) {
  tree.add(teensy);
  live.access = [](const std::string&) {
    return PortAccess{true, true, "root", "dialout", 0660, "ann", true, true};
  };
  EXPECT_EQ(finding("permission").severity, Severity::ok);
}

TEST_F(Doctor, HolderIsNamed) {
  tree.add(teensy);
  EXPECT_EQ(finding("holder").severity, Severity::ok);
  tree.process(812, "screen");
  tree.holds(812, "/dev/ttyACM0");
  const Finding held = finding("holder");
  EXPECT_EQ(held.severity, Severity::problem);
  EXPECT_THAT(held.text, HasSubstr("pid 812 (screen)"));
}

TEST_F(Doctor, TermiosThatIsNotRawNamesFlagsAndValues) {
  tree.add(teensy);
  termios cooked{};
  cooked = raw_settings(cooked);
  cooked.c_iflag |= ICRNL | IXON;
  cooked.c_lflag |= ECHO;
  live.settings = [&](const std::string&) { return std::optional(cooked); };
  const Finding note = finding("termios");
  EXPECT_EQ(note.severity, Severity::note);
  EXPECT_THAT(note.text, HasSubstr("ICRNL on (0x0d arrives as 0x0a)"));
  EXPECT_THAT(note.text, HasSubstr("IXON on"));
  EXPECT_THAT(note.text, HasSubstr("ECHO on"));
  EXPECT_THAT(note.text, Not(HasSubstr("OPOST")));
  EXPECT_THAT(note.remedy, HasSubstr("stty -F /dev/ttyACM0 raw -echo"));
}

TEST_F(Doctor, TermiosThatIsNotRawWhileSomeoneReadsIsAWarning) {
  tree.add(teensy);
  tree.process(812, "cat");
  tree.holds(812, "/dev/ttyACM0");
  termios cooked{};
  cooked = raw_settings(cooked);
  cooked.c_lflag |= ICANON;
  live.settings = [&](const std::string&) { return std::optional(cooked); };
  EXPECT_EQ(finding("termios").severity, Severity::warning);
}

TEST_F(Doctor, RawTermiosIsOk) {
  tree.add(teensy);
  const termios zero{};
  live.settings = [&](const std::string&) { return std::optional(raw_settings(zero)); };
  EXPECT_EQ(finding("termios").severity, Severity::ok);
}

TEST_F(Doctor, UnreadableTermiosIsANote) {
  tree.add(teensy);
  live.settings = [](const std::string&) { return std::optional<termios>(); };
  EXPECT_EQ(finding("termios").severity, Severity::note);
}

TEST_F(Doctor, ModemManagerWithoutATagIsAWarningWithTheRule) {
  tree.add(teensy);
  EXPECT_EQ(finding("modem_manager").severity, Severity::ok);
  tree.process(600, "ModemManager");
  const Finding warning = finding("modem_manager");
  EXPECT_EQ(warning.severity, Severity::warning);
  EXPECT_THAT(warning.remedy,
              HasSubstr("ATTRS{idVendor}==\"16c0\", ATTRS{idProduct}==\"0483\", "
                        "ENV{ID_MM_DEVICE_IGNORE}=\"1\", ENV{ID_MM_PORT_IGNORE}=\"1\""));
}

TEST_F(Doctor, ModemManagerAndAnAtProtocolIsAProblem) {
  teensy.protocol = "01";
  tree.add(teensy);
  tree.process(600, "ModemManager");
  const Finding problem = finding("modem_manager");
  EXPECT_EQ(problem.severity, Severity::problem);
  EXPECT_THAT(problem.text, HasSubstr("bInterfaceProtocol 1"));
}

TEST_F(Doctor, ModemManagerKeptOffByATagOfPortOrDeviceIsOk) {
  teensy.protocol = "01";
  tree.add(teensy);
  tree.process(600, "ModemManager");
  for (const auto& [file, line] :
       {std::pair("/run/udev/data/c166:0", "E:ID_MM_PORT_IGNORE=1\n"),
        std::pair("/run/udev/data/c166:0", "I:1\nE:ID_MM_DEVICE_IGNORE=1\nG:uaccess\n"),
        std::pair("/run/udev/data/c189:7", "E:ID_MM_DEVICE_IGNORE=1\n")}) {
    tree.file(file, line);
    EXPECT_EQ(finding("modem_manager").severity, Severity::ok) << file << " " << line;
    tree.remove(file);
  }
  tree.file("/run/udev/data/c166:0", "E:ID_MM_PORT_IGNORE=0\nE:NOT_ID_MM_DEVICE_IGNORE=1\n");
  EXPECT_EQ(finding("modem_manager").severity, Severity::problem);
}

TEST_F(Doctor, BrlttyTakesBridgeChips) {
  add_bridge("ch341-uart", "1a86", "7523");
  EXPECT_EQ(finding("brltty", "/dev/ttyUSB0").severity, Severity::ok);
  tree.process(700, "brltty");
  EXPECT_EQ(finding("brltty", "/dev/ttyUSB0").severity, Severity::problem);
  teensy.usb = "1-3";
  tree.add(teensy);
  EXPECT_EQ(finding("brltty", "/dev/ttyACM0").severity, Severity::note);
}

TEST_F(Doctor, UsbipIsAProblem) {
  tree.add(teensy);
  EXPECT_EQ(finding("usbip").severity, Severity::ok);
  TestUsbPort remote;
  remote.tty = "ttyACM1";
  remote.bus = "platform/vhci_hcd.0";
  tree.add(remote);
  const Finding problem = finding("usbip", "/dev/ttyACM1");
  EXPECT_EQ(problem.severity, Severity::problem);
  EXPECT_THAT(problem.text, HasSubstr("virtual USB"));
}

TEST_F(Doctor, SpeedGivesTheCeiling) {
  tree.add(teensy);
  EXPECT_THAT(finding("speed").text, HasSubstr("53.248 MB/s"));
  const std::string file = TestTree::usb_folder(teensy) + "/speed";
  tree.file(file, "12\n");
  EXPECT_EQ(finding("speed").severity, Severity::warning);
  EXPECT_THAT(finding("speed").text, HasSubstr("1.216 MB/s"));
  tree.file(file, "1.5\n");
  EXPECT_EQ(finding("speed").severity, Severity::problem);
  EXPECT_THAT(finding("speed").text, HasSubstr("1.5 Mbit/s"));
  tree.file(file, "5000\n");
  EXPECT_EQ(finding("speed").severity, Severity::ok);
  EXPECT_THAT(finding("speed").text, Not(HasSubstr("53.248")));
  tree.remove(file);
  EXPECT_EQ(finding("speed").severity, Severity::note);
}

TEST_F(Doctor, HubsInThePathAreCounted) {
  tree.add(teensy);
  EXPECT_EQ(finding("hub").severity, Severity::ok);
  TestUsbPort deep;
  deep.tty = "ttyACM1";
  deep.usb = "1-4.3.1";
  tree.add(deep);
  const std::string hub = parent_of(TestTree::usb_folder(deep));
  tree.file(hub + "/speed", "480\n");
  tree.file(hub + "/product", "USB2.0 Hub\n");
  const Finding note = finding("hub", "/dev/ttyACM1");
  EXPECT_EQ(note.severity, Severity::note);
  EXPECT_THAT(note.text, HasSubstr("behind 2 hubs"));
  EXPECT_THAT(note.text, HasSubstr("USB2.0 Hub, 480 Mbit/s"));
  tree.file(hub + "/speed", "12\n");
  EXPECT_EQ(finding("hub", "/dev/ttyACM1").severity, Severity::problem);
}

TEST_F(Doctor, AutosuspendWithRemoteWakeupIsAProblem) {
  tree.add(teensy);
  const std::string usb = TestTree::usb_folder(teensy);
  EXPECT_EQ(finding("autosuspend").severity, Severity::ok) << "power/control on";
  tree.file(usb + "/power/control", "auto\n");
  EXPECT_EQ(finding("autosuspend").severity, Severity::ok) << "usbcore wants remote wake-up";
  tree.file(usb + "/bmAttributes", "a0\n");
  const Finding problem = finding("autosuspend");
  EXPECT_EQ(problem.severity, Severity::problem);
  EXPECT_THAT(problem.text, HasSubstr("2000 ms"));
  EXPECT_THAT(problem.remedy, HasSubstr("echo on | sudo tee " + usb + "/power/control"));
  tree.file(usb + "/power/autosuspend_delay_ms", "-1000\n");
  EXPECT_EQ(finding("autosuspend").severity, Severity::ok) << "a negative delay switches it off";
  tree.remove(usb + "/power/control");
  EXPECT_EQ(finding("autosuspend").severity, Severity::note);
}

TEST_F(Doctor, AutosuspendOfABridgeIsHeldOffWhileThePortIsOpen) {
  add_bridge("ftdi_sio", "0403", "6001");
  TestUsbPort bridge;
  const std::string usb = TestTree::usb_folder(bridge);
  tree.file(usb + "/power/control", "auto\n");
  tree.file(usb + "/bmAttributes", "a0\n");
  EXPECT_EQ(finding("autosuspend", "/dev/ttyUSB0").severity, Severity::ok);
}

TEST_F(Doctor, DriverTellsItsUrbs) {
  tree.add(teensy);
  // 16 URBs of 2 x 512 bytes (cdc-acm.h: ACM_NR) are 16 KB.
  EXPECT_THAT(finding("driver").text,
              HasSubstr("16 read URBs of 1024 bytes (2 x wMaxPacketSize 512), 16 KB"));
  TestUsbPort full;
  full.tty = "ttyACM1";
  full.usb = "1-3";
  full.speed = "12";
  tree.add(full);
  EXPECT_THAT(finding("driver", "/dev/ttyACM1").text,
              HasSubstr("128 bytes (2 x wMaxPacketSize 64)"));
}

TEST_F(Doctor, DriverOfTheSecondPortOfABoardReadsItsOwnEndpoints) {
  tree.add(teensy);
  TestUsbPort second = teensy;
  second.tty = "ttyACM1";
  second.interface = "02";
  second.speed = "12";  // only to give its endpoint another size
  tree.add(second);
  EXPECT_THAT(finding("driver", "/dev/ttyACM1").text, HasSubstr("wMaxPacketSize 64"));
  EXPECT_THAT(finding("driver", "/dev/ttyACM0").text, HasSubstr("wMaxPacketSize 512"));
}

TEST_F(Doctor, FtdiLatencyTimerLimitsRoundTrips) {
  add_bridge("ftdi_sio", "0403", "6001");
  TestUsbPort bridge;
  const std::string timer = TestTree::interface_folder(bridge) + "/ttyUSB0/latency_timer";
  tree.file(timer, "16\n");
  const Finding slow = finding("latency_timer", "/dev/ttyUSB0");
  EXPECT_EQ(slow.severity, Severity::warning);
  EXPECT_THAT(slow.text, HasSubstr("1000/16 = 62 round trips/s"));
  EXPECT_THAT(slow.remedy, HasSubstr(timer));
  tree.file(timer, "1\n");
  EXPECT_EQ(finding("latency_timer", "/dev/ttyUSB0").severity, Severity::ok);
  EXPECT_THAT(finding("driver", "/dev/ttyUSB0").text, HasSubstr("bridge chip"));
}

TEST_F(Doctor, MachineAndAllUsbPortsAreExaminedWithoutAName) {
  tree.add(teensy);
  tree.process(600, "ModemManager");
  Result<std::vector<DoctorReport>> reports = examine("", tree.root());
  ASSERT_TRUE(reports.ok());
  ASSERT_EQ(reports->size(), 2u);
  EXPECT_EQ(reports->at(0).port.path, "");
  EXPECT_EQ(reports->at(0).findings[0].check, "modem_manager");
  EXPECT_EQ(reports->at(0).findings[0].severity, Severity::note);
  EXPECT_EQ(reports->at(1).port.path, "/dev/ttyACM0");
}

TEST_F(Doctor, EmptyMachineHasNothingToComplainAbout) {
  Result<std::vector<DoctorReport>> reports = examine("", tree.root());
  ASSERT_TRUE(reports.ok());
  ASSERT_EQ(reports->size(), 1u);
  EXPECT_FALSE(reports->at(0).would_spoil());
}

TEST(DoctorLive, PtyIsExaminedAndFoundCooked) {
  const TestPty pty;
  Result<std::vector<DoctorReport>> reports = examine(pty.path());
  ASSERT_TRUE(reports.ok());
  ASSERT_EQ(reports->size(), 1u);
  EXPECT_FALSE(reports->at(0).would_spoil());
  bool cooked = false;
  for (const Finding& one : reports->at(0).findings) {
    cooked = cooked || (one.check == "termios" && one.severity == Severity::note &&
                        one.text.find("ECHO on") != std::string::npos);
  }
  EXPECT_TRUE(cooked);
}

TEST(DoctorLive, WhatIsNoPortIsAnError) {
  for (const char* path : {"/dev/null", "/tmp", "/dev/ptmx"}) {
    Result<std::vector<DoctorReport>> reports = examine(path);
    ASSERT_FALSE(reports.ok()) << path;
    EXPECT_EQ(reports.error().code, ErrorCode::not_a_port);
    EXPECT_THAT(reports.error().message, HasSubstr("not a serial port"));
  }
}

}  // namespace
}  // namespace millrace::host
