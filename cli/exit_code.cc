// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

#include "cli/print.h"

namespace millrace::cli {

using host::ErrorCode;
using host::RunEnd;

int exit_code(const host::Error& error) {
  switch (error.code) {
    case ErrorCode::usage:
    case ErrorCode::not_a_port:
    case ErrorCode::unsupported:
      return kUsage;
    case ErrorCode::not_found:
    case ErrorCode::permission:
    case ErrorCode::busy:
    case ErrorCode::gone:
      return kGone;
    case ErrorCode::interrupted:
      return kInterrupted;
    case ErrorCode::timeout:
    case ErrorCode::protocol:
    case ErrorCode::no_space:
    case ErrorCode::io:
      return kFailed;
  }
  return kFailed;
}

int exit_code(const host::RunResult& result) {
  if (result.end == RunEnd::interrupted) return kInterrupted;
  // Whether it came back, and whether it had started anew then, the verdict says.
  if (result.end == RunEnd::gone || result.replug_ns != 0) return kGone;
  return result.failed() ? kFailed : kOk;
}

bool cut_short(const host::RunResult& result) {
  return result.verdict.kind == host::VerdictKind::interrupted;
}

int worse(int a, int b) {
  for (const int code : {kInterrupted, kGone, kUsage, kFailed}) {
    if (a == code || b == code) return code;
  }
  return kOk;
}

std::string interrupted_before(const std::string& what) {
  return "interrupted before " + what + ": nothing was measured\n";
}

int fail(const host::Error& error) {
  print(stderr, "millrace: {}\n", printable_sentence(error.message));
  return exit_code(error);
}

}  // namespace millrace::cli
