// SPDX-License-Identifier: Apache-2.0
// How fast is a received stream verified? Prints, for each frame size and each size of the pieces
// that it is fed in, GB/s and ns a byte beside two ceilings measured in the same run: the generator
// alone (nothing can verify faster without keeping the data) and memcmp against data generated
// beforehand. Every run ends with a check that all bytes were verified and none found wrong.
// Then the time a byte costs when the input is garbage, and when a tty damages bytes all the time.
// usage: verify_speed [MEGABYTES]
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "millrace/link/stream_verifier.h"

namespace {

using millrace::link::StreamCursor;
using millrace::link::StreamShape;
using millrace::link::StreamVerifier;
using millrace::link::VerifierSink;

constexpr int kRuns = 7;

volatile uint32_t keep_result;

// CPU time, so that what else runs on the machine counts as little as it can.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

void print_rate(const std::string& what, uint64_t bytes, const std::function<void()>& work) {
  std::vector<double> ns;
  ns.reserve(kRuns);
  work();
  for (int i = 0; i < kRuns; ++i) ns.push_back(seconds_of(work) * 1e9 / static_cast<double>(bytes));
  std::sort(ns.begin(), ns.end());
  const double median = ns[ns.size() / 2];
  fmt::print("{:<44} {:6.2f} GB/s  {:7.3f} ns/B  (min {:.3f}, spread {:.0f} %)\n", what, 1 / median,
             median, ns.front(), 100 * (ns.back() - ns.front()) / median);
}

[[noreturn]] void fail(const char* what) {
  fmt::print(stderr, "error: {}\n", what);
  std::exit(1);
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

void feed(StreamVerifier& verifier, const std::vector<uint8_t>& data, size_t piece) {
  for (size_t at = 0; at < data.size(); at += piece) {
    verifier.feed(data.data() + at, std::min(piece, data.size() - at));
  }
}

void clean_streams(uint64_t megabytes) {
  for (const uint32_t frame_size : {128u, 2048u, 4096u, 1021u}) {
    const uint32_t frames = static_cast<uint32_t>((megabytes << 20) / frame_size);
    const StreamShape shape{42, frame_size, frames};
    std::vector<uint8_t> data(shape.size_bytes());
    StreamCursor(shape).read(data.data(), data.size());
    fmt::print("\nframes of {} bytes\n", frame_size);
    std::vector<uint8_t> block(4096);
    print_rate("  ceiling: generating into 4 KB", data.size(), [&] {
      StreamCursor cursor(shape);
      for (size_t at = 0; at < data.size(); at += block.size())
        cursor.read(block.data(), block.size());
      keep_result = block[0];
    });
    const std::vector<uint8_t> copy = data;
    print_rate("  ceiling: memcmp with generated data", data.size(), [&] {
      if (std::memcmp(data.data(), copy.data(), data.size()) != 0) fail("memcmp");
    });
    for (const size_t piece : {size_t{4095}, size_t{4096}, size_t{65536}}) {
      print_rate(fmt::format("  verifying, fed {} bytes at a time", piece), data.size(), [&] {
        StreamVerifier verifier(shape, VerifierSink{});
        feed(verifier, data, piece);
        if (verifier.totals().verified_bytes != data.size()) fail("clean stream not verified");
      });
    }
  }
}

void damaged_streams(uint64_t megabytes) {
  const StreamShape shape{42, 2048, static_cast<uint32_t>((megabytes << 20) / 2048)};
  std::vector<uint8_t> data(shape.size_bytes());
  StreamCursor(shape).read(data.data(), data.size());
  std::vector<uint8_t> cooked;
  for (const uint8_t byte : data) {
    if (byte == 0x11 || byte == 0x13) continue;
    cooked.push_back(byte == 0x0d ? uint8_t{0x0a} : byte);
  }
  fmt::print("\ndamaged input, fed 65536 bytes at a time\n");
  print_rate("  a tty that is not raw (3 of 256 bytes hit)", cooked.size(), [&] {
    StreamVerifier verifier(shape, VerifierSink{});
    feed(verifier, cooked, 65536);
    verifier.finish();
    if (verifier.totals().single_lost[0x11] == 0) fail("no lost bytes found");
  });
  std::mt19937 random(1);
  std::vector<uint8_t> garbage(64 << 20);
  for (uint8_t& byte : garbage) byte = static_cast<uint8_t>(random());
  print_rate("  64 MB of garbage in a 4 GB run", garbage.size(), [&] {
    StreamVerifier verifier(StreamShape{42, 2048, 1 << 21}, VerifierSink{});
    verifier.feed(data.data(), 1 << 20);
    feed(verifier, garbage, 65536);
    if (!verifier.in_fault()) fail("garbage was not noticed");
  });
  // Worst single fault: bytes that are nowhere, behind a full window: 256 MB are looked through in
  // each direction that the run has.
  print_rate("  one failing search of 256 MB, a MB of it", 256, [&] {
    StreamVerifier verifier(StreamShape{42, 2048, 1 << 21}, VerifierSink{});
    verifier.feed(data.data(), 4096);
    verifier.feed(garbage.data(), 4096);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t megabytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64;
  if (megabytes < 2 || megabytes > 1024) fail("give a size of 2 to 1024 MB");
  fmt::print("verify_speed: {} {}, {}, {}\n{} MB each, CPU time, median of {} runs\n", __VERSION__,
#ifdef __OPTIMIZE__
             "optimised",
#else
             "NOT OPTIMISED: figures mean nothing",
#endif
             MILLRACE_CXX_FLAGS, cpu_name(), megabytes, kRuns);
  clean_streams(megabytes);
  damaged_streams(megabytes);
  return 0;
}
