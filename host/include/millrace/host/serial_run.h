// SPDX-License-Identifier: Apache-2.0
// One measurement of a serial link: settings in, everything measured out. What is printed, stored
// and compared later is taken from RunResult and from nothing else.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "millrace/host/histogram.h"
#include "millrace/host/result.h"
#include "millrace/host/transport.h"
#include "millrace/link/control_message.h"
#include "millrace/link/fault.h"
#include "millrace/link/stream_verifier.h"

namespace millrace::host {

enum class Protocol { automatic, classic, extended };

struct RunSettings {
  uint32_t frame_size = 2048;
  uint32_t frame_count = 16384;
  link::Direction direction = link::Direction::in;
  uint16_t window_frames = 0;  // 0: no acknowledgement; 1: each frame; N: N frames in flight
  uint32_t seed = 42;
  int64_t timeout_ms = 2000;  // longest silence before a run is given up
  Protocol protocol = Protocol::automatic;
  uint32_t read_size = 65536;  // largest read, bytes; equal to frame_size: one read a frame
  bool stop_on_error = false;
  uint32_t counters_interval_ms = 0;  // ask the device for COUNTERS during the run
  bool discard_mode = false;          // ask the device to throw away what it cannot send
  uint32_t discard_after_ms = 120;
  int64_t follow_replug_ms = 3000;  // how long to wait for a device that went away; 0: not at all
  OpenOptions open;
};

// The reader's side of an IN stream.
struct ReadStats {
  uint64_t reads = 0;       // calls of the stream's reader that returned data
  uint64_t full_reads = 0;  // calls that filled their buffer: more was waiting
  Histogram bytes_per_read;
  int64_t longest_silence_ns = 0;       // between two reads with data, within the run
  uint64_t longest_silence_offset = 0;  // bytes received before it
  uint64_t ring_full = 0;               // times that reading had to wait for verification
};

struct CpuShare {
  double read = 0;    // CPU time of reading / time of the run, its beginning and end included
  double verify = 0;  // the same of verifying, timed on one block in 16
  double total_ns_per_byte = 0;
};

enum class RunEnd {
  complete,     // every byte accounted for
  timed_out,    // silence of timeout_ms
  gone,         // the device went away and did not return in time
  reset,        // the device started anew during the run (boot counter, session)
  stopped,      // stop_on_error
  interrupted,  // Ctrl-C
  refused,      // the device refused the settings (see refusal)
  no_answer,    // nothing came at all
};

enum class VerdictKind {
  device_bound,
  link_bound,
  device_or_link_bound,
  call_bound,
  host_cpu,
  ack_bound,
  device_discarded,
  lost_behind_device,
  lost_unattributed,
  device_ended_early,
  tty_mangling,
  foreign_writer,
  cache_coherency,
  bit_errors,
  duplicated,
  stale_bytes,
  reordered,
  device_reset,
  replugged,
  device_gone,
  no_answer,
  not_our_stream,
  timed_out,
  interrupted,
  refused,
};

struct Verdict {
  VerdictKind kind = VerdictKind::device_or_link_bound;
  bool failed = false;   // something was lost, altered or not finished
  std::string sentence;  // one sentence with the figures that decided it
};

struct RunResult {
  RunSettings settings;
  PortIdentity port;
  std::string transport_settings;
  // Processes that had the port open too, at the start or after something went wrong.
  std::vector<std::string> other_holders;
  Protocol protocol = Protocol::classic;  // what was really spoken
  RunEnd end = RunEnd::no_answer;
  std::string end_detail;  // what the system said, or the refusal's reason

  int64_t duration_ns = 0;  // request sent to last byte of the stream (IN), or REPORT (OUT)
  uint64_t in_bytes = 0;    // stream bytes verified, IN
  uint64_t out_bytes = 0;   // stream bytes verified by the device, OUT
  // IN stream bytes that were still to come when the device went away or restarted, or when this
  // host stopped the run: not lost, and in no fault.
  uint64_t not_delivered_bytes = 0;
  uint64_t frames = 0;                // complete frames, both directions
  uint64_t stale_input_bytes = 0;     // thrown away before the run started
  double bytes_per_s = 0;             // in_bytes + out_bytes over duration
  double ceiling_bytes_per_s = 0;     // 53.248e6, 1.216e6, 0 when the port is not USB
  double packets_per_microframe = 0;  // high speed: 512-byte packets; else 0

  ReadStats reads;
  Histogram frame_delay_ns;  // between ends of consecutive frames
  // window_frames W > 0. IN: end of frame k (acknowledged at once) to the end of frame k + W, which
  // that let go. OUT: last byte of a frame written to its acknowledgement.
  Histogram ack_round_trip_ns;
  // IN, acknowledged: most stream bytes that came before the frames they belong to could be let go.
  // More than window_frames x frame_size: the device does not wait for acknowledgements.
  uint64_t most_unacknowledged_bytes = 0;
  int64_t out_write_ns = 0;  // OUT: time spent inside write()
  CpuShare cpu;
  uint64_t bridge_buffer_bytes = 0;  // longest silence x rate: device buffer that would bridge it

  link::VerifierTotals in_totals;
  std::vector<link::Fault> faults;  // the first kMaxFaults
  static constexpr size_t kMaxFaults = 256;

  std::optional<link::Hello> hello;              // extended protocol
  std::optional<link::DeviceCounters> counters;  // REPORT, or the last COUNTERS
  struct CountersSample {
    int64_t at_ns = 0;
    link::DeviceCounters counters;
  };
  std::vector<CountersSample> counters_during_run;  // at most 1,000, thinned evenly beyond
  std::optional<ModemLines> modem_lines;            // when nothing came: DTR says why
  bool speaks_link_protocol = false;                // when nothing came: it answers `link`

  int64_t replug_ns = 0;                        // gone to open again; 0: no replug
  std::string replug_path;                      // where it came back
  std::optional<uint32_t> replug_boot_counter;  // extended protocol: what it answered there

  Verdict verdict;
  bool failed() const { return verdict.failed; }
};

struct RunProgress {
  uint64_t bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t faults = 0;
  double bytes_per_s = 0;  // over the last interval
};

struct RunHooks {
  // Called about ten times a second from the calling thread; may be empty.
  std::function<void(const RunProgress&)> progress;
  // Called with a sentence before a run that something will spoil; may be empty.
  std::function<void(const std::string&)> warning;
  // Set by a signal handler: the run ends soon, with what was measured until then.
  const std::atomic<bool>* interrupted = nullptr;
};

// Opens the endpoint, runs once, closes. An Error only if no measurement could be begun (bad
// settings, port cannot be opened); everything later is in the result.
Result<RunResult> run_serial(Endpoint& endpoint, const RunSettings& settings,
                             const RunHooks& hooks);

// Decides the verdict from everything else in `result`. The rules stand in docs/verdicts.md.
Verdict judge(const RunResult& result);

}  // namespace millrace::host
