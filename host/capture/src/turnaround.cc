// SPDX-License-Identifier: Apache-2.0
#include "millrace/capture/turnaround.h"

#include <algorithm>

namespace millrace::capture {

const char* name_of(PairedBy by) {
  switch (by) {
    case PairedBy::icmp_echo:
      return "icmp";
    case PairedBy::udp:
      return "udp";
    case PairedBy::udp_flow:
      return "udp_flow";
    case PairedBy::arp:
      return "arp";
    case PairedBy::echo:
      return "echo";
    case PairedBy::order:
      return "order";
  }
  return "";
}

void Turnaround::add(const Pair& pair) {
  const int64_t time = pair.turnaround_ns();
  times.add(time);
  from_submit.add(pair.in_end_ns - pair.out_submit_ns);
  series.add(pair.in_end_ns, static_cast<double>(time));
  if (first_ns.size() < kPublishedPings) first_ns.push_back(time);
  if (pair.in_end_ns < pair.out_end_ns) ++reply_first;
  if (pair.in_submit_ns > pair.out_end_ns) asked_late.add(pair.in_submit_ns - pair.out_end_ns);
}

int64_t Turnaround::median_of_first_ns() const {
  if (first_ns.empty()) return 0;
  std::vector<int64_t> sorted = first_ns;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace millrace::capture
