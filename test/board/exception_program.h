// SPDX-License-Identifier: Apache-2.0
// A random program of exceptions for an M-profile machine with eight IRQs that only software pends:
// the thread and every handler change masks and priorities, pend, call, fault and use floating
// point; every handler records what it finds on entry and before it returns.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace millrace::board::diff {

struct ExceptionProgram {
  std::vector<uint8_t> bytes;  // from address 0
  // The piece of the program that each address belongs to: first address, name. A pended interrupt
  // is taken at once or a barrier later, so return addresses agree by piece only.
  std::vector<uint32_t> pieces;
};

// Records begin with a word kEntryRecord, kExitRecord or kThreadRecord, plus the count of words
// behind it.
inline constexpr uint32_t kEntryRecord = 0xE1000000;
inline constexpr uint32_t kExitRecord = 0xE2000000;
inline constexpr uint32_t kThreadRecord = 0xE3000000;
inline constexpr unsigned kEntryWords = 19;
// Which words they are, the first behind the tag being 0: masks from BASEPRI on, ICSR, and in the
// frame the return address.
inline constexpr unsigned kEntryMasks = 3;
inline constexpr unsigned kEntryIcsr = 7;
inline constexpr unsigned kEntryFramePc = 17;
inline constexpr unsigned kFpExitWords = 17;  // s0-s15, FPSCR
inline constexpr unsigned kExitWords = 7;
inline constexpr unsigned kExitMasks = 1;
inline constexpr unsigned kExitIcsr = 5;

ExceptionProgram generate_exceptions(uint64_t seed, unsigned actions);

}  // namespace millrace::board::diff
