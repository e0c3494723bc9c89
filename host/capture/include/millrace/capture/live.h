// SPDX-License-Identifier: Apache-2.0
// Captures while they happen, from Linux' usbmon. The kernel's own binary interface is used
// directly: it tells of dropped events, which a library in between does not hand on, its buffer can
// be made larger, and there is nothing to install.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "millrace/capture/byte_source.h"
#include "millrace/host/result.h"

namespace millrace::capture {

// usbmon0 (all buses), usbmon1, ...: a bus, not a file.
bool is_usbmon_name(const std::string& name);

struct LiveOptions {
  std::string name;
  std::function<bool()> keep_going;  // asked at least ten times a second; false: the end
  // Gets the same bytes, for a file; whole blocks of pcapng. Null: nobody.
  std::function<void(const uint8_t*, size_t)> copy;
};

// The capture as pcapng: link type 220, dropped events as epb_dropcount of the next packet. Errors:
// not_found (usbmon is not loaded, or no such bus), permission, unsupported (not on Linux).
host::Result<std::unique_ptr<ByteSource>> open_usbmon(const LiveOptions& options);

}  // namespace millrace::capture
