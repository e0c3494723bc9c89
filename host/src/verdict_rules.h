// SPDX-License-Identifier: Apache-2.0
// The rules of docs/verdicts.md in their three groups; judge() asks them in this order.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "millrace/host/serial_run.h"
#include "millrace/host/text.h"

namespace millrace::host {

// How the run ended: reset, replugged, gone, refused, no answer, not our stream.
std::optional<Verdict> judge_end(const RunResult& r);
// What happened to the bytes: every fault that is not explained by another, most bytes first.
std::optional<Verdict> judge_faults(const RunResult& r);
// The device fell silent.
Verdict timed_out(const RunResult& r);
// Why a clean run was not faster.
Verdict judge_speed(const RunResult& r);

// What one rule found, and how many bytes that is about.
struct Found {
  Verdict verdict;
  uint64_t bytes = 0;
  bool explains_others = false;  // what else was found follows from it, however many bytes that is
};
// Looks at *rest for one kind of fault, and takes what that explains out of it: what later rules
// find there is something else.
using FaultRule = std::optional<Found> (*)(RunResult* rest);

// verdict_losses.cc, in the order of docs/verdicts.md.
std::optional<Found> device_discarded(RunResult* rest);
std::optional<Found> lost(RunResult* rest);
std::optional<Found> lost_on_the_way_out(RunResult* rest);
std::optional<Found> altered_on_the_way_out(RunResult* rest);
std::optional<Found> duplicated_on_the_way_out(RunResult* rest);

// How many faults of a kind there are.
inline uint64_t& fault_count(RunResult* r, link::FaultKind kind) {
  return r->in_totals.faults_of_kind[static_cast<size_t>(kind)];
}
inline uint64_t fault_count(const RunResult& r, link::FaultKind kind) {
  return r.in_totals.faults_of_kind[static_cast<size_t>(kind)];
}

// "1 byte", "1,536 bytes"; "1 place", "3 places".
std::string bytes_text(uint64_t n);
std::string places_text(uint64_t n);
// "pid 812 (cat) also had /dev/ttyACM0 open, ...", of result.other_holders. `one`, `many`: the
// verb.
std::string also_open(const RunResult& r, const char* one = "had", const char* many = "had");
// Text in quotes, else hex.
std::string show_bytes(const uint8_t* bytes, size_t size);

// a - b, at least 0.
inline uint64_t without(uint64_t a, uint64_t b) { return a - std::min(a, b); }

inline Verdict failed(VerdictKind kind, std::string sentence) {
  return {kind, true, std::move(sentence)};
}

}  // namespace millrace::host
