// SPDX-License-Identifier: Apache-2.0
// A ring in order of time with chains by content through it. A chain is in order of time too, so
// the first of equal requests in it is the oldest, and the oldest of the ring is the first of its
// chain: everything leaves from the front.
#include "request_table.h"

#include <algorithm>

namespace millrace::capture {

RequestTable::RequestTable(int64_t timeout_ns)
    : timeout_ns_(timeout_ns), buckets_(kBuckets), flows_(kFlows) {}

void RequestTable::add(const Request& request) {
  expire(request.end_ns);
  if (end_ - begin_ == kCapacity) leave(&unanswered_);
  const uint64_t number = end_++;
  if (const size_t place = number % kCapacity; place >= ring_.size()) ring_.resize(place + 1);
  Request& slot = at(number);
  slot = request;
  slot.is_open = true;
  slot.next = 0;
  Bucket& bucket = buckets_[request.content % kBuckets];
  if (bucket.first == 0) {
    bucket.first = number;
  } else {
    at(bucket.last).next = number;
  }
  bucket.last = number;
  if (request.kind != FrameKind::udp) return;
  Flow& flow = flow_of(request.flow);
  if (flow.flow != request.flow) flow = {request.flow, 0, 0};
  flow.newest = number;
  ++flow.open;
}

// `before`: the number before it in its chain, 0 if it is the first.
void RequestTable::remove(uint64_t number, uint64_t before) {
  Request& request = at(number);
  Bucket& bucket = buckets_[request.content % kBuckets];
  if (before == 0) {
    bucket.first = request.next;
  } else {
    at(before).next = request.next;
  }
  if (bucket.last == number) bucket.last = before;
  request.is_open = false;
  if (request.kind == FrameKind::udp) {
    Flow& flow = flow_of(request.flow);
    if (flow.flow == request.flow && flow.open > 0) --flow.open;
  }
  while (begin_ != end_ && !at(begin_).is_open) ++begin_;
}

void RequestTable::leave(Expired* as) {
  ++as->by_kind[static_cast<size_t>(at(begin_).kind)];
  remove(begin_, 0);
}

void RequestTable::expire(int64_t now_ns) {
  while (begin_ != end_ && now_ns - at(begin_).end_ns > timeout_ns_) leave(&unanswered_);
}

void RequestTable::clear() {
  while (begin_ != end_) leave(&shut_out_);
}

std::optional<Match> RequestTable::take(const FrameKey& reply, int64_t now_ns) {
  expire(now_ns);
  uint64_t before = 0, found = 0, before_found = 0;
  size_t steps = 0;
  bool is_ambiguous = false;
  for (uint64_t number = buckets_[reply.content % kBuckets].first; number != 0 && steps < kMaxSteps;
       before = number, number = at(number).next, ++steps) {
    const Request& request = at(number);
    if (request.content != reply.content || request.kind != reply.kind) continue;
    if (found != 0) {
      is_ambiguous = true;
      break;
    }
    found = number;
    before_found = before;
  }
  Match match;
  if (found != 0) {
    match.request = at(found);
    match.is_ambiguous = is_ambiguous;
    remove(found, before_found);
    return match;
  }
  if (reply.kind != FrameKind::udp) return std::nullopt;
  const Flow& flow = flow_of(reply.flow);
  if (flow.flow != reply.flow || flow.open != 1 || flow.newest < begin_) return std::nullopt;
  const Request request = at(flow.newest);
  if (!request.is_open) return std::nullopt;
  // Its place in its chain.
  before = 0;
  uint64_t number = buckets_[request.content % kBuckets].first;
  for (steps = 0; number != 0 && number != flow.newest && steps < kMaxSteps; ++steps) {
    before = number;
    number = at(number).next;
  }
  if (number != flow.newest) return std::nullopt;
  match.request = request;
  match.by_flow = true;
  remove(number, before);
  return match;
}

}  // namespace millrace::capture
