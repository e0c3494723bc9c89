// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program: its calls, its start-up code and every check come to an end, and what
// they say refers to what is there. An input may be followed by a list behind the mark `LIST:`.
#include "millrace/placement/check.h"

#include <algorithm>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::profile;
  using namespace millrace::placement;
  static constexpr char kMark[] = {'L', 'I', 'S', 'T', ':'};
  const uint8_t* const end = data + size;
  const uint8_t* const mark = std::search(data, end, std::begin(kMark), std::end(kMark));
  ElfIndex index;
  if (ElfIndex::parse("fuzz", {data, mark}, "", "", &index)) return 0;
  PlacementList list;
  const std::string text(mark == end ? end : mark + sizeof kMark, end);
  if (parse_list("fuzz.list", text, &list)) return 0;
  const CallGraph graph = CallGraph::build(index);
  for (const CallEdge& edge : graph.edges()) {
    if (edge.from >= index.functions().size() || edge.to >= index.functions().size()) std::abort();
  }
  Target target;
  if (find_target("teensy41", index, &target)) std::abort();
  CheckOptions options;
  options.list = &list;
  options.budget = 1000;
  options.before = &index;
  CheckReport report;
  const Failure failure = check(&index, target, options, &report);
  if (failure) {
    if (failure->message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  if (report.fast.functions + report.fast.veneers + report.fast.data + report.fast.padding !=
      report.fast.bytes) {
    std::abort();
  }
  for (const CheckResult& one : report.checks) {
    if (one.name.empty() || one.summary.empty()) std::abort();
  }
  return 0;
}
