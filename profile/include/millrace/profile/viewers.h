// SPDX-License-Identifier: Apache-2.0
// One profile in the forms of other programs' viewers. Each contains every sample that was not
// idle; inlined calls are frames of their own; callers are there as far as they are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/profile/attribution.h"

namespace millrace::profile {

// `caller;function;inlined 12`, one chain a line: flamegraph.pl, inferno, speedscope.
std::string folded_stacks(ElfIndex* index, const Profile& profile);
// https://www.speedscope.app/file-format-schema.json
std::string speedscope_json(ElfIndex* index, const Profile& profile);
// profile.proto of github.com/google/pprof, gzip-framed.
std::vector<uint8_t> pprof_file(ElfIndex* index, const Profile& profile);
// KCachegrind: events Samples or Cycles, and Stall where it is known; per instruction and line.
std::string callgrind_file(ElfIndex* index, const Profile& profile);
// What `perf script` prints: stackcollapse-perf.pl, the Firefox Profiler.
std::string perf_script(ElfIndex* index, const Profile& profile);

}  // namespace millrace::profile
