// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "linux/sysfs.h"
#include "linux/test_tree.h"

namespace millrace::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<PortIdentity> ports_of(const TestTree& tree) {
  Result<std::vector<PortIdentity>> ports = list_ports(tree.root());
  EXPECT_TRUE(ports.ok());
  return ports.ok() ? *ports : std::vector<PortIdentity>{};
}

std::vector<std::string> paths_of(const TestTree& tree) {
  std::vector<std::string> paths;
  for (const PortIdentity& port : ports_of(tree)) paths.push_back(port.path);
  return paths;
}

TEST(Ports, UsbPortIsDescribedFromItsDevice) {
  const TestTree tree;
  TestUsbPort teensy;
  teensy.usb = "1-2.3";
  tree.add(teensy);
  const std::vector<PortIdentity> ports = ports_of(tree);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].path, "/dev/ttyACM0");
  EXPECT_TRUE(ports[0].is_usb);
  EXPECT_EQ(ports[0].vid, 0x16c0);
  EXPECT_EQ(ports[0].pid, 0x0483);
  EXPECT_EQ(ports[0].serial_number, "7654320");
  EXPECT_EQ(ports[0].description, "USB Serial");
  EXPECT_EQ(ports[0].manufacturer, "Teensyduino");
  EXPECT_EQ(ports[0].driver, "cdc_acm");
  EXPECT_EQ(ports[0].usb_path, "1-2.3:1.0");
  EXPECT_EQ(ports[0].usb_speed_mbit, 480);
}

TEST(Ports, BridgeChipBehindUsbserialIsFound) {
  const TestTree tree;
  TestUsbPort bridge;
  bridge.tty = "ttyUSB0";
  bridge.driver = "ftdi_sio";
  bridge.vid = "0403";
  bridge.pid = "6001";
  bridge.speed = "12";
  tree.add(bridge);
  const std::vector<PortIdentity> ports = ports_of(tree);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].driver, "ftdi_sio");
  EXPECT_EQ(ports[0].vid, 0x0403);
  EXPECT_EQ(ports[0].usb_speed_mbit, 12);
  EXPECT_EQ(ports[0].usb_path, "1-2:1.0");
}

TEST(Ports, SortsByNumber) {
  const TestTree tree;
  for (const int number : {10, 2, 0}) {
    TestUsbPort port;
    port.tty = fmt::format("ttyACM{}", number);
    port.usb = fmt::format("1-{}", number + 1);
    tree.add(port);
  }
  EXPECT_THAT(paths_of(tree), ElementsAre("/dev/ttyACM0", "/dev/ttyACM2", "/dev/ttyACM10"));
}

TEST(Ports, SkipsTerminalsAndUartsThatAreNotThere) {
  const TestTree tree;
  tree.file("/sys/devices/virtual/tty/tty1/dev", "4:1\n");
  tree.link("/sys/class/tty/tty1", "../../devices/virtual/tty/tty1");
  for (const auto& [name, type] : {std::pair("ttyS0", "4\n"), std::pair("ttyS1", "0\n")}) {
    const std::string device = std::string("/sys/devices/platform/serial8250.") + name;
    tree.link(device + "/driver", "../../../bus/platform/drivers/serial8250");
    tree.file(device + "/tty/" + name + "/type", type);
    tree.link(device + "/tty/" + name + "/device", "../..");
    tree.link(std::string("/sys/class/tty/") + name, "../../.." + device + "/tty/" + name);
  }
  const std::vector<PortIdentity> ports = ports_of(tree);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].path, "/dev/ttyS0");
  EXPECT_EQ(ports[0].driver, "serial8250");
  EXPECT_FALSE(ports[0].is_usb);
}

TEST(Ports, NoSysIsNoPorts) {
  const TestTree tree;
  EXPECT_THAT(ports_of(tree), IsEmpty());
}

TEST(Ports, LinksThatLeadInCirclesOrOutsideAreNotFollowed) {
  const TestTree tree;
  tree.add({});
  tree.link("/sys/class/tty/ttyACM1", "ttyACM2");
  tree.link("/sys/class/tty/ttyACM2", "ttyACM1");
  tree.link("/sys/class/tty/ttyACM3", "/sys");
  tree.file("/sys/devices/odd/tty/ttyACM4/dev", "166:4\n");
  tree.link("/sys/devices/odd/tty/ttyACM4/device", "../../../../../../../../../../../../../etc");
  tree.link("/sys/class/tty/ttyACM4", "../../devices/odd/tty/ttyACM4");
  // A device that is its own parent's child.
  tree.file("/sys/devices/ring/tty/ttyACM5/dev", "166:5\n");
  tree.link("/sys/devices/ring/self", ".");
  tree.link("/sys/devices/ring/tty/ttyACM5/device", "../../self/self/self");
  tree.link("/sys/class/tty/ttyACM5", "../../devices/ring/tty/ttyACM5");
  EXPECT_THAT(paths_of(tree), ElementsAre("/dev/ttyACM0", "/dev/ttyACM5"));
}

