// SPDX-License-Identifier: Apache-2.0
// The situations in which links are known to lose data, one phase each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/link_options.h"
#include "cli/table.h"

namespace millrace::cli {

// The names of all phases, in the order in which they run: long, burst, boundary, reopen, replug.
const std::vector<std::string>& soak_phases();

struct SoakPlan {
  std::vector<std::string> phases = soak_phases();
  bool quick = false;  // a short version of each phase
  host::RunSettings settings;
};

// What the replug phase needs of its surroundings.
struct Replugger {
  // The endpoint to run on; during that run the device goes away and comes back.
  std::function<host::Result<std::unique_ptr<host::Endpoint>>()> endpoint;
  // Why the phase cannot run here; empty if it can.
  std::string impossible;
};

enum class SoakStatus { passed, failed, not_run, interrupted };

struct SoakPhase {
  std::string name;
  SoakStatus status = SoakStatus::passed;
  size_t runs = 0;
  size_t failed_runs = 0;
  uint64_t bytes = 0;  // verified
  int64_t duration_ns = 0;
  std::string telling_run;               // `in, 512 B, ack each`: the first that failed
  std::optional<host::Verdict> verdict;  // its verdict, or else the last run's
  std::vector<std::string> notes;        // faults of failed runs (at most 5), what was left out
};

struct SoakResult {
  std::vector<SoakPhase> phases;
  std::optional<host::PortIdentity> port;
  std::optional<host::Error> error;  // what ended the soak
  int code = 0;
};

// Runs the phases of `plan` one after the other. Ends early when interrupted, when the device is
// gone for good, does not answer, or with an error. `label` is told what runs now.
SoakResult run_soak(host::Endpoint& endpoint, const SoakPlan& plan, const Replugger& replugger,
                    const Runner& runner, const host::RunHooks& hooks,
                    const std::function<void(const std::string&)>& label);

// The sizes of the boundary phase: one below, at and above multiples of the packet sizes 64 and
// 512, up to `max_bytes`.
std::vector<uint32_t> boundary_sizes(bool quick, uint32_t max_bytes);

Table soak_table(const SoakResult& soak);
std::string soak_notes(const SoakResult& soak);
Json to_json(const SoakResult& soak);

}  // namespace millrace::cli
