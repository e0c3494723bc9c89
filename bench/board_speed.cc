// SPDX-License-Identifier: Apache-2.0
// How many instructions a second does the virtual core execute, and what does the timing model
// cost? Small programs in zero-wait memory; the ceiling beside each figure is qemu-system-arm -M
// mps2-an500 on the same image, which models no time (and with -icount counts instructions only).
// CPU time, not elapsed time. Results of the programs are checked.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cpu/testing/fake_board.h"

namespace millrace::board {
namespace {

struct Program {
  const char* name;
  std::vector<uint16_t> code;  // from address 0x100; the count is in r10; ends in BKPT
  uint32_t rounds;
  uint32_t result;  // r0
};

// clang-format off
const Program kPrograms[] = {
    // Arithmetic, shifts, loads and stores; one block.
    {"integer loop", {0x2000, 0xF04F, 0x5400, 0x3003, 0x4041, 0xEB01, 0x0280, 0x6062, 0x6863, 0x08DB, 0x18C9, 0xEA11, 0x0500, 0x7265, 0xF1BA, 0x0A01, 0xD1F1, 0xBEAB, 0xBF00}, 4000000, 12000000},
    // Recursive Fibonacci: a call, a return and two short blocks for every eight instructions.
    {"calls", {0x2014, 0xF000, 0xF804, 0xF1BA, 0x0A01, 0xD1F9, 0xBEAB, 0x2802, 0xD30A, 0xB530, 0x4604, 0x3801, 0xF7FF, 0xFFF9, 0x4605, 0x1EA0, 0xF7FF, 0xFFF5, 0x4428, 0xBD30, 0x4770}, 250, 6765},
    // CRC-32, bit by bit: a branch that the predictor cannot learn.
    {"branches", {0x4D07, 0xF06F, 0x0000, 0xFA5F, 0xF18A, 0x4048, 0x2208, 0x0840, 0xD300, 0x4068, 0x3A01, 0xD1FA, 0xF1BA, 0x0A01, 0xD1F3, 0xBEAB, 0x8320, 0xEDB8}, 1000000, 0},
};
// clang-format on

double cpu_seconds(int who) {
  rusage use{};
  getrusage(who, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

struct Rate {
  double mips = 0;
  uint64_t instructions = 0;
  Cycles cycles = 0;
  uint32_t result = 0;
};

Rate run_once(const Program& program, const Timing* timing, bool traced) {
  testing::FakeBoard board(timing);
  board.memory.set_halfwords(testing::FakeBoard::kCode, program.code);
  board.r(10) = program.rounds;
  board.cpu.halting_debug = true;
  uint64_t blocks = 0;
  if (traced) {
    board.cpu.trace = [&blocks](const Block&, Cycles) { ++blocks; };
  }
  const double start = cpu_seconds(RUSAGE_SELF);
  board.cpu.run(kNever);
  const double seconds = cpu_seconds(RUSAGE_SELF) - start;
  return {static_cast<double>(board.cpu.instructions()) * 1e-6 / std::max(seconds, 1e-6),
          board.cpu.instructions(), board.cpu.now(), board.r(0)};
}

void print(const char* what, std::vector<double> mips) {
  std::sort(mips.begin(), mips.end());
  fmt::print("  {:22} min {:7.1f}  median {:7.1f}  max {:7.1f} MIPS\n", what, mips.front(),
             mips[mips.size() / 2], mips.back());
}

// The program as an image for qemu: vector table, start-up, and semihosting exit at the BKPT.
bool run_qemu(const Program& program, const char* options, double instructions, double* mips) {
  std::vector<uint8_t> image(0x100);
  const auto word = [&image](uint32_t at, uint32_t value) { store_le32(image.data() + at, value); };
  word(0, 0x10000);
  word(4, 0x81);
  // movw/movt r10, rounds; b 0x100
  const uint32_t n = program.rounds;
  const auto move = [](uint32_t op, uint32_t imm) {
    return (op | ((imm >> 11) & 1) << 10 | (imm >> 12)) |
           (((imm >> 8) & 7) << 12 | 10u << 8 | (imm & 0xFF)) << 16;
  };
  word(0x80, move(0xF240, n & 0xFFFF));
  word(0x84, move(0xF2C0, n >> 16));
  word(0x88, 0xBF00E03Au);  // b 0x100
  std::vector<uint16_t> code = program.code;
  for (size_t k = 0; k < code.size(); ++k) {
    if (code[k] == 0xBEAB) {
      code[k] = 0xE07E;  // to the exit, patched below
      const uint32_t at = 0x100 + 2 * static_cast<uint32_t>(k);
      const uint32_t offset = (0x200 - (at + 4)) / 2;
      code[k] = static_cast<uint16_t>(0xE000 | offset);
    }
  }
  for (const uint16_t h : code) {
    image.push_back(static_cast<uint8_t>(h));
    image.push_back(static_cast<uint8_t>(h >> 8));
  }
  image.resize(0x210);
  // movs r0, #0x18; ldr r1, [pc, #0]; bkpt #0xAB; ADP_Stopped_ApplicationExit
  word(0x200, 0x49012018);
  word(0x204, 0xBEABBEAB);
  word(0x208, 0x20026);
  const std::string path = std::filesystem::temp_directory_path() / "board_speed.bin";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.data()),
             static_cast<std::streamsize>(image.size()));
  const std::string command = fmt::format(
      "qemu-system-arm -M mps2-an500 -display none -monitor none -serial none -nodefaults {} "
      "-semihosting-config enable=on,target=native -device loader,file={},addr=0 "
      "</dev/null >/dev/null 2>&1",
      options, path);
  const double start = cpu_seconds(RUSAGE_CHILDREN);
  const bool ok = std::system(command.c_str()) == 0;
  *mips = instructions * 1e-6 / std::max(cpu_seconds(RUSAGE_CHILDREN) - start, 1e-6);
  std::filesystem::remove(path);
  return ok;
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown";
}

int run(int argc, char** argv) {
  const unsigned n = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 5;
  fmt::print("board_speed: compiler {} flags {} CPU {} N {}\n", __VERSION__, MILLRACE_CXX_FLAGS,
             cpu_name(), n);
#ifndef __OPTIMIZE__
  fmt::print("warning: not optimised\n");
#endif
  const Timing timing;
  bool right = true;
  for (const Program& program : kPrograms) {
    std::vector<double> functional;
    std::vector<double> timed;
    Rate last;
    for (unsigned k = 0; k < n; ++k) {
      functional.push_back(run_once(program, nullptr, false).mips);
      last = run_once(program, &timing, false);
      timed.push_back(last.mips);
    }
    right &= program.result == 0 || last.result == program.result;
    fmt::print("{}: {} instructions, {} cycles, IPC {:.2f}\n", program.name, last.instructions,
               last.cycles,
               static_cast<double>(last.instructions) / static_cast<double>(last.cycles));
    print("functional", functional);
    print("with timing", timed);
    for (const char* options : {"", "-icount shift=0"}) {
      double mips = 0;
      if (run_qemu(program, options, static_cast<double>(last.instructions), &mips)) {
        fmt::print("  {:22} {:7.1f} MIPS, start-up included\n", fmt::format("qemu {}", options),
                   mips);
      }
    }
  }
  fmt::print("results {}\n", right ? "right" : "WRONG");
  return right ? 0 : 1;
}

}  // namespace
}  // namespace millrace::board

int main(int argc, char** argv) { return millrace::board::run(argc, argv); }
