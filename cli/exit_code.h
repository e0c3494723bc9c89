// SPDX-License-Identifier: Apache-2.0
// What the program's exit code says.
#pragma once

#include "millrace/host/result.h"
#include "millrace/host/serial_run.h"

namespace millrace::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;  // the measured thing failed, or output could not be written
inline constexpr int kUsage = 2;   // an option, a value or a name that cannot be right
inline constexpr int kGone = 3;    // the device cannot be opened, or went away
inline constexpr int kInterrupted = 130;

// Of an error met while a port was looked for, opened or made ready.
int exit_code(const host::Error& error);
// Of a finished run.
int exit_code(const host::RunResult& result);
// The user ended it (Ctrl-C) and it had no fault until then: it neither passed nor failed.
bool cut_short(const host::RunResult& result);
// Of several runs: interrupted, then gone, then failed, then ok.
int worse(int a, int b);

// The line of a report without figures: Ctrl-C came before `what`.
std::string interrupted_before(const std::string& what);

// Prints `millrace: <sentence>` on stderr and returns exit_code(error).
int fail(const host::Error& error);

}  // namespace millrace::cli
