// SPDX-License-Identifier: Apache-2.0
// Differential test of the core: random packets on the virtual core and on qemu-system-arm -M
// mps2-an500 (a Cortex-M7), compared record by record.
//
//   diff_cpu [--seed S] [--packets N] [--images K] [--fp] [--no-qemu] [--folder DIR]
//
// Each image is also run in random slices of time and without the fast path to memory, which must
// change nothing. Exit 0: all agree; 1: a difference, printed with its disassembly; 2: usage or no
// qemu.
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "cpu/testing/fake_board.h"
#include "diff_packets.h"
#include "qemu.h"

namespace millrace::board::diff {
namespace {

constexpr uint32_t kRam = 4u << 20;

struct Run {
  std::vector<uint32_t> records;
  uint64_t digest = 0;
  Cycles cycles = 0;
  uint64_t instructions = 0;
  bool finished = false;
};

struct Mode {
  bool sliced = false;
  bool fast = true;
  bool timing = true;
};

Run run_here(const Image& image, const Mode& mode) {
  testing::FlatMemory memory;
  memory.add(0, kRam);
  memory.add(0x20000000, kRam);
  memory.fast = mode.fast;
  testing::FakeSystem system;
  EventQueue events;
  const Timing timing;
  Cpu cpu(memory, system, events, mode.timing ? &timing : nullptr);
  std::memcpy(memory.at(0, kRam), image.bytes.data(), image.bytes.size());
  cpu.state.r[13] = memory.word(0);
  cpu.set_pc(memory.word(4) & ~1u);
  cpu.halting_debug = true;
  CpuStop stop = CpuStop::cycles;
  if (mode.sliced) {
    std::mt19937 random(7);
    while (stop == CpuStop::cycles) {
      stop = cpu.run(cpu.now() + 1 + random() % 40);
    }
  } else {
    stop = cpu.run(kNever);
  }
  Run run;
  run.finished = stop == CpuStop::breakpoint;
  const uint32_t end = memory.word(kVariables);
  for (uint32_t a = kRecords; a < end && a < kRecords + kRam / 2 + kRam / 4; a += 4) {
    run.records.push_back(memory.word(a));
  }
  run.digest = cpu.trace_digest();
  run.cycles = cpu.now();
  run.instructions = cpu.instructions();
  return run;
}

std::string word_name(unsigned k) {
  if (k < 13) {
    return fmt::format("r{}", k);
  }
  constexpr const char* kNames[] = {"lr", "sp", "apsr", "memory", "fpscr"};
  return k < 18 ? kNames[k - 13] : fmt::format("s{}", k - 18);
}

// The packet's code, and every word of its record that differs.
void explain(const Image& image, const Run& ours, const Run& theirs, size_t packet,
             const std::string& folder) {
  const unsigned words = image.record_words;
  fmt::print("packet {}, at {:#x}\n", packet, image.packet_address[packet]);
  const std::string command = fmt::format(
      "arm-none-eabi-objdump -D -z -b binary -m arm -M force-thumb --start-address={:#x} "
      "--stop-address={:#x} '{}/image.bin' | tail -n +8",
      image.packet_address[packet], image.packet_address[packet + 1], folder);
  std::fflush(stdout);
  if (std::system(command.c_str()) != 0) {
    fmt::print("(no disassembly)\n");
  }
  for (unsigned k = 0; k < words; ++k) {
    const auto value = [&](const Run& run, size_t p) {
      const size_t at = p * words + k;
      return at < run.records.size() ? fmt::format("{:08x}", run.records[at]) : "-";
    };
    const bool differs = value(ours, packet) != value(theirs, packet);
    fmt::print("  {:6} before {}  ours {}  qemu {}{}\n", word_name(k),
               packet > 0 ? value(theirs, packet - 1) : "-", value(ours, packet),
               value(theirs, packet), differs ? "  <==" : "");
  }
}

bool compare(const Image& image, const Run& ours, const Run& theirs, const std::string& folder) {
  const unsigned words = image.record_words;
  const size_t packets = image.packet_address.size() - 1;
  for (size_t p = 0; p < packets; ++p) {
    for (size_t at = p * words; at < (p + 1) * words; ++at) {
      if (at >= ours.records.size() || at >= theirs.records.size() ||
          ours.records[at] != theirs.records[at]) {
        explain(image, ours, theirs, p, folder);
        return false;
      }
    }
  }
  return ours.finished;
}

struct Arguments {
  Options options;
  unsigned images = 1;
  bool qemu = true;
  std::string folder = "diff_cpu.out";
};

bool parse(int argc, char** argv, Arguments* a) {
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    if (name == "--fp") {
      a->options.fp = true;
    } else if (name == "--no-qemu") {
      a->qemu = false;
    } else if (k + 1 < argc && name == "--seed") {
      a->options.seed = std::strtoull(argv[++k], nullptr, 0);
    } else if (k + 1 < argc && name == "--packets") {
      a->options.packets = static_cast<unsigned>(std::strtoul(argv[++k], nullptr, 0));
    } else if (k + 1 < argc && name == "--images") {
      a->images = static_cast<unsigned>(std::strtoul(argv[++k], nullptr, 0));
    } else if (k + 1 < argc && name == "--folder") {
      a->folder = argv[++k];
    } else {
      return false;
    }
  }
  return a->options.packets >= 1 && a->options.packets <= 14000;
}

int run(int argc, char** argv) {
  Arguments a;
  if (!parse(argc, argv, &a)) {
    fmt::print(stderr,
               "usage: diff_cpu [--seed S] [--packets 1..14000] [--images K] [--fp] [--no-qemu] "
               "[--folder DIR]\n");
    return 2;
  }
  std::filesystem::create_directories(a.folder);
  uint64_t executed = 0;
  for (unsigned k = 0; k < a.images; ++k, ++a.options.seed) {
    const Image image = generate(a.options);
    const Run ours = run_here(image, {});
    executed += image.instructions;
    for (const Mode& mode : {Mode{.sliced = true}, Mode{.fast = false}, Mode{.timing = false}}) {
      const Run other = run_here(image, mode);
      const bool same_time =
          !mode.timing || (other.digest == ours.digest && other.cycles == ours.cycles);
      if (other.records != ours.records || other.instructions != ours.instructions || !same_time) {
        fmt::print("seed {}: sliced={} fast={} timing={} changes the result\n", a.options.seed,
                   mode.sliced, mode.fast, mode.timing);
        fmt::print("  instructions {} {}, cycles {} {}\n", ours.instructions, other.instructions,
                   ours.cycles, other.cycles);
        return 1;
      }
    }
    if (!a.qemu) {
      continue;
    }
    Run theirs;
    if (!run_on_qemu(image.bytes, a.folder, &theirs.records)) {
      return 2;
    }
    if (!compare(image, ours, theirs, a.folder)) {
      fmt::print("seed {}: differs\n", a.options.seed);
      return 1;
    }
  }
  fmt::print("{} images, {} packets each, {} instructions: agree\n", a.images, a.options.packets,
             executed);
  return 0;
}

}  // namespace
}  // namespace millrace::board::diff

int main(int argc, char** argv) { return millrace::board::diff::run(argc, argv); }
