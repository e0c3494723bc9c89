// SPDX-License-Identifier: Apache-2.0
// A COM port of Windows.
#pragma once

#include <memory>
#include <string>

#include "millrace/host/result.h"
#include "millrace/host/transport.h"

namespace millrace::host {

// Opens `name` (`COM7`) with identity `identity`, for us alone (Windows shares no COM port).
// Binary 8N1, no flow control; all five timeouts are set, so nothing depends on what the last
// program left. DTR and RTS are raised, or as `options` say; a port without modem lines (a PTY
// under Wine) opens all the same.
// A write() that meets its deadline is cancelled; its size is what the driver reports then.
// Errors: not_found, busy, permission, not_a_port, io.
Result<std::unique_ptr<Transport>> open_serial(const std::string& name, PortIdentity identity,
                                               const OpenOptions& options);

}  // namespace millrace::host
