// SPDX-License-Identifier: Apache-2.0
#include "thread_cpu.h"

#include <time.h>

namespace millrace::host {

int64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

}  // namespace millrace::host
