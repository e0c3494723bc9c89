// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "millrace/host/clock.h"

namespace millrace::udp {

// The monotonic clock. sleep_until() sleeps, and spins for the last microseconds: as many as it has
// been woken too late before, 3 ms at most.
host::Clock& pacing_clock();

// 20 ms, once, in which the clock learns how late this machine wakes it. Any thread.
void learn_to_wake();

}  // namespace millrace::udp
