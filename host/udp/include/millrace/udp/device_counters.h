// SPDX-License-Identifier: Apache-2.0
// What an echo device has counted (spec/echo_counters.md), asked over the port that measures it.
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/link/echo_counters.h"
#include "millrace/udp/datagram_port.h"

namespace millrace::udp {

// Nothing: no answer within `patience_ns`, or none of that format; most echo servers have none.
std::optional<link::EchoCounters> read_counters(DatagramPort& port, int64_t patience_ns);

// False: a reading that is no sum, such as the fewest buffers that were empty.
bool is_sum(link::EchoCounter counter);
// Of two readings what happened between them, also if a counter wrapped; what is no sum as it was
// at `after`.
link::EchoCounters difference(const link::EchoCounters& after, const link::EchoCounters& before);

}  // namespace millrace::udp
