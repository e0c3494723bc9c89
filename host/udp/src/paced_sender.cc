// SPDX-License-Identifier: Apache-2.0
#include "paced_sender.h"

#include <algorithm>
#include <cmath>

#include "millrace/udp/payload.h"

namespace millrace::udp {

namespace {
constexpr double kNsForACall = 10'000;
}

RequestWriter::RequestWriter(DatagramPort& port, uint32_t session, uint16_t step, uint32_t bytes)
    : port_(port),
      session_(session),
      step_(step),
      bytes_(bytes),
      buffer_(kBatch * bytes),
      datagrams_(kBatch) {}

size_t RequestWriter::send(uint64_t first, size_t count, int64_t now_ns) {
  Payload payload;
  payload.session = session_;
  payload.step = step_;
  payload.stamp_ns = static_cast<uint64_t>(now_ns);
  for (size_t i = 0; i < count; ++i) {
    payload.sequence = static_cast<uint32_t>(first + i);
    const std::span<uint8_t> bytes(&buffer_[i * bytes_], bytes_);
    encode_payload(payload, bytes);
    datagrams_[i] = bytes;
  }
  return port_.send(std::span(datagrams_).first(count));
}

PacedSender::PacedSender(DatagramPort& port, const Session& session, uint16_t step,
                         const StepPlan& plan, int64_t start_ns)
    : port_(port),
      writer_(port, session.id, step, plan.bytes),
      start_ns_(start_ns),
      interval_ns_(1e9 / plan.rate_per_s) {
  const double planned = std::round(plan.rate_per_s * static_cast<double>(plan.duration_ns) / 1e9);
  planned_ = std::clamp<uint64_t>(static_cast<uint64_t>(planned), 1, kMostDatagrams);
}

int64_t PacedSender::time_of(uint64_t number) const {
  return start_ns_ + std::llround(static_cast<double>(number) * interval_ns_);
}

void PacedSender::send_due() {
  const int64_t now = port_.clock().now_ns();
  // One by one where there is time for it: overdue ones then leave a call apart, not at once.
  const size_t most = interval_ns_ >= kNsForACall ? 1 : kBatch;
  size_t count = 0;
  while (count < most && next_ + count < planned_ && time_of(next_ + count) <= now) {
    const int64_t lateness = now - time_of(next_ + count);
    lateness_.add(static_cast<uint64_t>(lateness));
    if (lateness > kLateSendNs) ++late_;
    ++count;
  }
  if (count == 0) return;
  if (next_ == 0) first_call_ns_ = now;
  last_call_ns_ = now;
  sent_ += writer_.send(next_, count, now);
  next_ += count;
}

void PacedSender::finish(StepResult* result) const {
  result->planned = planned_;
  result->sent = sent_;
  result->refused = next_ - sent_;
  result->lateness = lateness_;
  result->late_sends = late_;
  if (next_ < 2 || last_call_ns_ <= first_call_ns_) return;
  // From the first call to the last: a late end makes it slower, a late start faster.
  const auto ns = static_cast<double>(last_call_ns_ - first_call_ns_);
  const double called_per_s = static_cast<double>(next_ - 1) * 1e9 / ns;
  const double offered = 1e9 / interval_ns_;
  result->pacing_error = (called_per_s - offered) / offered;
  result->sent_per_s = called_per_s * static_cast<double>(sent_) / static_cast<double>(next_);
}

}  // namespace millrace::udp
