// SPDX-License-Identifier: Apache-2.0
// Samples of the program counter: the file of spec/sample_file.md both ways, and importers for what
// other samplers write.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "millrace/profile/error.h"

namespace millrace::profile {

inline constexpr size_t kMaxSampleFileBytes = size_t{1} << 30;

// PC values that stand for no address.
inline constexpr uint32_t kPcSleeping = 0xFFFFFFFE;  // the sampler says that the core slept

struct Sample {
  uint32_t pc = 0;         // of the interrupted instruction, Thumb bit cleared
  uint32_t lr = 0;         // as stored, Thumb bit included; 0: not taken
  uint16_t exception = 0;  // xPSR exception number; 0: thread mode, or not taken
  uint32_t weight = 1;     // in SampleSet::unit
  uint32_t stall = 0;      // of these, waiting for memory; where the source knows it (a trace)
};

enum class WeightUnit : uint8_t { samples = 0, cycles = 1 };

// A call stack, innermost first; the sample with the same number has its PC and weight.
struct SampleStack {
  uint32_t sample = 0;
  std::vector<uint32_t> callers;  // return addresses
};

// What a source knows by name only (orbtop's and probe-rs's tables).
struct NamedSample {
  std::string name;
  uint64_t count = 0;
};

enum class IdentityKind : uint8_t { none = 0, build_id = 1, image_hash = 2 };

// Which program was sampled (spec/sample_file.md, "Identity").
struct Identity {
  IdentityKind kind = IdentityKind::none;
  std::vector<uint8_t> bytes;  // at most 32
  std::string text() const;    // "build ID 0123..." or "image hash ..." or "none"
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct SampleSet {
  std::string path;
  std::string format;  // "sample file", "raw u32", ...
  bool has_lr = false;
  bool has_exception = false;
  WeightUnit unit = WeightUnit::samples;
  bool has_stall = false;        // Sample::stall is known
  uint32_t core_khz = 0;         // 0: unknown
  uint32_t interval_cycles = 0;  // mean distance of two samples; 0: unknown
  uint32_t jitter_permille = 0;  // the distance is uniform in mean +- this
  uint64_t lost = 0;             // samples that found the buffer full
  uint64_t overruns = 0;         // samples not taken: interrupts were locked out
  uint64_t run_cycles = 0;       // from start to stop; 0: unknown
  uint64_t handler_cycles = 0;   // spent in the sampler, all samples together; 0: unknown
  uint64_t events = 0;           // of the workload within the run; 0: unknown
  Identity identity;
  std::vector<Sample> samples;
  std::vector<SampleStack> stacks;
  std::vector<NamedSample> named;
  std::vector<std::string> notes;  // what was left out and why, one sentence each
};

enum class SampleFormat {
  automatic,
  sample_file,
  raw_u32,      // little-endian PCs
  raw_pc_lr,    // little-endian PC, LR pairs
  raw_callers,  // little-endian PC, LR, exception number: a sampler's buffer of mode callers
  hex_text,     // PC [LR [exception]] in hex, one a line; gdb's x/ output
  orbuculum,    // the hardware event channel of orbfifo, orbtop's JSON
  probe_rs,     // the table of `probe-rs profile`
  zephyr_perf,  // what the shell's `perf printbuf` prints
  gmon,         // gmon.out, 32 bits, little-endian
  trace,        // spec/trace.md: weights are cycles
};

const char* name_of(SampleFormat format);
// The inverse; false if there is no such format.
bool format_of(const std::string& name, SampleFormat* out);
// Every name, in the order above.
std::vector<std::string> format_names();

struct ReadOptions {
  SampleFormat format = SampleFormat::automatic;
  bool accept_partial = false;  // a file that is cut off: use what is there, with a note
};

// Reads `bytes`, the content of the file `path`. On failure *out is unspecified.
Failure parse_samples(const std::string& path, std::span<const uint8_t> bytes,
                      const ReadOptions& options, SampleSet* out);
Failure read_samples(const std::string& path, const ReadOptions& options, SampleSet* out);

// The file of spec/sample_file.md. Weights that are all 1 and absent LR and exceptions take no
// room. Stacks and names are not stored.
std::vector<uint8_t> sample_file(const SampleSet& samples);

}  // namespace millrace::profile
