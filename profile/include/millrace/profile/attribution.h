// SPDX-License-Identifier: Apache-2.0
// Where the samples of a run fell: by memory, library, file, function, line and inlined call.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/profile/elf_index.h"
#include "millrace/profile/error.h"
#include "millrace/profile/samples.h"
#include "millrace/profile/target.h"

namespace millrace::profile {

// An interval that holds the true share with 95 % probability (Wilson 1927): `hits` of `total`
// independent samples. {0, 1} for total 0.
struct Interval {
  double low = 0, high = 1;
};
Interval wilson_interval(double hits, double total);

struct ProfileOptions {
  uint64_t events = 0;                      // of the workload within the run; 0: as the samples say
  double events_per_s = 0;                  // instead: the steady rate of the workload
  uint32_t core_khz = 0;                    // 0: as the samples say
  uint32_t interval_cycles = 0;             // 0: as the samples say
  std::vector<std::string> idle_functions;  // counted as idle, whatever they do
  bool accept_mismatch = false;  // samples of another program, or most of them outside its code
};

// Weight is in samples or in cycles (SampleSet::unit).
struct Weight {
  uint64_t weight = 0;
  uint64_t stall = 0;  // of these, waiting for memory
};

struct NamedRow : Weight {
  std::string name;
};

struct FunctionRow : Weight {
  uint32_t function = kNone;  // kNone: code without a symbol
  std::string name;           // readable, with its file where the name is not unique
  std::string file, library, memory;
  uint32_t line = 0;
  uint32_t start = 0, size = 0;
  uint32_t lines_executed = 0;  // distinct cache lines
  uint64_t in_handlers = 0;     // weight while an exception was active
};

struct SourceLineRow : Weight {
  std::string file;  // full path
  uint32_t line = 0;
  std::string function;  // the innermost, inlined ones included
};

struct InlineRow {
  std::string name;
  uint64_t self = 0;    // execution stood in it
  uint64_t total = 0;   // in it or in what was inlined into it
  uint32_t places = 0;  // functions that it was inlined into
};

struct CallerRow : Weight {
  std::string callee, caller;
  std::string file;  // of the call
  uint32_t line = 0;
};

// What the link register was worth, by weight.
struct CallerQuality {
  uint64_t known = 0;      // the caller
  uint64_t saved = 0;      // on the stack: not known
  uint64_t no_unwind = 0;  // no unwind information
  uint64_t exception = 0;  // an exception handler's first function
};

struct CacheUse {
  TargetCache cache;
  uint64_t lines = 0;                   // distinct lines executed from cached memory
  std::vector<uint32_t> sets_by_lines;  // [n]: sets that have n of them; the last: n or more
  uint64_t lines_over = 0;              // lines beyond what their set holds
  uint64_t weight = 0;                  // of all lines executed from cached memory
  uint64_t weight_over = 0;             // of lines in sets that have more lines than ways
  bool fits() const { return lines_over == 0; }
};

// Samples with one place and one chain of callers, together.
struct StackSample : Weight {
  uint32_t pc = 0;
  uint16_t exception = 0;
  std::vector<uint32_t> callers;  // return addresses, innermost first; Thumb bit cleared
};

struct Profile {
  std::string elf_path, samples_path, samples_format;
  Target target;
  WeightUnit unit = WeightUnit::samples;
  bool has_stall = false, has_callers = false, has_exceptions = false;
  uint64_t total = 0;    // all weight, idle included
  uint64_t idle = 0;     // waiting for an interrupt
  uint64_t outside = 0;  // in no section of the ELF
  uint64_t lost = 0;
  uint64_t overruns = 0;  // samples not taken: interrupts were locked out
  uint64_t stall = 0;
  uint32_t core_khz = 0, interval_cycles = 0;
  uint64_t events = 0;
  double handler_share = 0;  // of the run, spent in the sampler; 0: unknown
  std::optional<double> cycles_per_event;
  uint64_t busy() const { return total - idle; }

  // Each sorted by weight, the largest first. Shares are of busy().
  std::vector<NamedRow> memories, sections, libraries, files, exceptions;
  std::vector<FunctionRow> functions;
  std::vector<SourceLineRow> lines;
  std::vector<InlineRow> inlines;
  std::vector<CallerRow> callers;
  CallerQuality caller_quality;
  std::optional<CacheUse> cache;
  uint64_t lines_executed = 0;  // distinct lines of 32 bytes, or of the cache's size, everywhere
  std::vector<StackSample> stacks;  // sorted by pc; without idle
  std::vector<std::string> notes;

  double share(uint64_t weight) const {
    return busy() == 0 ? 0 : static_cast<double>(weight) / static_cast<double>(busy());
  }
  // Of a share of busy(); no interval for exact weights.
  std::optional<Interval> interval(uint64_t weight) const;
  std::optional<double> cycles_of(uint64_t weight) const;
};

// `index` gets the names of inlined functions. Fails if the samples are of another program.
Failure attribute(ElfIndex* index, const SampleSet& samples, const Target& target,
                  const ProfileOptions& options, Profile* out);

// "thread", "SysTick", "IRQ 113": of an xPSR exception number.
std::string exception_name(uint16_t number);

// What changed between two profiles, of one program or of two builds: functions are matched by name
// and file.
struct DiffRow {
  std::string name, file;
  std::string memory_before, memory_after;  // empty: not there
  double share_before = 0, share_after = 0;
  std::optional<double> cycles_before, cycles_after;  // per event, where both are known
  bool is_significant = false;                        // more than sampling noise at 95 %
  double change() const;  // what it is sorted by: cycles if known, else share
};

struct ProfileDiff {
  std::optional<double> cycles_before, cycles_after;
  double busy_before = 0, busy_after = 0;  // share of the run
  std::vector<DiffRow> functions;          // the largest change first
};

ProfileDiff compare(const Profile& before, const Profile& after);

}  // namespace millrace::profile
