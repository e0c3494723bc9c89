// SPDX-License-Identifier: Apache-2.0
// From the first byte of a run to its end: who reads, who writes, and when it is over.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "millrace/host/serial_run.h"

namespace millrace::host {

struct SessionStart {
  uint32_t run_id = 0;   // 0: classic protocol
  int64_t start_ns = 0;  // when the run was asked for
  // What came behind STARTED, and when.
  std::span<const uint8_t> rest{};
  int64_t rest_arrival_ns = 0;
};

struct SessionEnd {
  RunEnd end = RunEnd::complete;
  std::string detail;
  // Classic, and the device turns out to be one of ours: HELLO came after the wait for it.
  bool is_late_hello = false;
};

// Fills every measured figure of *result but leaves end, end_detail and the verdict to the caller.
// When it returns no thread of its own is left and the transport may be used again.
SessionEnd run_session(Transport& transport, const RunSettings& settings, const RunHooks& hooks,
                       const SessionStart& start, RunResult* result);

// Adds the processes that have the port open too to *result. It takes a look at every process, so
// only where they matter.
void note_holders(Transport& transport, RunResult* result);

// Foreign bytes that no stream was expected around, in the form of a verifier's fault.
link::Fault foreign_fault(std::span<const uint8_t> bytes);

}  // namespace millrace::host
