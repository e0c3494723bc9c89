// SPDX-License-Identifier: Apache-2.0
// The `pc:` port name: the measuring device runs inside this process, behind a PTY.
#pragma once

#include <string>
#include <vector>

#include "millrace/host/transport.h"

namespace millrace::cli {

// The port-name schemes beyond paths, usb: and serial:. On systems without PTYs `pc` is there and
// says so (usage) when it is used.
std::vector<host::EndpointScheme> endpoint_schemes();

// A line for the list of ports: names that need no hardware; empty where there are none.
extern const char* const kPortsWithoutHardware;

// `port` (pc: or pc:?FAULTS) with one fault more.
std::string with_fault(const std::string& port, const std::string& fault);

// A replug for the soak: 200 ms away after the first MiB of a run, once in the device's life.
inline constexpr const char* kUnplugFault = "unplug=200@1048576";

// `pc:link` or `pc:link?FAULTS`: a device that speaks spec/link_protocol.md.
bool speaks_link(const std::string& port);

// The faults in `pc:?FAULTS`, `pc:link?FAULTS`, `pc:`, `?FAULTS` or `FAULTS`: what stands behind
// the question mark. Errors: usage, for a pc: name with anything else behind the colon.
host::Result<std::string> fault_query(const std::string& text);

}  // namespace millrace::cli