// As Linux 6.5 and later lay out a UART: /sys/devices/pnp0/00:00/00:00:0/00:00:0.0/tty/ttyS0.
TEST(Ports, DriverOfAUartIsNotTheSerialCores) {
  const TestTree tree;
  const std::string uart = "/sys/devices/pnp0/00:00";
  tree.file(uart + "/00:00:0/00:00:0.0/tty/ttyS0/dev", "4:64\n");
  tree.link(uart + "/driver", "../../../bus/pnp/drivers/serial");
  tree.link(uart + "/subsystem", "../../../bus/pnp");
  tree.link(uart + "/00:00:0/driver", "../../../../bus/serial-base/drivers/ctrl");
  tree.link(uart + "/00:00:0/subsystem", "../../../../bus/serial-base");
  tree.link(uart + "/00:00:0/00:00:0.0/driver", "../../../../../bus/serial-base/drivers/port");
  tree.link(uart + "/00:00:0/00:00:0.0/subsystem", "../../../../../bus/serial-base");
  tree.link(uart + "/00:00:0/00:00:0.0/tty/ttyS0/device", "../../../00:00:0.0");
  tree.link("/sys/class/tty/ttyS0", "../.." + (uart.substr(4) + "/00:00:0/00:00:0.0/tty/ttyS0"));
  const std::vector<PortIdentity> ports = ports_of(tree);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].driver, "serial");
  EXPECT_FALSE(ports[0].is_usb);
}

TEST(Ports, AbsurdAttributesAreSurvived) {
  const TestTree tree;
  const TestUsbPort port;
  tree.add(port);
  const std::string usb = TestTree::usb_folder(port);
  tree.file(usb + "/product", std::string(10 << 20, 'x'));
  tree.file(usb + "/speed", "99999999999999999999999\n");
  tree.file(usb + "/idVendor", "zz\n");
  tree.remove(usb + "/manufacturer");
  std::filesystem::create_directory(tree.root() + usb + "/manufacturer");
  tree.remove(usb + "/serial");
  ASSERT_EQ(::mkfifo((tree.root() + usb + "/serial").c_str(), 0600), 0);
  const std::vector<PortIdentity> ports = ports_of(tree);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].description, std::string(256, 'x'));  // the limit for one line
  EXPECT_EQ(ports[0].usb_speed_mbit, 0);
  EXPECT_FALSE(ports[0].is_usb);  // usb:0000:0000 would be no name for it
  EXPECT_EQ(ports[0].vid, 0);
  EXPECT_EQ(ports[0].manufacturer, "");
  EXPECT_EQ(ports[0].serial_number, "");
}

TEST(Ports, HoldersAreNamed) {
  const TestTree tree;
  tree.add({});
  tree.process(812, "ModemManager");
  tree.holds(812, "/dev/ttyACM0");
  tree.process(900, "cat");
  tree.holds(900, "/dev/ttyACM1");
  tree.link("/proc/self/fd/3", "/dev/ttyACM0");
  EXPECT_THAT(holders_of("/dev/ttyACM0", tree.root()), ElementsAre("pid 812 (ModemManager)"));
  EXPECT_THAT(holders_of("/dev/ttyACM7", tree.root()), IsEmpty());
}

TEST(Ports, HoldersOfASymlinkAreThoseOfItsTarget) {
  const TestTree tree;
  tree.add({});
  tree.link("/dev/serial/by-id/usb-Teensyduino", "../../ttyACM0");
  tree.process(812, "screen");
  tree.holds(812, "/dev/ttyACM0");
  EXPECT_THAT(holders_of("/dev/serial/by-id/usb-Teensyduino", tree.root()),
              ElementsAre("pid 812 (screen)"));
}

TEST(Ports, LiveMachineIsListedWithoutError) { EXPECT_TRUE(list_ports().ok()); }

}  // namespace
}  // namespace millrace::host
