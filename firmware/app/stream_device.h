// SPDX-License-Identifier: Apache-2.0
// The measuring device of spec/classic_stream.md and spec/stream.md over a Port. No heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/port/port.h"
#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"
#include "millrace/link/stream_verifier.h"

namespace millrace::firmware {

struct StreamDeviceOptions {
  uint32_t classic_seed = link::kDefaultSeed;  // RUN carries its own
  const char* firmware_name = "millrace-stream";
  const char* firmware_version = "0.1.0";
  bool classic_only = false;  // behaves as the published harness's device: for tests of the host
};

class StreamDevice {
 public:
  StreamDevice(Port& port, const StreamDeviceOptions& options);
  // One bounded step: takes what was received, sends at most one write() of data. Call in a loop.
  void poll();
  bool run_active() const;
  const link::DeviceCounters& counters() const;
};

}  // namespace millrace::firmware
