// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::host {

// CPU time, user and system, that the calling thread has used since it began.
int64_t thread_cpu_ns();

}  // namespace millrace::host
