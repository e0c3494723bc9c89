// SPDX-License-Identifier: Apache-2.0
// Sends ICMP echo requests: over a datagram socket of ICMP, without root, or over a raw one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "millrace/capture/time_statistics.h"
#include "millrace/host/result.h"

namespace millrace::capture {

struct PingOptions {
  std::string address;  // IPv4, dotted
  uint32_t count = 300;
  uint32_t interval_ms = 10;
  uint32_t timeout_ms = 1000;  // for the last answer
  size_t payload_bytes = 56;
};

struct PingResult {
  std::string address;
  uint32_t sent = 0, answered = 0;
  TimeDistribution rtt;  // as this program saw it
  std::string trouble;   // why fewer were sent than asked for; empty: nothing was in the way
};

class Pinger {
 public:
  virtual ~Pinger() = default;
  // Until all are sent and answered, or `stop` is true.
  virtual PingResult run(const std::atomic<bool>& stop) = 0;
};

// Errors: usage (no address), permission (says which sysctl), unsupported (not on Linux), io.
host::Result<std::unique_ptr<Pinger>> open_pinger(const PingOptions& options);

}  // namespace millrace::capture
