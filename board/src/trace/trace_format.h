// SPDX-License-Identifier: Apache-2.0
// Constants of spec/trace.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace::board::trace_format {

inline constexpr std::array<uint8_t, 8> kMagic = {'M', 'R', 'T', 'R', 'A', 'C', 'E', 2};
inline constexpr size_t kHeaderBytes = 52;

enum Kind : uint8_t { kBlock = 0, kNewBlock = 1, kWait = 2, kEvent = 3 };

}  // namespace millrace::board::trace_format
