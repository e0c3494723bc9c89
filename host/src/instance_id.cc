// SPDX-License-Identifier: Apache-2.0
#include "instance_id.h"

#include <algorithm>
#include <cctype>

namespace millrace::host {
namespace {

// The hexadecimal number behind `key`; -1 when there is none.
int hex_behind(const std::string& text, const std::string& key, size_t digits) {
  const size_t at = text.find(key);
  if (at == std::string::npos || at + key.size() + digits > text.size()) return -1;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = text[at + key.size() + i];
    if (c >= '0' && c <= '9') {
      value = value * 16 + (c - '0');
    } else if (c >= 'A' && c <= 'F') {
      value = value * 16 + (c - 'A' + 10);
    } else {
      return -1;
    }
  }
  return value;
}

}  // namespace

InstanceId parse_instance_id(const std::string& id) {
  InstanceId result;
  std::string upper = id;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const int vid = hex_behind(upper, "VID_", 4);
  const int pid = hex_behind(upper, "PID_", 4);
  if (vid < 0 || pid < 0) return result;
  result.is_usb = true;
  result.vid = static_cast<uint16_t>(vid);
  result.pid = static_cast<uint16_t>(pid);
  result.interface = hex_behind(upper, "MI_", 2);
  const size_t first = id.find('\\');
  const size_t last = id.rfind('\\');
  if (first == std::string::npos || last == first) return result;
  if (upper.rfind("FTDIBUS\\", 0) == 0) {
    // The third part, with the port's letter (A to D) added by FTDI's bus driver.
    const std::string device = id.substr(first + 1, last - first - 1);
    const size_t plus = device.rfind('+');
    const bool third = plus != std::string::npos && plus != device.find('+');
    if (third && device.size() > plus + 2) {
      result.serial_number = device.substr(plus + 1, device.size() - plus - 2);
    }
    return result;
  }
  // A `&` marks an id that Windows made up from the place in the tree.
  const std::string tail = id.substr(last + 1);
  if (tail.find('&') == std::string::npos) result.serial_number = tail;
  return result;
}

}  // namespace millrace::host
