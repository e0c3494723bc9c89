// SPDX-License-Identifier: Apache-2.0
// One step of a measurement: datagrams at a fixed rate, or so many under way, for some time; what
// came back of them, and whether the host kept its pace.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "millrace/host/histogram.h"
#include "millrace/udp/datagram_port.h"

namespace millrace::udp {

struct StepPlan {
  uint32_t bytes = 32;     // kLeastPayload..kMostPayload
  double rate_per_s = 0;   // open loop
  uint32_t in_flight = 0;  // closed loop, if not 0
  int64_t duration_ns = 2'000'000'000;
  int64_t late_ns = 100'000'000;    // a reply that took longer is late, and none
  int64_t settle_ns = 200'000'000;  // how long replies are waited for after the last request
};

inline constexpr uint64_t kMostDatagrams = 100'000'000;  // of a step: 12.5 MB of bits

// Why the figures of a step say nothing about the device.
enum class HostFault : uint8_t {
  none,
  pace,             // requests were not sent at the offered rate
  late_calls,       // too many send calls came too late, so that requests came in bursts
  socket_overflow,  // replies were lost in the socket's buffer
  interface_drops,  // replies were lost, and the interface counted drops
};
const char* name_of(HostFault fault);

struct StepResult {
  StepPlan plan;
  uint64_t planned = 0;  // datagrams; 0 in closed loop
  uint64_t sent = 0;     // taken by the system
  uint64_t refused = 0;  // not taken: the queue to the device was full
  double sent_per_s = 0;
  double pacing_error = 0;   // of the times of the send calls, relative; open loop only
  host::Histogram lateness;  // ns from a request's time to its send call; open loop only
  uint64_t late_sends = 0;   // of these, more than kLateSendNs

  uint64_t answered = 0;             // requests, in time
  uint64_t late = 0;                 // requests answered too late
  uint64_t duplicate = 0;            // further replies to a request
  uint64_t reordered = 0;            // replies behind one to a later request
  uint64_t altered = 0;              // not as they were sent
  uint64_t foreign = 0;              // somebody else's
  uint64_t backlog = 0;              // requests answered after the end, in time or late
  int64_t rtt_growth_ns = 0;         // median, from the first quarter to the last
  uint64_t earlier = 0;              // replies to an earlier step
  double answered_per_s = 0;         // replies while it was sending
  host::Histogram rtt;               // ns, of those in time
  std::vector<uint32_t> rtt_sample;  // the first ones, in ns: for period_of_rtt()
  int64_t last_lost_ns = -1;  // time of the last request without an answer, from the first one on
  HostDrops drops;            // during the step
  HostFault fault = HostFault::none;
  bool is_interrupted = false;

  // A device that answers what it was not asked does not make it negative.
  uint64_t lost() const { return answered + late > sent ? 0 : sent - answered - late; }
  // Of the requests, what had no answer in time, 0..1; also those that the system did not take.
  double loss() const;
  // Not only filled queues, which a short step may do at any rate. Where the offered rate is above
  // that of the device by a share e, each request waits e times the time gone longer: a step in
  // which that is kMostExcess or more is not sustained.
  bool is_sustained() const;
  bool is_valid() const { return fault == HostFault::none; }
};

inline constexpr double kMostExcess = 0.01;
inline constexpr int64_t kLeastGrowthNs = 500'000;  // less is no growth, however short the step
inline constexpr int64_t kLateSendNs = 1'000'000;
inline constexpr double kMostPacingError = 0.005;  // beyond: HostFault::pace
inline constexpr double kMostLateSends = 0.01;     // beyond: HostFault::late_calls

// One run: what its steps share.
struct Session {
  uint32_t id = 0;
  uint16_t next_step = 0;
  std::function<bool()> keep_going = [] { return true; };
};

// Ends early if the port is in trouble or keep_going() says so.
// REQUIRES: a rate or in_flight; rate * duration <= kMostDatagrams.
StepResult run_step(DatagramPort& port, const StepPlan& plan, Session& session);

}  // namespace millrace::udp
