// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/host/clock.h"

namespace millrace::udp {

// The monotonic clock. sleep_until() sleeps, and spins for the last microseconds: as many
// as this thread has been woken too late before, 3 ms at most.
host::Clock& pacing_clock();

}  // namespace millrace::udp
