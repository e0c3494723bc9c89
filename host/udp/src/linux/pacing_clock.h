// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/host/clock.h"

namespace millrace::udp {

// The monotonic clock. sleep_until() sleeps, and spins for the last microseconds, so that it
// returns within one of the deadline if the system lets it.
host::Clock& pacing_clock();

}  // namespace millrace::udp
