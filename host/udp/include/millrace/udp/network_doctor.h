// SPDX-License-Identifier: Apache-2.0
// USB network devices of this machine, and what stands between them and a measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/host/result.h"

namespace millrace::udp {

struct NetworkFinding {
  bool is_blocking = false;  // nothing can be measured before
  std::string sentence;
  std::string remedy;  // a command, or empty
};

struct NetworkDevice {
  std::string name, driver, mac;
  uint16_t vid = 0, pid = 0;
  std::string product, serial;
  bool is_usb = false, is_up = false, has_carrier = false;
  uint32_t mtu = 0;
  std::vector<std::string> addresses;  // with their prefixes
  // Of the driver cdc_ncm: dwNtbInMaxSize, rx_max, tx_timer_usecs, ... as the kernel names them.
  std::vector<std::pair<std::string, std::string>> ntb;
  std::vector<std::pair<std::string, bool>> offloads;
  std::vector<NetworkFinding> findings;
};

struct NetworkReport {
  std::vector<NetworkDevice> devices;
  std::vector<NetworkFinding> findings;  // of the machine
};

// Where the facts come from; a test has folders of its own.
struct NetworkFacts {
  std::string sys = "/sys", proc = "/proc";
  std::function<std::vector<std::string>(const std::string& name)> addresses;
  std::function<std::vector<std::pair<std::string, bool>>(const std::string& name)> offloads;
};
NetworkFacts facts_of_this_machine();

// `which`: empty for every USB network interface; a name (usb0), a MAC address, or usb:VID:PID.
// Errors: usage, not_found.
host::Result<NetworkReport> examine_network(const std::string& which, const NetworkFacts& facts);

}  // namespace millrace::udp
