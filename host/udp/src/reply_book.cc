// SPDX-License-Identifier: Apache-2.0
#include "reply_book.h"

#include <algorithm>

namespace millrace::udp {

namespace {

constexpr size_t kSamples = 4096;

}  // namespace

bool ReplyBook::mark(uint64_t sequence) {
  const size_t word = sequence / 64;
  if (word >= bits_.size()) bits_.resize(std::max(word + 1, bits_.size() * 2));
  const uint64_t bit = uint64_t{1} << sequence % 64;
  const bool is_new = (bits_[word] & bit) == 0;
  bits_[word] |= bit;
  return is_new;
}

void ReplyBook::finish() {
  if (first_.count() == 0 || last_.count() == 0) return;
  result_->rtt_growth_ns =
      static_cast<int64_t>(last_.quantile(0.5)) - static_cast<int64_t>(first_.quantile(0.5));
}

int64_t ReplyBook::take(const Arrival& arrival) {
  Payload reply;
  switch (decode_payload(arrival.bytes, session_, &reply)) {
    case PayloadStatus::foreign:
      ++result_->foreign;
      return -1;
    case PayloadStatus::altered:
      ++result_->altered;
      return -1;
    case PayloadStatus::good:
      break;
  }
  if (reply.step != step_) {
    ++result_->earlier;
    return -1;
  }
  // What was sent in this step and has its check right, but is longer or shorter, or was never
  // sent, is nobody's fault but the other end's.
  if (arrival.bytes.size() != plan_.bytes || reply.sequence >= kMostDatagrams) {
    ++result_->altered;
    return -1;
  }
  if (!mark(reply.sequence)) {
    ++result_->duplicate;
    return -1;
  }
  ++replies_;
  last_ns_ = arrival.ns;
  if (reply.sequence < highest_) ++result_->reordered;
  highest_ = std::max<int64_t>(highest_, reply.sequence);
  if (arrival.ns <= end_ns_) ++in_window_;
  if (arrival.ns > end_ns_) ++result_->backlog;
  // A time stamp of the kernel may be a little before the one that was made just before sending,
  // since the two clocks are compared only now and then.
  const int64_t rtt = std::max<int64_t>(0, arrival.ns - static_cast<int64_t>(reply.stamp_ns));
  const int64_t sent_ns = static_cast<int64_t>(reply.stamp_ns) - (end_ns_ - plan_.duration_ns);
  if (4 * sent_ns < plan_.duration_ns) first_.add(static_cast<uint64_t>(rtt));
  if (4 * sent_ns >= 3 * plan_.duration_ns) last_.add(static_cast<uint64_t>(rtt));
  if (rtt > plan_.late_ns) {
    ++result_->late;
    return reply.sequence;
  }
  ++result_->answered;
  result_->rtt.add(static_cast<uint64_t>(rtt));
  if (result_->rtt_sample.size() < kSamples) {
    result_->rtt_sample.push_back(static_cast<uint32_t>(rtt));
  }
  return reply.sequence;
}

}  // namespace millrace::udp
