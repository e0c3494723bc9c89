// SPDX-License-Identifier: Apache-2.0
// Floating-point operations, operands and modes for the comparison with QEMU, and the Thumb image
// that runs every one of them and writes what came out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::board::testing {

// An instruction with destination S0/D0 and sources S2/D1, S4/D2 (in place: S0/D0).
struct FpOperation {
  std::string name;
  uint32_t instruction = 0;
  unsigned operands = 0;  // which of FpCases suits it
};

// D0, D1, D2 before the instruction.
using FpCase = std::array<uint64_t, 3>;

// D0 and FPSCR after it.
struct FpOutcome {
  uint64_t d0 = 0;
  uint32_t fpscr = 0;
};
inline constexpr uint32_t kFpOutcomeBytes = 12;

std::vector<FpOperation> fp_operations();
std::vector<uint32_t> fp_modes();  // FPSCR before the instruction; NZCV also in APSR
// By FpOperation::operands: 0 and 1 single precision with two or three operands and with one,
// 2 and 3 double precision. All pairs of edge values (or all, for one operand), then `random` more
// that provoke cancellation and halfway cases.
using FpCases = std::array<std::vector<FpCase>, 4>;
FpCases fp_cases(unsigned random, uint64_t seed);

// Runs operations x modes x cases in that nesting on an M-profile machine with memory at 0 and at
// 0x20000000, and writes an outcome each (12 bytes, little-endian) to semihosting's :tt.
std::vector<uint8_t> fp_image(const std::vector<FpOperation>& operations,
                              const std::vector<uint32_t>& modes, const FpCases& cases);

}  // namespace millrace::board::testing
