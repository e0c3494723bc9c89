// SPDX-License-Identifier: Apache-2.0
// Ports from sysfs. /sys/class/tty lists every tty there could be (68 on a machine without one
// serial port); a port is one that has a device behind it. 8250 ports are announced by the dozen
// whether a UART is there or not: their `type` is 0 when none answered.
#include "millrace/host/ports.h"

#include <algorithm>
#include <cctype>

#include "linux/sysfs.h"
#include "linux/usb_tree.h"
#include "millrace/host/text.h"

namespace millrace::host {
namespace {

constexpr int kMaxDepth = 32;  // hubs nest 7 deep, PCI bridges a few more

// ttyACM2 before ttyACM10.
bool natural_less(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& s) {
    size_t n = s.size();
    while (n > 0 && std::isdigit(static_cast<unsigned char>(s[n - 1])) != 0) --n;
    return n;
  };
  const size_t da = digits(a);
  const size_t db = digits(b);
  const int stem = a.substr(0, da).compare(b.substr(0, db));
  if (stem != 0) return stem < 0;
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

bool is_port(const SysTree& tree, const std::string& name) {
  const std::string tty = "/sys/class/tty/" + name;
  if (!tree.exists(tty + "/device")) return false;
  return tree.number(tty + "/type").value_or(1) != 0;
}

}  // namespace

std::string tty_name_of(const std::string& path) {
  constexpr std::string_view kDev = "/dev/";
  std::string name = path.rfind(kDev, 0) == 0 ? path.substr(kDev.size()) : base_name(path);
  std::replace(name.begin(), name.end(), '/', '!');  // as sysfs writes it
  return name;
}

TtyPlace find_tty(const SysTree& tree, const std::string& tty_name) {
  TtyPlace place;
  if (tty_name.empty() || tty_name.find('/') != std::string::npos) return place;
  place.tty = tree.resolve("/sys/class/tty/" + tty_name);
  if (place.tty.empty()) return place;
  place.device = tree.resolve(place.tty + "/device");
  if (place.device.empty()) return place;
  // Since Linux 6.5 a UART stands behind two devices of the serial core, whose drivers are called
  // `port` and `ctrl` for every UART there is. The one that drives the hardware is above them.
  std::string driven = place.device;
  for (int depth = 0; depth < 2 && tree.link_name(driven + "/subsystem") == "serial-base";
       ++depth) {
    driven = parent_of(driven);
  }
  place.driver = tree.link_name(driven + "/driver");
  std::string folder = place.device;
  for (int depth = 0; depth < kMaxDepth && !folder.empty(); ++depth) {
    if (place.interface.empty() && tree.exists(folder + "/bInterfaceNumber")) {
      place.interface = folder;
    }
    if (tree.exists(folder + "/idVendor")) {
      place.usb = folder;
      break;
    }
    folder = parent_of(folder);
  }
  if (place.driver.empty() && !place.interface.empty()) {
    place.driver = tree.link_name(place.interface + "/driver");
  }
  return place;
}

PortIdentity identify_tty(const SysTree& tree, const std::string& tty_name) {
  PortIdentity port;
  std::string node = tty_name;
  std::replace(node.begin(), node.end(), '!', '/');
  port.path = "/dev/" + node;
  const TtyPlace place = find_tty(tree, tty_name);
  port.driver = place.driver;
  if (place.usb.empty()) return port;
  const std::optional<long> vid = tree.number(place.usb + "/idVendor", 16);
  const std::optional<long> pid = tree.number(place.usb + "/idProduct", 16);
  const auto is_id = [](std::optional<long> id) { return id && *id >= 0 && *id <= 0xffff; };
  if (is_id(vid) && is_id(pid)) {  // otherwise many such ports would be usb:0000:0000
    port.is_usb = true;
    port.vid = static_cast<uint16_t>(*vid);
    port.pid = static_cast<uint16_t>(*pid);
  }
  port.usb_path = printable(base_name(place.interface.empty() ? place.usb : place.interface));
  port.description = tree.line(place.usb + "/product");
  port.manufacturer = tree.line(place.usb + "/manufacturer");
  port.serial_number = tree.line(place.usb + "/serial");
  const std::string speed = tree.line(place.usb + "/speed");
  const double mbit = std::strtod(speed.c_str(), nullptr);
  port.usb_speed_mbit = mbit > 0 && mbit < 1e6 ? mbit : 0;
  return port;
}

Result<std::vector<PortIdentity>> list_ports(const std::string& root) {
  const SysTree tree(root);
  std::vector<PortIdentity> ports;
  for (const std::string& name : tree.entries("/sys/class/tty")) {
    if (is_port(tree, name)) ports.push_back(identify_tty(tree, name));
  }
  std::sort(ports.begin(), ports.end(), [](const PortIdentity& a, const PortIdentity& b) {
    return natural_less(a.path, b.path);
  });
  return ports;
}

}  // namespace millrace::host
