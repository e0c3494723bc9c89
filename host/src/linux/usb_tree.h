// SPDX-License-Identifier: Apache-2.0
// Where a tty hangs in sysfs.
#pragma once

#include <string>

#include "linux/sysfs.h"
#include "millrace/host/transport.h"

namespace millrace::host {

// Folders in sysfs, without the tree's root; empty where there is none.
struct TtyPlace {
  std::string tty;        // /sys/devices/.../1-2:1.0/tty/ttyACM0
  std::string device;     // what the tty's `device` link leads to
  std::string interface;  // the USB interface: .../1-2/1-2:1.0
  std::string usb;        // the USB device: .../1-2
  std::string driver;     // cdc_acm, ftdi_sio, ...
};

// `tty_name`: ttyACM0.
TtyPlace find_tty(const SysTree& tree, const std::string& tty_name);

// The PortIdentity of a tty that stands in /sys/class/tty; only `path` when it does not (a PTY).
PortIdentity identify_tty(const SysTree& tree, const std::string& tty_name);

// The name in /sys/class/tty of a device node (`/dev/ttyACM0`, `/dev/pts/4`); just the text.
std::string tty_name_of(const std::string& path);

}  // namespace millrace::host
