// SPDX-License-Identifier: Apache-2.0
// The time from the end of an OUT transfer to the end of the IN transfer that answers it.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/capture/time_statistics.h"
#include "millrace/capture/transfer.h"

namespace millrace::capture {

// How a reply was known to belong to its request.
enum class PairedBy : uint8_t {
  icmp_echo,  // id and sequence number
  udp,        // addresses, ports and payload
  udp_flow,   // addresses and ports alone: the payloads differ, one request was open
  arp,
  echo,   // the very bytes of the request, in order
  order,  // the first data after the request
};
const char* name_of(PairedBy by);

// When the host asked for this IN; 0: not known. Of packets the first try that was answered is no
// sign of it.
inline int64_t in_submit_of(const Transfer& transfer) {
  return transfer.has_submission && transfer.packets == 0 ? transfer.submit_ns : 0;
}

struct Pair {
  DeviceKey device = 0;
  uint8_t out_endpoint = 0, in_endpoint = 0;
  PairedBy by = PairedBy::order;
  int64_t out_submit_ns = 0, out_end_ns = 0, in_end_ns = 0;
  int64_t in_submit_ns = 0;  // 0: not in the capture
  // 0 where the reply was reported first: one interrupt may report both, in either order.
  int64_t turnaround_ns() const { return in_end_ns > out_end_ns ? in_end_ns - out_end_ns : 0; }
};

struct Turnaround {
  static constexpr size_t kPublishedPings = 300;

  uint8_t out_endpoint = 0, in_endpoint = 0;
  PairedBy by = PairedBy::order;
  TimeDistribution times;        // end of OUT to end of IN
  TimeDistribution from_submit;  // submission of OUT to end of IN: what the host's program waits
  TimeSeries series;
  std::vector<int64_t> first_ns;  // of the first 300 pairs, exact
  // Pairs in which the host asked for the reply only after the end of the request, and how long
  // after: the device can have been ready all that time.
  TimeDistribution asked_late;
  uint64_t reply_first = 0;  // reported before the end of the request: counted as 0
  uint64_t ambiguous = 0;    // several equal requests were open: the oldest was taken
  uint64_t of_several = 0;   // by order: the request took several transfers, the last counts
  // Of the kind, by whatever endpoint it would have been answered.
  uint64_t requests = 0;
  uint64_t unanswered = 0;   // within the time limit
  uint64_t shut_out = 0;     // open while the capture lost something, or at its end
  uint64_t unrequested = 0;  // replies to nothing in the capture

  void add(const Pair& pair);
  // Of the first 300 pairs, the mean of the middle two of an even number; 0 without any.
  int64_t median_of_first_ns() const;
};

}  // namespace millrace::capture
