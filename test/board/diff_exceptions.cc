// SPDX-License-Identifier: Apache-2.0
// Differential test of the exception model: random programs on the virtual core with its system
// control space and on qemu-system-arm -M mps2-an500, compared record by record: which handlers
// run in which order, their frames, EXC_RETURN, masks, status registers, the stacked FP context.
//
//   diff_exceptions [--seed S] [--images K] [--actions N] [--no-qemu] [--folder DIR]
//
// Each image also runs functional-only and in slices of time. Exit 0: all agree; 1: a difference;
// 2: usage or no qemu.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "cpu/cpu.h"
#include "cpu/system_control_m7.h"
#include "diff_packets.h"
#include "exception_program.h"
#include "memory/rt1062_memory.h"
#include "qemu.h"

namespace millrace::board::diff {
namespace {

using Words = std::vector<uint32_t>;

// ITCM and DTCM of 256 KB each.
bool run_here(const ExceptionProgram& program, bool timed, bool sliced, Words* records) {
  EventQueue events;
  const Timing timing;
  MemoryOptions options;
  options.timing = timed;
  Rt1062Memory memory(options, timing, events);
  SystemControlM7 system(events, memory, timing);
  memory.attach(system, 0xE0000000, 0x100000);
  memory.set_attributes_source(&system);
  memory.set_flexram(7, 0xAAAAFFFF);
  const uint32_t size = static_cast<uint32_t>(program.bytes.size());
  if (!memory.debug_write(0, program.bytes.data(), size)) return false;
  Cpu cpu(memory, system, events, timed ? &timing : nullptr);
  const auto word = [&memory](uint32_t address) {
    uint8_t bytes[4] = {};
    memory.debug_read(address, bytes, 4);
    return load_le(bytes, 4);
  };
  cpu.halting_debug = true;
  cpu.reset();
  cpu.state.r[13] = word(0);
  cpu.set_pc(word(4) & ~1u);
  std::mt19937 random(7);
  CpuStop stop = CpuStop::cycles;
  for (constexpr Cycles kEnd = 100'000'000; stop == CpuStop::cycles && cpu.now() < kEnd;) {
    stop = cpu.run(sliced ? cpu.now() + 1 + random() % 40 : kEnd);
  }
  const uint32_t end = word(kVariables);
  for (uint32_t at = kRecords; at < end && at < 0x20040000; at += 4) records->push_back(word(at));
  if (stop != CpuStop::breakpoint) {
    fmt::print("stopped for reason {} at {:#x} after {} words\n", static_cast<int>(stop), cpu.pc(),
               records->size());
  }
  return stop == CpuStop::breakpoint;
}

size_t piece_of(const ExceptionProgram& program, uint32_t address) {
  const auto& p = program.pieces;
  return static_cast<size_t>(std::upper_bound(p.begin(), p.end(), address) - p.begin());
}

void print_record(const char* name, const Words& words, size_t at) {
  fmt::print("  {}:", name);
  const size_t end = std::min(words.size(), at < words.size() ? at + 1 + (words[at] & 0xFF) : at);
  for (; at < end; ++at) fmt::print(" {:08x}", words[at]);
  fmt::print("\n");
}

// The bits of a record's word that both machines agree on. ICSR.VECTPENDING leaves out what BASEPRI
// and FAULTMASK keep from being taken (B3.2.4); qemu's does not. A new FP context takes
// FPSCR[26:22] from FPDSCR and keeps the exception flags (B1.5.7); qemu's loses them.
uint32_t significant(const uint32_t* record, size_t word) {
  const bool entry = record[0] == (kEntryRecord | kEntryWords);
  const bool exit = record[0] == (kExitRecord | kExitWords);
  if (record[0] == (kExitRecord | kFpExitWords) && word == kFpExitWords - 1) return 0xFFFFFF60;
  if (!(entry && word == kEntryIcsr) && !(exit && word == kExitIcsr)) return 0xFFFFFFFF;
  const uint32_t* masks = record + 1 + (entry ? kEntryMasks : kExitMasks);
  return masks[0] != 0 || masks[2] != 0 ? 0xFFE00FFF : 0xFFFFFFFF;
}

bool compare(const ExceptionProgram& program, const Words& ours, const Words& theirs) {
  size_t at = 0;
  size_t before = 0;
  while (at < ours.size() || at < theirs.size()) {
    bool same = at < ours.size() && at < theirs.size() && ours[at] == theirs[at];
    const size_t count = same ? ours[at] & 0xFF : 0;
    same = same && at + count < ours.size() && at + count < theirs.size();
    for (size_t k = 0; same && k < count; ++k) {
      const uint32_t a = ours[at + 1 + k];
      const uint32_t b = theirs[at + 1 + k];
      const bool is_pc = ours[at] >> 24 == kEntryRecord >> 24 && k == kEntryFramePc;
      same = is_pc ? piece_of(program, a) == piece_of(program, b)
                   : ((a ^ b) & significant(&ours[at], k)) == 0;
    }
    if (!same) {
      print_record("before", ours, before);
      print_record("ours  ", ours, at);
      print_record("qemu  ", theirs, at);
      return false;
    }
    before = at;
    at += 1 + count;
  }
  return true;
}

struct Arguments {
  uint64_t seed = 1;
  unsigned images = 1;
  unsigned actions = 250;
  bool qemu = true;
  std::string folder = "diff_exceptions.out";
};

bool parse(int argc, char** argv, Arguments* a) {
  for (int k = 1; k < argc; ++k) {
    const std::string name = argv[k];
    if (name == "--no-qemu") {
      a->qemu = false;
    } else if (k + 1 < argc && name == "--seed") {
      a->seed = std::strtoull(argv[++k], nullptr, 0);
    } else if (k + 1 < argc && name == "--images") {
      a->images = static_cast<unsigned>(std::strtoul(argv[++k], nullptr, 0));
    } else if (k + 1 < argc && name == "--actions") {
      a->actions = static_cast<unsigned>(std::strtoul(argv[++k], nullptr, 0));
    } else if (k + 1 < argc && name == "--folder") {
      a->folder = argv[++k];
    } else {
      return false;
    }
  }
  return a->actions >= 1 && a->actions <= 400;
}

int run(int argc, char** argv) {
  Arguments a;
  if (!parse(argc, argv, &a)) {
    fmt::print(stderr,
               "usage: diff_exceptions [--seed S] [--images K] [--actions 1..400] [--no-qemu] "
               "[--folder DIR]\n");
    return 2;
  }
  std::filesystem::create_directories(a.folder);
  size_t entries = 0;
  for (unsigned k = 0; k < a.images; ++k, ++a.seed) {
    const ExceptionProgram program = generate_exceptions(a.seed, a.actions);
    Words ours;
    bool ok = run_here(program, true, false, &ours);
    for (const bool timed : {false, true}) {
      Words other;
      ok = ok && run_here(program, timed, timed, &other) && compare(program, ours, other);
    }
    if (!ok) {
      fmt::print("seed {}: timing or slicing changes the result, or it does not end\n", a.seed);
      return 1;
    }
    entries +=
        static_cast<size_t>(std::count(ours.begin(), ours.end(), kEntryRecord | kEntryWords));
    if (!a.qemu) continue;
    Words theirs;
    if (!run_on_qemu(program.bytes, a.folder, &theirs)) return 2;
    if (!compare(program, ours, theirs)) {
      fmt::print("seed {}: differs\n", a.seed);
      return 1;
    }
  }
  fmt::print("{} images, {} exceptions taken: agree\n", a.images, entries);
  return 0;
}

}  // namespace
}  // namespace millrace::board::diff

int main(int argc, char** argv) { return millrace::board::diff::run(argc, argv); }
