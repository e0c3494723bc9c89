// SPDX-License-Identifier: Apache-2.0
// Recurses until the stack reaches its guard: shows what fault.cc reports when there is no frame.
#include "firmware/ports/rt1062/checks.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"

namespace millrace::rt1062 {
namespace {

[[gnu::noinline]] uint32_t recurse(uint32_t depth) {
  return depth == 0 ? 0 : opaque(recurse(depth - 1)) + 1;
}

}  // namespace

void run_program() {
  print("recursing\n");
  print_decimal(recurse(opaque(0xffffffffu)));
}

}  // namespace millrace::rt1062
