// SPDX-License-Identifier: Apache-2.0
// What a Windows device instance id says. On its own so that it is tested on every system.
#pragma once

#include <cstdint>
#include <string>

namespace millrace::host {

struct InstanceId {
  bool is_usb = false;
  uint16_t vid = 0;
  uint16_t pid = 0;
  int interface = -1;         // MI_xx of a composite device
  std::string serial_number;  // empty: made up by Windows, or the parent's id has it
};

// `USB\VID_16C0&PID_0483\7654320`, `USB\VID_16C0&PID_0483&MI_00\6&1A2B&0&0000`,
// `FTDIBUS\VID_0403+PID_6001+A50285BIA\0000`.
InstanceId parse_instance_id(const std::string& id);

}  // namespace millrace::host
