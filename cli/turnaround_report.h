// SPDX-License-Identifier: Apache-2.0
// What `millrace turnaround` says of a capture.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/terminal.h"
#include "millrace/capture/capture_analysis.h"
#include "millrace/capture/pinger.h"

namespace millrace::cli {

struct TurnaroundView {
  std::string name;          // of the capture, as typed
  bool all_devices = false;  // details of each, not of the first alone
};

std::string turnaround_report(const capture::CaptureAnalysis& analysis, const TurnaroundView& view,
                              const Colour& colour);
// The members of the result file.
void add_turnaround_json(const capture::CaptureAnalysis& analysis, Json* document);

Json pings_json(const capture::PingResult& pings);

std::string device_name(capture::DeviceKey key);  // 1.5: bus and address
std::string endpoint_name(uint8_t endpoint);      // OUT 2, IN 2
// 62, 62.3: cut to the 100 ns to which quantiles are known, so that all times of a report agree.
std::string microseconds(double nanoseconds);
// EPIPE (stalled): of an errno of Linux, negative.
std::string urb_status_name(int32_t status);

}  // namespace millrace::cli
