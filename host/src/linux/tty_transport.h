// SPDX-License-Identifier: Apache-2.0
// A serial port of Linux: USB CDC-ACM, a bridge chip, a UART or a PTY.
#pragma once

#include <memory>
#include <string>

#include "millrace/host/result.h"
#include "millrace/host/transport.h"

namespace millrace::host {

// Opens `path` (symlinks are followed) in raw mode, for us alone.
// - Not flushed: what the kernel kept from before is read first. (While a cdc_acm port is closed
//   it takes nothing from the device, so that is little.)
// - Another Millrace, pySerial with exclusive=True or any program that set TIOCEXCL: busy.
// - Until the first open has set raw mode the kernel echoes what the device sends back to it. To
//   keep that window shut from then on, raw mode stays on the port after close.
// - HUPCL stays as found: with it (the default) DTR falls when the port is closed.
// Reads take SIGURG of the process (read_guard.cc).
// Closing: waits up to 500 ms for what was written, then drops it; else close() would block for
// up to 30 s (the driver's closing_wait) when a device takes nothing.
// Errors: not_found, not_a_port, permission, busy, gone, io.
Result<std::unique_ptr<Transport>> open_tty(const std::string& path, const OpenOptions& options);

// Whether `path` can be a port, told without opening it. Errors: not_found, not_a_port, permission.
Status check_port_node(const std::string& path);

}  // namespace millrace::host
