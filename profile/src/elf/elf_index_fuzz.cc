// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ELF with symbols and DWARF: an index whose every answer holds its promises, or
// one sentence. An input may be followed by a map file behind the mark `MAP:`.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "millrace/profile/memory_report.h"
#include "millrace/profile/viewers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::profile;
  static constexpr char kMark[] = {'M', 'A', 'P', ':'};
  const uint8_t* const end = data + size;
  const uint8_t* const mark = std::search(data, end, std::begin(kMark), std::end(kMark));
  const std::string map(mark == end ? end : mark + sizeof kMark, end);
  ElfIndex index;
  const Failure failure =
      ElfIndex::parse("fuzz", {data, mark}, map.empty() ? "" : "fuzz.map", map, &index);
  if (failure) {
    if (failure->message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  SampleSet samples;
  samples.has_lr = true;
  const auto look = [&](uint32_t pc) {
    Sample sample;
    sample.pc = pc & ~1u;
    sample.lr = pc | 1;
    samples.samples.push_back(sample);
    const Location at = index.locate(sample.pc);
    if (at.function != kNone && (at.function >= index.functions().size() || at.frames.empty())) {
      std::abort();
    }
    for (const Frame& frame : at.frames) {
      if (frame.name >= index.names().size()) std::abort();
      if (frame.at.file != kNone && frame.at.file >= index.files().size()) std::abort();
    }
  };
  uint32_t last = 0;
  for (const Function& function : index.functions()) {
    if (function.start < last) std::abort();
    last = function.start;
    if (samples.samples.size() > 2000) break;
    look(function.start);
    look(function.start + function.size / 2);
  }
  for (const uint32_t pc : {0u, 0x20000000u, 0x60000000u, 0xFFFFFFFEu}) look(pc);
  Target target;
  if (find_target("", index, &target)) std::abort();
  report_memory(index, target, nullptr);
  ProfileOptions options;
  options.accept_mismatch = true;
  Profile profile;
  if (attribute(&index, samples, target, options, &profile)) std::abort();
  uint64_t sum = 0;
  for (const FunctionRow& row : profile.functions) sum += row.weight;
  if (sum != profile.busy()) std::abort();
  folded_stacks(&index, profile);
  callgrind_file(&index, profile);
  return 0;
}
