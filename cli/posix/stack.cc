// SPDX-License-Identifier: Apache-2.0
#include "cli/stack.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>
#include <new>

namespace millrace::cli {
namespace {

constexpr size_t kStackBytes = size_t{512} << 10;

// Writing the lowest byte of a frame extends the stack down to it; no other page is used by that.
[[gnu::noinline]] void grow() {
  [[maybe_unused]] volatile char frame[kStackBytes];
  frame[0] = 0;
}

}  // namespace

void take_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur < 2 * kStackBytes) return;
  void* const room =
      ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  ::munmap(room, kStackBytes);
  grow();
}

}  // namespace millrace::cli
