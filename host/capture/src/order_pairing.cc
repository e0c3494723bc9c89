// SPDX-License-Identifier: Apache-2.0
// By order: a request is the run of OUT transfers between two IN transfers with data; the first
// data behind it answers it, counted from the end of its last transfer. That is right for every
// dialogue that waits for its answer, and for none that does not: then echo_ is, or nothing.
#include "order_pairing.h"

#include <algorithm>
#include <cstring>

namespace millrace::capture {
namespace {

// Ends further apart were not reported by one interrupt: data that came so long before the end of
// a request does not answer it.
constexpr int64_t kOneInterruptNs = 100'000;

}  // namespace

OrderPairing::OrderPairing(DeviceKey device, uint8_t out_endpoint, uint8_t in_endpoint,
                           int64_t timeout_ns)
    : device_(device), timeout_ns_(timeout_ns) {
  for (Turnaround* result : {&order_, &echo_}) {
    result->out_endpoint = out_endpoint;
    result->in_endpoint = in_endpoint;
  }
  order_.by = PairedBy::order;
  echo_.by = PairedBy::echo;
}

Pair OrderPairing::pair_of(int64_t submit_ns, int64_t end_ns, int64_t reply_ns, PairedBy by) const {
  Pair pair;
  pair.device = device_;
  pair.out_endpoint = order_.out_endpoint;
  pair.in_endpoint = order_.in_endpoint;
  pair.by = by;
  pair.out_submit_ns = submit_ns;
  pair.out_end_ns = end_ns;
  pair.in_end_ns = reply_ns;
  return pair;
}

void OrderPairing::out(const Transfer& transfer, const Sink& sink) {
  if (transfer.actual == 0) return;
  out_echo(transfer);
  if (has_early_ && !is_open_ && transfer.has_submission && early_ns_ > transfer.submit_ns &&
      transfer.end_ns - early_ns_ < kOneInterruptNs) {
    // The answer was reported before the end of what it answers.
    ++order_.requests;
    const Pair pair = pair_of(transfer.submit_ns, transfer.end_ns, early_ns_, PairedBy::order);
    order_.add(pair);
    has_early_ = false;
    --order_.unrequested;
    sink(pair);
    return;
  }
  has_early_ = false;
  if (is_open_ && transfer.end_ns - end_ns_ > timeout_ns_) {
    ++order_.unanswered;
    is_open_ = false;
  }
  if (!is_open_) {
    ++order_.requests;
    transfers_ = 0;
    submit_ns_ = transfer.has_submission ? transfer.submit_ns : transfer.end_ns;
  }
  is_open_ = true;
  ++transfers_;
  end_ns_ = transfer.end_ns;
}

void OrderPairing::in(const Transfer& transfer, const Sink& sink) {
  if (transfer.actual == 0) return;
  in_echo(transfer, sink);
  if (is_open_ && transfer.end_ns - end_ns_ > timeout_ns_) {
    ++order_.unanswered;
    is_open_ = false;
  }
  if (!is_open_) {
    ++order_.unrequested;
    has_early_ = true;
    early_ns_ = transfer.end_ns;
    return;
  }
  is_open_ = false;
  if (transfers_ > 1) ++order_.of_several;
  Pair pair = pair_of(submit_ns_, end_ns_, transfer.end_ns, PairedBy::order);
  pair.in_submit_ns = in_submit_of(transfer);
  order_.add(pair);
  if (!is_echo()) sink(pair);
}

void OrderPairing::give_up_echo() {
  sent_.clear();
  sent_at_ = 0;
  back_ = sent_end_;
  echo_.shut_out += open_.size();
  open_.clear();
}

void OrderPairing::out_echo(const Transfer& transfer) {
  if (echo_given_up_) return;
  ++echo_.requests;
  if (transfer.size < transfer.actual || open_.size() == kMaxOpen ||
      sent_.size() - sent_at_ + transfer.size > kMaxEcho) {
    give_up_echo();
    ++echo_.shut_out;
    sent_end_ += transfer.actual;
    back_ = sent_end_;
    return;
  }
  if (sent_at_ > kMaxEcho) {
    sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(sent_at_));
    sent_at_ = 0;
  }
  sent_.insert(sent_.end(), transfer.data, transfer.data + transfer.size);
  sent_end_ += transfer.size;
  open_.push_back(
      {transfer.has_submission ? transfer.submit_ns : transfer.end_ns, transfer.end_ns, sent_end_});
}

void OrderPairing::in_echo(const Transfer& transfer, const Sink& sink) {
  if (echo_given_up_) return;
  const size_t wanted = std::min<size_t>(transfer.size, sent_.size() - sent_at_);
  if (wanted < transfer.actual ||
      std::memcmp(transfer.data, sent_.data() + sent_at_, wanted) != 0) {
    other_bytes_ += transfer.actual;
    give_up_echo();
    // A device that sends what it likes: not looked at any longer.
    if (other_bytes_ > kMaxEcho && other_bytes_ > echoed_bytes_) echo_given_up_ = true;
    return;
  }
  echoed_bytes_ += wanted;
  sent_at_ += wanted;
  back_ += wanted;
  if (sent_at_ == sent_.size()) {
    sent_.clear();
    sent_at_ = 0;
  }
  while (!open_.empty() && open_.front().end_byte <= back_) {
    const Open request = open_.front();
    open_.pop_front();
    if (transfer.end_ns - request.end_ns > timeout_ns_) {
      ++echo_.unanswered;
      continue;
    }
    Pair pair = pair_of(request.submit_ns, request.end_ns, transfer.end_ns, PairedBy::echo);
    pair.in_submit_ns = in_submit_of(transfer);
    echo_.add(pair);
    sink(pair);
  }
}

void OrderPairing::shut_out() {
  if (is_open_) ++order_.shut_out;
  is_open_ = false;
  has_early_ = false;
  give_up_echo();
}

void OrderPairing::finish() { shut_out(); }

bool OrderPairing::is_echo() const {
  return echo_.times.count() != 0 && echoed_bytes_ >= 9 * other_bytes_;
}

}  // namespace millrace::capture
