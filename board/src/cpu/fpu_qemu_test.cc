// SPDX-License-Identifier: Apache-2.0
// Every floating-point operation in every mode against qemu-system-arm -M mps2-an500, bit for bit
// with flags. A fixed slice; MILLRACE_FPU_SEED and MILLRACE_FPU_RANDOM (operands beside the edge
// values) make it another or a longer one.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "cpu/fp_fast.h"
#include "cpu/fpu.h"
#include "cpu/testing/fpu_vectors.h"

namespace millrace::board {
namespace {

using testing::FpCase;
using testing::FpOperation;
using testing::FpOutcome;

uint64_t number_from(const char* variable, uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : fallback;
}

std::vector<uint8_t> run_qemu(const std::vector<uint8_t>& image) {
  const std::string path = fmt::format("{}millrace_fpu_{}.bin", ::testing::TempDir(), getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.data()),
             static_cast<std::streamsize>(image.size()));
  const std::string command =
      "timeout 100 qemu-system-arm -M mps2-an500 -display none -monitor none -serial none "
      "-semihosting-config enable=on,target=native -kernel " +
      path;
  std::vector<uint8_t> out;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    std::array<uint8_t, 65536> block;
    while (const size_t n = std::fread(block.data(), 1, block.size(), pipe)) {
      out.insert(out.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(n));
    }
    pclose(pipe);
  }
  std::remove(path.c_str());
  return out;
}

template <typename Bits, fp::FastOp op>
struct MakeFast {
  static constexpr bool (*value)(CpuState&, uint32_t) = &fp::fast<Bits, op>;
};
bool never(CpuState&, uint32_t) { return false; }

// `count_fast`: counts what the host's unit did.
FpOutcome run_here(const FpOperation& operation, uint32_t mode, const FpCase& c, bool* defined,
                   size_t* count_fast) {
  CpuState state;
  for (unsigned i = 0; i < 3; ++i) {
    state.s[2 * i] = static_cast<uint32_t>(c[i]);
    state.s[2 * i + 1] = static_cast<uint32_t>(c[i] >> 32);
  }
  state.fpscr = mode;
  state.set_apsr(mode & 0xF0000000);
  const auto fast =
      fp::select_fast<MakeFast, bool (*)(CpuState&, uint32_t)>(operation.instruction, &never);
  if (count_fast != nullptr && fast(state, operation.instruction)) {
    ++*count_fast;
  } else {
    *defined = execute_fp(state, operation.instruction);
  }
  return {state.s[0] | (static_cast<uint64_t>(state.s[1]) << 32), state.fpscr};
}

TEST(FpuAgainstQemu, EveryOperationInEveryModeIsBitExact) {
  const uint64_t seed = number_from("MILLRACE_FPU_SEED", 1);
  const unsigned random = static_cast<unsigned>(number_from("MILLRACE_FPU_RANDOM", 500));
  const std::vector<FpOperation> operations = testing::fp_operations();
  const std::vector<uint32_t> modes = testing::fp_modes();
  const testing::FpCases cases = testing::fp_cases(random, seed);
  const std::vector<uint8_t> answers = run_qemu(testing::fp_image(operations, modes, cases));
  size_t expected = 0;
  for (const FpOperation& operation : operations) {
    expected += modes.size() * cases[operation.operands].size();
  }
  ASSERT_EQ(answers.size(), expected * testing::kFpOutcomeBytes)
      << "qemu-system-arm is missing or stopped early (apt-get install qemu-system-arm)";
  size_t by_host = 0;
  const uint8_t* at = answers.data();
  for (const FpOperation& operation : operations) {
    unsigned wrong = 0;
    for (const uint32_t mode : modes) {
      for (const FpCase& c : cases[operation.operands]) {
        FpOutcome theirs;
        std::memcpy(&theirs.d0, at, 8);
        std::memcpy(&theirs.fpscr, at + 8, 4);
        at += testing::kFpOutcomeBytes;
        bool defined = true;
        const FpOutcome ours = run_here(operation, mode, c, &defined, nullptr);
        const FpOutcome fast = run_here(operation, mode, c, &defined, &by_host);
        if (!defined || ours.d0 != theirs.d0 || ours.fpscr != theirs.fpscr ||
            fast.d0 != theirs.d0 || fast.fpscr != theirs.fpscr) {
          if (++wrong <= 3) {
            ADD_FAILURE() << fmt::format(
                "{} {:08x} fpscr {:08x} d0 {:016x} d1 {:016x} d2 {:016x}:\n  here {:016x} {:08x}"
                "{}\n  qemu {:016x} {:08x}",
                operation.name, operation.instruction, mode, c[0], c[1], c[2], ours.d0, ours.fpscr,
                defined ? "" : " UNDEFINED", theirs.d0, theirs.fpscr);
          }
        }
      }
    }
    EXPECT_EQ(wrong, 0u) << operation.name;
  }
  EXPECT_GT(by_host, expected / 50);
}

}  // namespace
}  // namespace millrace::board
