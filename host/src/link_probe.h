// SPDX-License-Identifier: Apache-2.0
// What a device speaks that does not answer as expected.
#pragma once

#include <cstdint>

#include "millrace/host/transport.h"

namespace millrace::host {

// Whether the device answers in the protocol of spec/link_protocol.md within `wait_ns`. It is asked
// for a session that it cannot know, so one that it keeps for another host stays as it is.
bool speaks_link_protocol(Transport& transport, int64_t wait_ns);

// Whether it speaks spec/stream.md: such a device says nothing until it is asked so.
bool speaks_measuring_protocol(Transport& transport, int64_t wait_ns);

}  // namespace millrace::host
