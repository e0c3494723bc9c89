// SPDX-License-Identifier: Apache-2.0
// A line of usbmon's text interface, in the forms of 1u (with the bus) and 1t (without).
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/capture/urb_event.h"

namespace millrace::capture {

inline constexpr size_t kMaxTextData = 64;  // usbmon writes at most 32 bytes

// The time is that of the line, microseconds modulo 2^32. False: no event of usbmon. On success
// event->data points into a buffer of the thread that lasts until the next call.
bool parse_usbmon_line(std::string_view line, UrbEvent* event);

}  // namespace millrace::capture
