// SPDX-License-Identifier: Apache-2.0
// What the parts of place() and evict() share: candidates, what they cost, and what is left of the
// waiting when some of them have moved.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/placement/place.h"
#include "millrace/profile/call_graph.h"
#include "value/fetch_model.h"
#include "value/trace_sim.h"

namespace millrace::placement {

using Chosen = std::vector<bool>;  // by candidate

struct Workspace {
  const ElfIndex* index = nullptr;
  Units units;
  profile::CallGraph graph;
  FetchInput input;
  std::unique_ptr<FetchModel> model;
  std::unique_ptr<TraceSim> sim;  // null: no trace
  uint32_t region_start = 0;      // of the fast memory
  uint32_t veneer_bytes = 8;
  std::vector<Candidate> candidates;
  std::vector<uint32_t> candidate_of;  // by unit; kNone

  std::vector<bool> moved(const Chosen& chosen) const;
  uint64_t bytes(const Chosen& chosen) const;
  // For calls from what is chosen to what is not and is out of a branch's reach.
  uint64_t veneers(const Chosen& chosen) const;
  uint64_t total(const Chosen& chosen) const { return bytes(chosen) + veneers(chosen); }
  // Weight that waits for instructions then.
  double stall(const Chosen& chosen) const;
  // By candidate: what moving it as well would save.
  std::vector<double> marginal(const Chosen& chosen) const;
  // Work of one stall(), in steps of some nanoseconds.
  uint64_t steps() const;
};

// Names of the user, looked up: by unit. Fails for one that is not in the program.
Failure units_named(const std::vector<std::string>& lines, const std::string& option,
                    ElfIndex* index, const Units& units, std::vector<bool>* out);

}  // namespace millrace::placement
