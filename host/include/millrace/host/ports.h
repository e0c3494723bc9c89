// SPDX-License-Identifier: Apache-2.0
// The serial ports of this machine, and what about them would spoil a measurement.
#pragma once

#include <string>
#include <vector>

#include "millrace/host/result.h"
#include "millrace/host/transport.h"

namespace millrace::host {

// `root` is put before /sys, /proc, /run and /dev: "" on a live machine, a recorded tree in tests.
// Linux reads sysfs itself (a library cannot be pointed at another root and none is to be had as
// a static archive); Windows asks SetupAPI and ignores `root`.
Result<std::vector<PortIdentity>> list_ports(const std::string& root = "");

enum class Severity { ok, note, warning, problem };

struct Finding {
  std::string check;  // stable identifier: permission, modem_manager, autosuspend, ...
  Severity severity = Severity::ok;
  std::string text;    // what was found, one sentence
  std::string remedy;  // what to do; may be empty with ok and note
};

struct DoctorReport {
  PortIdentity port;  // path empty: only the machine was looked at
  std::vector<Finding> findings;
  // A finding of severity problem: a measurement would be spoiled.
  bool would_spoil() const;
};

// `path` as list_ports() gives it, or its last part; empty: checks the machine and every USB serial
// port found. Errors: not_a_port (Linux) when `path` is there and is no serial port; one that is
// absent is a finding.
Result<std::vector<DoctorReport>> examine(const std::string& path, const std::string& root = "");

// The processes (other than this one) that hold `path` open: `pid 812 (ModemManager)`.
std::vector<std::string> holders_of(const std::string& path, const std::string& root = "");

}  // namespace millrace::host
