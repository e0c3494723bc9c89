// SPDX-License-Identifier: Apache-2.0
// The checks of examine(), each on a tree that may be recorded. docs/doctor.md lists them.
#pragma once

#include <termios.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linux/port_access.h"
#include "linux/sysfs.h"
#include "linux/usb_tree.h"
#include "millrace/host/ports.h"

namespace millrace::host {

// What no tree can hold.
struct LivePort {
  // Empty: not asked (a recorded tree).
  std::function<PortAccess(const std::string& path)> access;
  // The settings in force; nullopt when the port could not be opened. Empty: not asked.
  std::function<std::optional<termios>(const std::string& path)> settings;
};

struct DoctorContext {
  const SysTree& tree;
  const LivePort& live;
  PortIdentity port;
  TtyPlace place;
  std::vector<std::string> holders;
  std::vector<std::string> processes;  // names (comm) of everything that runs
};

using Findings = std::vector<Finding>;

// doctor.cc: the machine and what runs on it.
void check_permission(const DoctorContext& context, Findings& findings);
void check_holder(const DoctorContext& context, Findings& findings);
void check_termios(const DoctorContext& context, Findings& findings);
void check_modem_manager(const DoctorContext& context, Findings& findings);
void check_brltty(const DoctorContext& context, Findings& findings);
// doctor_usb.cc: the way to the device.
void check_usbip(const DoctorContext& context, Findings& findings);
void check_speed(const DoctorContext& context, Findings& findings);
void check_hub(const DoctorContext& context, Findings& findings);
void check_autosuspend(const DoctorContext& context, Findings& findings);
void check_driver(const DoctorContext& context, Findings& findings);

Result<std::vector<DoctorReport>> examine_on(const SysTree& tree, const LivePort& live,
                                             const std::string& path);

}  // namespace millrace::host
