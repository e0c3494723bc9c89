// SPDX-License-Identifier: Apache-2.0
// Exception numbers of the Armv7-M architecture (B1.5.2) on a part with 160 interrupt lines.
#pragma once

namespace millrace::board {

inline constexpr unsigned kNmi = 2;
inline constexpr unsigned kHardFault = 3;
inline constexpr unsigned kMemManage = 4;
inline constexpr unsigned kBusFault = 5;
inline constexpr unsigned kUsageFault = 6;
inline constexpr unsigned kSvCall = 11;
inline constexpr unsigned kDebugMonitor = 12;
inline constexpr unsigned kPendSv = 14;
inline constexpr unsigned kSysTick = 15;
inline constexpr unsigned kFirstInterrupt = 16;
inline constexpr unsigned kInterrupts = 160;
inline constexpr unsigned kExceptions = kFirstInterrupt + kInterrupts;

// Lower than every priority: what thread mode without masks runs at (B1.5.4).
inline constexpr int kIdlePriority = 256;

}  // namespace millrace::board
