// SPDX-License-Identifier: Apache-2.0
// What `profile record` samples: a target with a sampler, and the work that it is given meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/result_json.h"
#include "millrace/host/result.h"
#include "millrace/link/control_message.h"
#include "millrace/profile/samples.h"
#include "millrace/sampling/record.h"

namespace millrace::cli {

enum class LoadKind : uint8_t {
  automatic,  // board: one UDP echo at a time, or a stream to the PC; else none
  none,
  udp,
  serial,
};

struct RecordLoad {
  LoadKind kind = LoadKind::automatic;
  uint32_t bytes = 32;                              // udp
  double rate_per_s = 0;                            // udp, open loop
  uint32_t in_flight = 1;                           // udp, closed loop, if there is no rate
  link::Direction direction = link::Direction::in;  // serial
  std::string text;                                 // as typed
  // Of a network function on the virtual board.
  std::string host_address;    // ADDRESS/PREFIX; empty: what the device gives by DHCP
  std::string device_address;  // empty: the DHCP server's
  uint16_t port = 7;           // of the load
};

// udp:BYTES@RATE, udp:BYTESxN (N requests under way), serial:in|out|both, none. Errors: usage.
host::Result<RecordLoad> parse_load(const std::string& text);

// IMAGE of board:IMAGE?KEY=VALUE; empty: another name.
std::string board_image(const std::string& name);

class RecordTarget {
 public:
  virtual ~RecordTarget() = default;
  virtual sampling::SamplerChannel& channel() = 0;
  virtual sampling::Workload workload() = 0;
  // The load so far, one line for people; empty without one.
  virtual std::string load_line() const = 0;
  virtual Json load_json() const = 0;
  virtual bool is_virtual() const = 0;
  // Of what runs there, where it is an ELF that is known; else empty.
  virtual std::string elf() const { return {}; }
  // Once, at the end.
  virtual host::Status finish() = 0;
};

// `name`: udp:ADDRESS[:PORT], an IPv4 address, board:IMAGE?KEY=VALUE, or a serial port's name.
// Errors: usage, not_found, ...
host::Result<std::unique_ptr<RecordTarget>> open_record_target(const std::string& name,
                                                               const RecordLoad& load);

// The parts that have no sockets: a serial port, whatever stands behind its name.
host::Result<std::unique_ptr<RecordTarget>> open_serial_target(const std::string& name,
                                                               const RecordLoad& load);
// ... there are none on Windows.
host::Result<std::unique_ptr<RecordTarget>> open_network_target(const std::string& name,
                                                                const RecordLoad& load);

struct RecordOutcome {
  profile::SampleSet samples;
  uint32_t rounds = 0;
  bool is_interrupted = false;
  std::optional<host::Error> trouble;  // the target went away; samples holds what came
  std::string load_line;
  Json load;
};

// Opens `name`, records, closes: what `millrace profile record` does, for those who go on with the
// samples. `elf`: what runs there, for its identity; empty: board:IMAGE's own, if it is one.
// Errors: of opening; usage, not_found, protocol: no sample came.
host::Result<RecordOutcome> record_samples(const std::string& name, const RecordLoad& load,
                                           const sampling::RecordPlan& plan, const std::string& elf,
                                           const sampling::RecordHooks& hooks);

}  // namespace millrace::cli
