// SPDX-License-Identifier: Apache-2.0
// The result file of spec/result.md. Includes all of nlohmann/json.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/invocation.h"
#include "cli/json.h"
#include "cli/statistics.h"
#include "millrace/host/histogram.h"
#include "millrace/host/ports.h"
#include "millrace/host/serial_run.h"

namespace millrace::cli {

// The members that every result file has; the caller adds its own. `command`: "serial bench".
Json result_document(const std::string& command, const Invocation& invocation);

Json to_json(const host::RunResult& result);
Json to_json(const host::RunSettings& settings);
Json to_json(const host::Verdict& verdict);
Json to_json(const host::PortIdentity& port);
Json to_json(const host::DoctorReport& report);
Json to_json(const Statistics& statistics);
Json histogram_json(const host::Histogram& histogram);

// With a line end; text that is no UTF-8 is kept readable instead of failing.
std::string file_text(const Json& document);

}  // namespace millrace::cli
