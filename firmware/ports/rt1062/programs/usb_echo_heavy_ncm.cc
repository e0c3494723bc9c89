// SPDX-License-Identifier: Apache-2.0
// UDP echo over CDC-NCM behind a synthetic application load: what is slow when it runs from flash.
#include "firmware/app/echo_heavy/echo_load.h"
#include "firmware/ports/rt1062/echo_program.h"
#include "firmware/ports/rt1062/image.h"

namespace millrace::rt1062 {
namespace {
constexpr EchoFunctions kFunctions{.ncm = true};
}

void run_program() { run_echo<kFunctions>(firmware::echo_load); }

}  // namespace millrace::rt1062
