// SPDX-License-Identifier: Apache-2.0
// How many instructions a second does the whole virtual board execute, caches, devices and events
// included? Two programs in flash with the I-cache on: a loop that stays in the cache, and 64 KB of
// straight code that misses in every line; then the images given as arguments, one simulated second
// each. CPU time, not elapsed time. Ceiling beside it: bench/board_speed, the core alone.
//
// usage: board_image_speed [N] [IMAGE...]      N: runs, at least 1 (5)
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "millrace/board/board.h"

namespace millrace::board {
namespace {

constexpr uint32_t kFlash = 0x60000000;
constexpr uint32_t kCode = 0x60002100;
constexpr uint64_t kSecondNs = 1'000'000'000;

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// Boot header, vector table, code that turns the I-cache on and then repeats `body` for ever.
Image flash_program(const std::vector<uint16_t>& body) {
  // mov.w r0, #0; ldr r1, =ICIALLU; str r0, [r1]; ldr r1, =CCR;
  // ldr r0, [r1]; orr r0, r0, #0x20000; str r0, [r1]; isb; b body; literals
  const std::vector<uint16_t> start = {0xF04F, 0x0000, 0x4905, 0x6008, 0x4905, 0x6808,
                                       0xF440, 0x3000, 0x6008, 0xF3BF, 0x8F6F, 0xE005,
                                       0xBF00, 0xBF00, 0xEF50, 0xE000, 0xED14, 0xE000};
  std::vector<uint8_t> bytes(kCode - kFlash + 2 * (start.size() + body.size() + 4));
  const auto word = [&bytes](uint32_t address, uint32_t value) {
    store_le(&bytes[address - kFlash], 4, value);
  };
  word(0x60000000, 0x42464346);
  word(0x60000004, 0x56010000);
  word(0x60000044, 0x00060401);
  word(0x60000050, 0x800000);
  word(0x60000080, 0x0A1804EB);
  word(0x60000084, 0x26043206);
  word(0x60001000, 0x432000D1);
  word(0x60001004, 0x60002000);
  word(0x60001010, 0x60001020);
  word(0x60001014, 0x60001000);
  word(0x60001020, kFlash);
  word(0x60001024, static_cast<uint32_t>(bytes.size()));
  word(0x60002000, 0x20240000);
  for (uint32_t i = 1; i < 16; ++i) word(0x60002000 + 4 * i, kCode | 1);
  uint32_t at = kCode - kFlash;
  for (const auto* part : {&start, &body}) {
    for (const uint16_t half : *part) {
      store_le(&bytes[at], 2, half);
      at += 2;
    }
  }
  // b.w back to the body (T4).
  const int32_t offset = -static_cast<int32_t>(2 * body.size()) - 4;
  const auto u = static_cast<uint32_t>(offset);
  const uint32_t s = (u >> 24) & 1;
  const uint32_t j1 = (~((u >> 23) & 1) ^ s) & 1;
  const uint32_t j2 = (~((u >> 22) & 1) ^ s) & 1;
  store_le(&bytes[at], 2, 0xF000 | s << 10 | ((u >> 12) & 0x3FF));
  store_le(&bytes[at + 2], 2, 0x9000 | j1 << 13 | j2 << 11 | ((u >> 1) & 0x7FF));
  Image image;
  image.path = "program in flash";
  image.kind = Image::Kind::hex;
  image.segments.push_back({kFlash, bytes});
  return image;
}

std::vector<uint16_t> repeated(size_t count) {
  // adds r0, #3; eors r1, r0; add.w r2, r1, r0, lsl #2; lsrs r3, r3, #3
  const std::vector<uint16_t> unit = {0x3003, 0x4041, 0xEB01, 0x0280, 0x08DB};
  std::vector<uint16_t> code;
  for (size_t i = 0; i < count; ++i) code.insert(code.end(), unit.begin(), unit.end());
  return code;
}

bool measure(const std::string& name, const Image& image, bool timing, uint64_t ns, unsigned n) {
  std::vector<double> mips;
  BoardStats stats;
  for (unsigned i = 0; i < n; ++i) {
    BoardOptions options;
    options.timing = timing;
    ImageError error;
    const std::unique_ptr<Board> board = Board::create(image, options, &error);
    if (board == nullptr) {
      fmt::print("{}: {}\n", name, error.message);
      return false;
    }
    const double start = cpu_seconds();
    board->run_until_ns(ns);
    const double seconds = std::max(cpu_seconds() - start, 1e-6);
    stats = board->stats();
    mips.push_back(static_cast<double>(stats.instructions) * 1e-6 / seconds);
  }
  std::sort(mips.begin(), mips.end());
  fmt::print(
      "{:28} {:10} min {:7.1f}  median {:7.1f}  max {:7.1f} MIPS; {:.3g} instructions, "
      "{:.3g} cycles, {:.1f} % of fetches missed\n",
      name, timing ? "timing" : "functional", mips.front(), mips[mips.size() / 2], mips.back(),
      static_cast<double>(stats.instructions), static_cast<double>(stats.cycles),
      stats.icache.hits + stats.icache.misses == 0
          ? 0.0
          : 100.0 * static_cast<double>(stats.icache.misses) /
                static_cast<double>(stats.icache.hits + stats.icache.misses));
  return true;
}

int run(int argc, char** argv) {
  const unsigned n = argc > 1 ? static_cast<unsigned>(std::max(1, std::atoi(argv[1]))) : 5;
  fmt::print("board_image_speed: compiler {} flags {} N {}\n", __VERSION__, MILLRACE_CXX_FLAGS, n);
#ifndef __OPTIMIZE__
  fmt::print("warning: not optimised\n");
#endif
  bool ok = true;
  for (const bool timing : {true, false}) {
    ok &=
        measure("flash, loop in the I-cache", flash_program(repeated(20)), timing, 500'000'000, n);
    ok &= measure("flash, 64 KB straight", flash_program(repeated(6554)), timing,
                  timing ? 4 * kSecondNs : 500'000'000, n);
  }
  for (int i = 2; i < argc; ++i) {
    Image image;
    ImageError error;
    if (!load_image(argv[i], 0, &image, &error)) {
      fmt::print("{}\n", error.message);
      ok = false;
      continue;
    }
    for (const bool timing : {true, false}) ok &= measure(argv[i], image, timing, kSecondNs, n);
  }
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace millrace::board

int main(int argc, char** argv) { return millrace::board::run(argc, argv); }
