// SPDX-License-Identifier: Apache-2.0
#include "millrace/capture/endpoint_statistics.h"

#include <algorithm>

namespace millrace::capture {

uint64_t ntb_bytes_for(uint64_t datagrams, uint64_t bytes) {
  const auto aligned = [](uint64_t value) { return (value + 3) / 4 * 4; };
  if (datagrams == 0) return 0;
  constexpr uint64_t kFirst = link::kNth16Bytes + 2;
  const uint64_t end = kFirst + (datagrams - 1) * aligned(bytes) + bytes;
  return aligned(end) + link::kNdp16HeaderBytes + (datagrams + 1) * link::kNdp16EntryBytes;
}

void EndpointStatistics::submitted(int64_t time_ns, uint32_t asked, bool asked_known) {
  if (queued == 0 && was_emptied && time_ns > emptied_ns) {
    const auto idle = static_cast<uint64_t>(time_ns - emptied_ns);
    unqueued_ns.add(idle);
    unqueued_total_ns += idle;
  }
  ++queued;
  queue_depth.add(queued);
  if (!asked_known) return;
  asked_bytes.add(asked);
  bytes_in_flight += asked;
  max_bytes_in_flight = std::max(max_bytes_in_flight, bytes_in_flight);
}

void EndpointStatistics::left(int64_t time_ns, uint32_t asked) {
  bytes_in_flight -= std::min<uint64_t>(asked, bytes_in_flight);
  if (queued != 0) --queued;
  if (queued != 0) return;
  was_emptied = true;
  emptied_ns = time_ns;
}

void EndpointStatistics::completed(const Transfer& transfer) {
  if (transfer.has_submission && transfer.packets == 0) {
    left(transfer.end_ns, transfer.asked_known ? transfer.asked : 0);
  }
  constexpr int32_t kShort = -121;  // EREMOTEIO: a short transfer where the driver wanted none
  if (transfer.status != 0 && transfer.status != kShort) {
    if (errors.size() < 16 || errors.count(transfer.status) != 0) {
      ++errors[transfer.status];
    } else {
      ++other_errors;
    }
    if (transfer.actual == 0) return;
  }
  if (transfers++ == 0) {
    first_ns = transfer.end_ns;
  } else {
    between_ends_ns.add(static_cast<uint64_t>(std::max<int64_t>(0, transfer.end_ns - last_ns)));
  }
  last_ns = transfer.end_ns;
  bytes += transfer.actual;
  actual_bytes.add(transfer.actual);
  zero_length += transfer.actual == 0 ? 1 : 0;
  cut += transfer.size < transfer.actual ? 1 : 0;
  if (transfer.asked_known) {
    (transfer.actual < transfer.asked ? short_transfers : full_transfers) += 1;
  }
  if (transfer.has_submission) {
    transfer_ns.add(
        static_cast<uint64_t>(std::max<int64_t>(0, transfer.end_ns - transfer.submit_ns)));
  }
  bandwidth.add(transfer.end_ns, static_cast<double>(transfer.actual));
}

void EndpointStatistics::was_abandoned(Abandoned why, int64_t time_ns, uint32_t asked) {
  left(time_ns, asked);
  ++(why == Abandoned::refused ? refused : abandoned);
}

void EndpointStatistics::data_packet(uint64_t index) {
  if (packets != 0 && index != microframe) {
    packets_per_microframe.add(packets_in_microframe);
    packets_in_microframe = 0;
  }
  microframe = index;
  ++packets;
  ++packets_in_microframe;
}

void EndpointStatistics::finish() {
  if (packets_in_microframe != 0) packets_per_microframe.add(packets_in_microframe);
  packets_in_microframe = 0;
}

}  // namespace millrace::capture
