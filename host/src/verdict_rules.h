// SPDX-License-Identifier: Apache-2.0
// The rules of docs/verdicts.md in their three groups; judge() asks them in this order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/host/serial_run.h"

namespace millrace::host {

// How the run ended: reset, replugged, gone, refused, no answer, not our stream.
std::optional<Verdict> judge_end(const RunResult& r);
// What happened to the bytes.
std::optional<Verdict> judge_faults(const RunResult& r);
// Why a clean run was not faster.
Verdict judge_speed(const RunResult& r);

// 1536 -> "1,536".
std::string grouped(uint64_t n);
// "1 byte", "1,536 bytes"; "1 place", "3 places".
std::string bytes_text(uint64_t n);
std::string places_text(uint64_t n);
// "a, b".
std::string joined(const std::vector<std::string>& list);
// "pid 812 (cat) also has /dev/ttyACM0 open, ...", of result.other_holders.
std::string also_open(const RunResult& r);
// Text in quotes, else hex.
std::string show_bytes(const uint8_t* bytes, size_t size);

inline Verdict failed(VerdictKind kind, std::string sentence) {
  return {kind, true, std::move(sentence)};
}

}  // namespace millrace::host
