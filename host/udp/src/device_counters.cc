// SPDX-License-Identifier: Apache-2.0
#include "millrace/udp/device_counters.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace millrace::udp {

using link::EchoCounter;
using link::EchoCounters;

std::optional<EchoCounters> read_counters(DatagramPort& port, int64_t patience_ns) {
  // Differs from one reading to the next, so that an answer that is late is none to this one.
  const auto wanted = static_cast<uint32_t>(port.clock().now_ns() >> 10);
  uint8_t request[link::kEchoCountersRequestBytes];
  link::encode_counters_request(wanted, request);
  const std::vector<uint8_t> reply = port.ask(link::kEchoCountersPort, request, patience_ns);
  uint32_t tag = 0;
  EchoCounters counters;
  size_t known = 0;
  if (!link::decode_counters_reply(reply.data(), reply.size(), &tag, &counters, &known) ||
      tag != wanted) {
    return std::nullopt;
  }
  return counters;
}

bool is_sum(EchoCounter counter) {
  using enum EchoCounter;
  constexpr EchoCounter kValues[] = {rx_frames_max, rx_buffers,     rx_buffers_low, tx_frames_max,
                                     tx_buffers,    tx_buffers_low, load_result};
  return std::find(std::begin(kValues), std::end(kValues), counter) == std::end(kValues);
}

EchoCounters difference(const EchoCounters& after, const EchoCounters& before) {
  EchoCounters out = after;
  for (size_t i = 0; i < link::kEchoCounters; ++i) {
    if (is_sum(static_cast<EchoCounter>(i))) out.values[i] -= before.values[i];  // 32 bits
  }
  return out;
}

}  // namespace millrace::udp
