// SPDX-License-Identifier: Apache-2.0
// UDP echo over CDC-ECM without a sampler: what one that does not sample costs, by comparison.
#include "firmware/ports/rt1062/echo_program.h"
#include "firmware/ports/rt1062/image.h"

namespace millrace::rt1062 {
namespace {
constexpr EchoFunctions kFunctions{.ecm = true, .sampler = false};
}

void run_program() { run_echo<kFunctions>(); }

}  // namespace millrace::rt1062
