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

// `port` (pc: or pc:?FAULTS) with one fault more.
std::string with_fault(const std::string& port, const std::string& fault);

}  // namespace millrace::cli
