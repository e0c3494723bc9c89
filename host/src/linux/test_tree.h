// SPDX-License-Identifier: Apache-2.0
// Builds what /sys, /proc and /run look like around a port, in a temporary folder.
#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "linux/test_pty.h"

namespace millrace::host {

struct TestUsbPort {
  std::string tty = "ttyACM0";
  std::string driver = "cdc_acm";
  std::string bus = "pci0000:00/0000:00:14.0";  // below /sys/devices
  std::string usb = "1-2";
  std::string vid = "16c0";
  std::string pid = "0483";
  std::string serial = "7654320";
  std::string product = "USB Serial";
  std::string speed = "480";
  std::string interface = "00";  // bInterfaceNumber of the control interface
  std::string protocol = "00";
  std::string dev = "166:0";
};

class TestTree {
 public:
  const std::string& root() const { return folder_.path(); }

  void file(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
  }
  // `target` is written as it is: relative to the link, as sysfs does.
  void link(const std::string& path, const std::string& target) const {
    const std::filesystem::path full = root() + path;
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::create_symlink(target, full);
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root() + path); }

  // The folder of the USB device, without the root.
  static std::string usb_folder(const TestUsbPort& port) {
    const std::string name = port.usb;  // 1-2.3 hangs below 1-2, that below usb1
    std::string folder = "/sys/devices/" + port.bus + "/usb" + name.substr(0, name.find('-'));
    for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      folder.append("/").append(name, 0, dot);
    }
    return folder + "/" + name;
  }
  static std::string interface_folder(const TestUsbPort& port) {
    return fmt::format("{}/{}:1.{}", usb_folder(port), port.usb, std::stoi(port.interface));
  }

  void add(const TestUsbPort& port) const {
    const std::string usb = usb_folder(port);
    file(usb + "/idVendor", port.vid + "\n");
    file(usb + "/idProduct", port.pid + "\n");
    file(usb + "/product", port.product + "\n");
    file(usb + "/manufacturer", "Teensyduino\n");
    if (!port.serial.empty()) file(usb + "/serial", port.serial + "\n");
    file(usb + "/speed", port.speed + "\n");
    file(usb + "/dev", "189:7\n");
    file(usb + "/bmAttributes", "c0\n");
    file(usb + "/power/control", "on\n");
    file(usb + "/power/autosuspend_delay_ms", "2000\n");
    file(usb + "/power/wakeup", "disabled\n");

    const std::string interface = interface_folder(port);
    file(interface + "/bInterfaceNumber", port.interface + "\n");
    file(interface + "/bInterfaceClass", "02\n");
    file(interface + "/bInterfaceProtocol", port.protocol + "\n");
    link(interface + "/driver", "../../../../bus/usb/drivers/" + port.driver);
    const bool bridge = port.driver != "cdc_acm";
    // usbserial puts a device of its own between interface and tty.
    const std::string device = bridge ? interface + "/" + port.tty : interface;
    if (bridge) link(device + "/driver", "../../../bus/usb-serial/drivers/" + port.driver);
    const std::string tty = device + "/tty/" + port.tty;
    file(tty + "/dev", port.dev + "\n");
    link(tty + "/device", fmt::format("../../../{}", base(device)));
    link("/sys/class/tty/" + port.tty, "../../.." + tty);
    file("/dev/" + port.tty, "");
    if (bridge) return;
    const std::string data =
        fmt::format("{}/{}:1.{}", usb, port.usb, std::stoi(port.interface) + 1);
    file(data + "/bInterfaceNumber", fmt::format("{:02x}\n", std::stoi(port.interface) + 1));
    file(data + "/bInterfaceClass", "0a\n");
    file(data + "/ep_03/type", "Bulk\n");
    file(data + "/ep_03/direction", "out\n");
    file(data + "/ep_03/wMaxPacketSize", "0100\n");
    file(data + "/ep_84/type", "Bulk\n");
    file(data + "/ep_84/direction", "in\n");
    file(data + "/ep_84/wMaxPacketSize", port.speed == "480" ? "0200\n" : "0040\n");
  }

  void process(int pid, const std::string& name) const {
    file(fmt::format("/proc/{}/comm", pid), name + "\n");
  }
  void holds(int pid, const std::string& path) const {
    link(fmt::format("/proc/{}/fd/3", pid), path);
  }

 private:
  static std::string base(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  TestFolder folder_;
};

}  // namespace millrace::host
