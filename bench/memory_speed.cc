// SPDX-License-Identifier: Apache-2.0
// How many nanoseconds of host time does one access to the virtual board's memory system take?
// Values are checked as they come back. Times are CPU time, minimum and median of 7.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include "memory/rt1062_memory.h"

using namespace millrace::board;

namespace {

constexpr uint32_t kOcram = 0x20200000;
constexpr uint32_t kFlash = 0x60000000;
constexpr uint32_t kAccesses = 2'000'000;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

bool failed = false;

// `body` does kAccesses accesses and returns how many were right.
template <typename Body>
void measure(const char* what, Body body) {
  std::array<double, 7> ns{};
  for (double& one : ns) {
    const double start = cpu_seconds();
    const uint32_t right = body();
    one = (cpu_seconds() - start) * 1e9 / kAccesses;
    if (right != kAccesses) {
      fmt::print("{}: {} of {} accesses were right\n", what, right, kAccesses);
      failed = true;
    }
  }
  std::sort(ns.begin(), ns.end());
  fmt::print("{:<44} {:7.2f} ns   {:7.2f} ns\n", what, ns[0], ns[3]);
}

template <typename Memory>
void hits(const char* kind, Memory& memory) {
  Cycles now = 1'000'000;
  for (uint32_t i = 0; i < 16384; i += 4) memory.store(kOcram + i, 4, i, true, now += 1000);
  now += 10000;
  measure(fmt::format("load, D-cache hit, {}", kind).c_str(), [&] {
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      const uint32_t offset = (n * 52) % 16384;
      const LoadResult result = memory.load(kOcram + offset, 4, true, ++now);
      right += result.value == offset && result.stall == 0 ? 1 : 0;
    }
    return right;
  });
  measure(fmt::format("store, D-cache hit, {}", kind).c_str(), [&] {
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      const uint32_t offset = (n * 52) % 16384;
      const StoreResult result = memory.store(kOcram + offset, 4, offset, true, ++now);
      right += result.fault == AccessFault::none && result.stall == 0 ? 1 : 0;
    }
    return right;
  });
  for (uint32_t i = 0; i < 16384; i += 32) memory.fetch_line(kFlash + i, now += 1000);
  now += 10000;
  measure(fmt::format("fetch_line, I-cache hit, {}", kind).c_str(), [&] {
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      right += memory.fetch_line(kFlash + (n * 52) % 16384, ++now) == 0 ? 1 : 0;
    }
    return right;
  });
}

}  // namespace

int main() {
#ifndef __OPTIMIZE__
  fmt::print("warning: built without optimisation\n");
#endif
  fmt::print("compiler {}, {} accesses, CPU time, minimum and median of 7\n", __VERSION__,
             kAccesses);
  EventQueue clock;
  Rt1062Memory memory(MemoryOptions(), Timing(), clock);
  memory.enable_dcache(true);
  memory.enable_icache(true);
  hits("inline", memory);
  hits<MemorySystem>("virtual", memory);

  Cycles now = 1ull << 40;
  // Random replacement leaves a few lines that hit: the counters say how many.
  measure("load, D-cache miss, OCRAM", [&] {
    const uint64_t hits = memory.counts().dcache.hits;
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      const LoadResult result = memory.load(kOcram + (n * 32) % 0x80000, 4, true, now += 100);
      right += result.stall != 0 ? 1 : 0;
    }
    return right + static_cast<uint32_t>(memory.counts().dcache.hits - hits);
  });
  measure("store, D-cache miss, OCRAM, with write-back", [&] {
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      now += 100;
      right += memory.store(kOcram + (n * 32) % 0x80000, 4, n, true, now).stall == 0 ? 1 : 0;
    }
    return right;
  });
  measure("fetch_line, I-cache miss, flash", [&] {
    const uint64_t hits = memory.counts().icache.hits;
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      right += memory.fetch_line(kFlash + (n * 32) % kFlashBytes, now += 1000) != 0 ? 1 : 0;
    }
    return right + static_cast<uint32_t>(memory.counts().icache.hits - hits);
  });
  measure("load, DTCM, through load()", [&] {
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      right += memory.load(0x20000000 + (n * 52) % 16384, 4, true, ++now).value == 0 ? 1 : 0;
    }
    return right;
  });
  measure("fast_page()", [&] {
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      const FastPage* const page = memory.fast_page(0x20000000 + (n * 52) % 16384, true);
      right += page != nullptr && page->write != nullptr ? 1 : 0;
    }
    return right;
  });
  measure("load, uncached OCRAM", [&] {
    memory.enable_dcache(false);
    uint32_t right = 0;
    for (uint32_t n = 0; n < kAccesses; ++n) {
      right += memory.load(kOcram + (n * 52) % 16384, 4, true, now += 100).stall != 0 ? 1 : 0;
    }
    return right;
  });
  return failed ? 1 : 0;
}
