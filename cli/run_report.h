// SPDX-License-Identifier: Apache-2.0
// One run's result, for people. Result first, then what it rests on. At most 100 columns.
#pragma once

#include <string>

#include "cli/terminal.h"
#include "millrace/host/serial_run.h"

namespace millrace::cli {

// True for a PTY of this machine: its figures say nothing about USB.
bool is_pty(const host::PortIdentity& port);

// Path and what the system says about it: `/dev/ttyACM0, USB 480 Mbit/s, 16c0:0483`.
std::string port_line(const host::PortIdentity& port);

// `36.9 MB/s of 53.248 MB/s, 9.0 of 13 packets per microframe`, without a line end.
std::string rate_sentence(const host::RunResult& result);

// The whole report, several lines.
std::string run_report(const host::RunResult& result, const Colour& colour);

// Stable names, as in the result file.
const char* verdict_name(host::VerdictKind kind);
const char* end_name(host::RunEnd end);
const char* protocol_name(host::Protocol protocol);

}  // namespace millrace::cli
