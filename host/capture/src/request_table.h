// SPDX-License-Identifier: Apache-2.0
// Requests that wait for a reply with the same content. Bounded memory (2.5 MB, which a capture of
// a few requests does not take); every operation is bounded, whatever keys come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ethernet_frames.h"

namespace millrace::capture {

struct Request {
  FrameKind kind = FrameKind::other;
  uint8_t out_endpoint = 0;
  bool is_open = false;
  uint64_t content = 0, flow = 0;
  int64_t submit_ns = 0, end_ns = 0;
  uint64_t next = 0;  // in its bucket, by number; 0: none
};

struct Match {
  Request request;
  bool by_flow = false;
  bool is_ambiguous = false;
};

// How requests left the table without a reply.
struct Expired {
  uint64_t by_kind[4] = {};
};

class RequestTable {
 public:
  static constexpr size_t kCapacity = 32768;

  explicit RequestTable(int64_t timeout_ns);
  void add(const Request& request);
  // The oldest open request of that content; of UDP, failing that, the only open one of its flow.
  std::optional<Match> take(const FrameKey& reply, int64_t now_ns);
  // Those older than the limit leave as unanswered.
  void expire(int64_t now_ns);
  // All leave: what they might have met was lost.
  void clear();
  const Expired& unanswered() const { return unanswered_; }
  const Expired& shut_out() const { return shut_out_; }

 private:
  static constexpr size_t kBuckets = 32768, kFlows = 1024, kMaxSteps = 64;
  struct Bucket {
    uint64_t first = 0, last = 0;
  };
  struct Flow {
    uint64_t flow = 0;
    uint64_t newest = 0;
    uint32_t open = 0;
  };

  Request& at(uint64_t number) { return ring_[number % kCapacity]; }
  void remove(uint64_t number, uint64_t before);
  void leave(Expired* as);
  Flow& flow_of(uint64_t flow) { return flows_[(flow >> 20) % kFlows]; }

  int64_t timeout_ns_;
  std::vector<Request> ring_;  // grows to kCapacity
  std::vector<Bucket> buckets_;
  std::vector<Flow> flows_;
  uint64_t begin_ = 1, end_ = 1;  // numbers of the oldest and behind the newest
  Expired unanswered_, shut_out_;
};

}  // namespace millrace::capture
