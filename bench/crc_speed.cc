// SPDX-License-Identifier: Apache-2.0
// How fast is CRC-32C on this processor? GB/s of CPU time for frames of several sizes: the
// instruction (three blocks side by side), 24 KB and 8 KB of tables, and memcpy as the ceiling of
// anything that touches every byte. All must agree before anything is timed.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "millrace/link/crc32c.h"

namespace {

using millrace::link::crc32c_bulk;
using millrace::link::crc32c_sliced;
using millrace::link::crc32c_wide;

constexpr int kRuns = 7;
constexpr size_t kTotal = size_t{64} << 20;
volatile uint32_t keep_result;

template <class Work>
double gigabytes_per_s(size_t size, Work work) {
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const std::clock_t start = std::clock();
    uint32_t sum = 0;
    for (size_t done = 0; done < kTotal; done += size) sum += work();
    keep_result = sum;
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    best = std::max(best, static_cast<double>(kTotal) / seconds / 1e9);
  }
  return best;
}

}  // namespace

int main() {
#ifndef __OPTIMIZE__
  fmt::print("warning: built without optimisation\n");
#endif
  fmt::print("g++ {}, flags {}, best of {} runs of {} MiB\n", __VERSION__, MILLRACE_CXX_FLAGS,
             kRuns, kTotal >> 20);
  fmt::print("{:>8} {:>12} {:>8} {:>8} {:>8}   GB/s\n", "bytes", "instruction", "24 KB", "8 KB",
             "memcpy");
  for (const size_t size : {64, 512, 4096, 65536}) {
    std::vector<uint8_t> data(size), copy(size);
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
    const uint32_t expected = millrace::link::crc32c(data.data(), size);
    if (crc32c_bulk(data.data(), size) != expected || crc32c_wide(data.data(), size) != expected ||
        crc32c_sliced(data.data(), size) != expected) {
      fmt::print(stderr, "error: the variants disagree at {} bytes\n", size);
      return 1;
    }
    fmt::print("{:>8} {:>12.2f} {:>8.2f} {:>8.2f} {:>8.2f}\n", size,
               gigabytes_per_s(size, [&] { return crc32c_bulk(data.data(), size); }),
               gigabytes_per_s(size, [&] { return crc32c_wide(data.data(), size); }),
               gigabytes_per_s(size, [&] { return crc32c_sliced(data.data(), size); }),
               gigabytes_per_s(size, [&] {
                 std::memcpy(copy.data(), data.data(), size);
                 return uint32_t{copy[size / 2]};
               }));
  }
  return 0;
}
