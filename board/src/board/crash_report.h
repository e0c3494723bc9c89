// SPDX-License-Identifier: Apache-2.0
// What a person needs when the core cannot go on: the cause in words, the registers, and a
// backtrace with names.
#pragma once

#include <cstdint>
#include <string>

#include "cpu/state.h"
#include "cpu/system_control_m7.h"
#include "memory/memory_system.h"
#include "millrace/board/image.h"

namespace millrace::board {

// Several lines, the first a sentence. Of the last fault: cause, registers then, backtrace.
std::string fault_report(const Image& image, const SystemControlM7& system, MemorySystem& memory);
// The same for a core that locked up with `state`.
std::string lockup_report(const Image& image, const SystemControlM7& system, const CpuState& state,
                          MemorySystem& memory);

}  // namespace millrace::board
