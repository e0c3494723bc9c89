// SPDX-License-Identifier: Apache-2.0
#include "thread_cpu.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace millrace::host {
namespace {

int64_t nanoseconds(const FILETIME& t) {  // FILETIME counts 100 ns
  return ((static_cast<int64_t>(t.dwHighDateTime) << 32) | t.dwLowDateTime) * 100;
}

}  // namespace

int64_t thread_cpu_ns() {
  FILETIME created, exited, kernel, user;
  if (!GetThreadTimes(GetCurrentThread(), &created, &exited, &kernel, &user)) return 0;
  return nanoseconds(kernel) + nanoseconds(user);
}

}  // namespace millrace::host
