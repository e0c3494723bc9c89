// SPDX-License-Identifier: Apache-2.0
// What a link did, for people and as JSON (spec/result.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/json.h"
#include "millrace/host/link_session.h"

namespace millrace::cli {

struct LinkRun {
  std::string direction;                 // in, out
  std::string damage;                    // faults put on a pc: port by --table; empty: none
  uint64_t bytes = 0;                    // payload that arrived
  std::optional<uint64_t> wrong_bytes;   // empty: neither end knows what the bytes should be
  std::vector<std::string> device_says;  // lines of its text stream, the last ones
  double seconds = 0;
  double cpu_ns_per_byte = 0;  // of this process; with a pc: port both ends
  uint64_t device_buffer_bytes = 0;
  host::LinkStatistics statistics;
  std::optional<host::PortIdentity> port;  // empty: never opened
  bool is_predicted = false;               // simulated time
  std::string error;                       // empty: complete
  double bytes_per_s() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
  // Bytes on the wire in the direction of the payload for each of its bytes.
  double wire_ratio() const;
  // Acknowledgements, in the other direction, for each byte of payload.
  double ack_ratio() const;
  double ceiling_bytes_per_s() const;  // of bulk transfers at the port's speed; 0: not known
  bool failed() const {
    return !error.empty() || wrong_bytes.value_or(0) != 0 || statistics.gaps != 0;
  }
};

// Several lines, at most 100 columns.
std::string link_report(const LinkRun& run);
Json to_json(const LinkRun& run);

// The options that every link command has.
struct LinkPort {
  std::string port;
  host::LinkSettings settings;
};
class Command;
void add_link_port(Command& command, LinkPort* port);

}  // namespace millrace::cli
