// SPDX-License-Identifier: Apache-2.0
// Two ways of pairing run side by side. Frames of the network classes are paired by content, which
// several datagrams a transfer and lost ones do not disturb. Everything else, and network traffic
// of which too little was captured, is a stream (order_pairing.cc). Which endpoints belong together
// a descriptor says; without one every OUT is tried with every IN, and the most pairs win.
#include "device_tracker.h"

#include <algorithm>

namespace millrace::capture {
namespace {

constexpr size_t kMaxResults = 64;
constexpr uint64_t kPingsThatTell = 20;  // fewer do not stand for a device that echoed much more

PairedBy paired_by(FrameKind kind, bool by_flow) {
  if (kind == FrameKind::icmp_echo) return PairedBy::icmp_echo;
  if (kind == FrameKind::arp) return PairedBy::arp;
  return by_flow ? PairedBy::udp_flow : PairedBy::udp;
}

FrameKind kind_of(PairedBy by) {
  switch (by) {
    case PairedBy::icmp_echo:
      return FrameKind::icmp_echo;
    case PairedBy::udp:
    case PairedBy::udp_flow:
      return FrameKind::udp;
    case PairedBy::arp:
      return FrameKind::arp;
    default:
      return FrameKind::other;
  }
}

// Pings are the published figure; then what is known by content.
int rank(const Turnaround& result) {
  const uint64_t count = result.times.count();
  if (count == 0) return 9;
  switch (result.by) {
    case PairedBy::icmp_echo:
      return count >= kPingsThatTell ? 0 : 2;
    case PairedBy::udp:
      return 1;
    case PairedBy::udp_flow:
      return 3;
    case PairedBy::echo:
      return 4;
    case PairedBy::order:
      return 5;
    case PairedBy::arp:
      return 6;
  }
  return 9;
}

}  // namespace

DeviceTracker::DeviceTracker(DeviceKey key, const AnalysisOptions* options, Budget* budget)
    : options_(options), budget_(budget), analysis_(std::make_unique<DeviceAnalysis>()) {
  analysis_->key = key;
  on_pair_ = [this](const Pair& pair) {
    if (options_->on_pair) options_->on_pair(pair);
  };
}

EndpointStatistics* DeviceTracker::endpoint(uint8_t address, TransferType type) {
  std::unique_ptr<EndpointStatistics>& found = analysis_->endpoints[endpoint_index(address)];
  if (found == nullptr) {
    if (budget_->endpoints == 0) return nullptr;
    --budget_->endpoints;
    const EndpointInfo& info = analysis_->info.endpoints[endpoint_index(address)];
    found = std::make_unique<EndpointStatistics>(address, info.is_described ? info.type : type);
  }
  return found.get();
}

bool DeviceTracker::submitted(uint8_t address, TransferType type, int64_t time_ns, uint32_t asked,
                              bool asked_known) {
  ++analysis_->events;
  if (type == TransferType::control) return true;
  EndpointStatistics* statistics = endpoint(address, type);
  if (statistics == nullptr) return false;
  statistics->submitted(time_ns, asked, asked_known);
  return true;
}

bool DeviceTracker::completed(const Transfer& transfer, bool* described) {
  ++analysis_->events;
  if (transfer.type == TransferType::control) {
    ++analysis_->control_transfers;
    if (transfer.status == -32) ++analysis_->control_stalls;
    *described = analysis_->info.take_control(transfer);
    for (size_t i = 0; *described && i < analysis_->endpoints.size(); ++i) {
      const EndpointInfo& info = analysis_->info.endpoints[i];
      if (info.is_described && analysis_->endpoints[i]) analysis_->endpoints[i]->type = info.type;
    }
    return true;
  }
  EndpointInfo& info = analysis_->info.endpoints[endpoint_index(transfer.endpoint)];
  EndpointStatistics* statistics = endpoint(transfer.endpoint, transfer.type);
  if (statistics == nullptr) return false;
  statistics->completed(transfer);
  if (transfer.status != 0 && transfer.actual == 0) return true;
  analysis_->bytes += transfer.actual;
  if (info.framing == Framing::unknown && transfer.size != 0) {
    analysis_->info.guess_framing(transfer);
  }
  if (info.framing != Framing::unknown && info.framing != Framing::none) {
    frames(transfer, statistics, info.framing);
  }
  if (transfer.type != TransferType::isochronous) streams(transfer);
  return true;
}

void DeviceTracker::frames(const Transfer& transfer, EndpointStatistics* statistics,
                           Framing framing) {
  if (statistics->frames == nullptr) {
    statistics->frames = std::make_unique<FrameStatistics>();
    if (requests_ == nullptr && budget_->network_devices != 0) {
      --budget_->network_devices;
      requests_ = std::make_unique<RequestTable>(options_->timeout_ns);
    }
  }
  FrameStatistics& seen = *statistics->frames;
  const bool in = is_in(transfer.endpoint);
  const FrameWalk walk =
      for_each_frame(framing, transfer.data, transfer.size, transfer.actual,
                     [&](const uint8_t* frame, size_t size) {
                       seen.frame_bytes.add(framing == Framing::ecm ? transfer.actual : size);
                       if (requests_ == nullptr) return;
                       const FrameKey key = key_of(frame, size, in);
                       if (key.may_be_request) request(transfer, key);
                       if (key.may_be_reply) reply(transfer, key);
                     });
  seen.frames += walk.frames;
  if (walk.frames != 0) seen.frames_per_transfer.add(walk.frames);
  if (walk.is_damaged && seen.damaged++ == 0) seen.first_damage = walk.ntb_status;
  if (walk.has_sequence) {
    const uint16_t missing = seen.sequence.missing_before(walk.sequence);
    if (missing < 0x8000) seen.blocks_missing += missing;  // else it came twice
    seen.largest_block_bytes = std::max<uint64_t>(seen.largest_block_bytes, walk.block_bytes);
  }
}

bool DeviceTracker::is_wanted(uint8_t out_endpoint, uint8_t in_endpoint) const {
  return (!options_->out_endpoint || *options_->out_endpoint == out_endpoint) &&
         (!options_->in_endpoint || *options_->in_endpoint == in_endpoint);
}

Turnaround* DeviceTracker::content_result(uint8_t out_endpoint, uint8_t in_endpoint, PairedBy by) {
  for (const auto& result : content_) {
    if (result->out_endpoint == out_endpoint && result->in_endpoint == in_endpoint &&
        result->by == by) {
      return result.get();
    }
  }
  if (content_.size() == kMaxResults) return nullptr;
  content_.push_back(std::make_unique<Turnaround>());
  content_.back()->out_endpoint = out_endpoint;
  content_.back()->in_endpoint = in_endpoint;
  content_.back()->by = by;
  return content_.back().get();
}

void DeviceTracker::record(Turnaround* to, const Pair& pair) {
  to->add(pair);
  on_pair_(pair);
}

void DeviceTracker::request(const Transfer& transfer, const FrameKey& key) {
  ++requests_of_kind_[static_cast<size_t>(key.kind)];
  const int64_t submit_ns = transfer.has_submission ? transfer.submit_ns : transfer.end_ns;
  for (size_t i = 0; i < std::min(early_count_, early_.size()); ++i) {
    Early& early = early_[i];
    if (early.key.kind != key.kind || early.key.content != key.content) continue;
    if (early.end_ns < submit_ns || early.end_ns > transfer.end_ns) continue;
    early.key.kind = FrameKind::other;
    --unrequested_of_kind_[static_cast<size_t>(key.kind)];
    const Pair pair{
        analysis_->key, transfer.endpoint, early.in_endpoint, paired_by(key.kind, false),
        submit_ns,      transfer.end_ns,   early.end_ns,      0};
    Turnaround* result = content_result(pair.out_endpoint, pair.in_endpoint, pair.by);
    if (result != nullptr && is_wanted(pair.out_endpoint, pair.in_endpoint)) record(result, pair);
    return;
  }
  Request added;
  added.kind = key.kind;
  added.out_endpoint = transfer.endpoint;
  added.content = key.content;
  added.flow = key.flow;
  added.submit_ns = submit_ns;
  added.end_ns = transfer.end_ns;
  requests_->add(added);
}

void DeviceTracker::reply(const Transfer& transfer, const FrameKey& key) {
  const std::optional<Match> match = requests_->take(key, transfer.end_ns);
  if (!match) {
    ++unrequested_of_kind_[static_cast<size_t>(key.kind)];
    early_[early_count_++ % early_.size()] = {key, transfer.endpoint, transfer.end_ns};
    return;
  }
  const Request& request = match->request;
  if (!is_wanted(request.out_endpoint, transfer.endpoint)) return;
  const Pair pair{analysis_->key,    request.out_endpoint,
                  transfer.endpoint, paired_by(key.kind, match->by_flow),
                  request.submit_ns, request.end_ns,
                  transfer.end_ns,   in_submit_of(transfer)};
  Turnaround* result = content_result(pair.out_endpoint, pair.in_endpoint, pair.by);
  if (result == nullptr) return;
  result->ambiguous += match->is_ambiguous ? 1 : 0;
  record(result, pair);
}

// Two endpoints can belong together if nothing says that they do not.
void DeviceTracker::find_partners(uint8_t added) {
  const EndpointInfo& own = analysis_->info.endpoints[endpoint_index(added)];
  for (size_t i = 0; i < has_data_.size(); ++i) {
    const uint8_t other = endpoint_of(i);
    if (!has_data_[i] || is_in(other) == is_in(added)) continue;
    const EndpointInfo& partner = analysis_->info.endpoints[i];
    const TransferType own_type = analysis_->endpoints[endpoint_index(added)]->type;
    if (analysis_->endpoints[i]->type != own_type) continue;
    if (own.is_described && partner.is_described && own.interface != partner.interface) continue;
    const uint8_t out = is_in(added) ? other : added, in = is_in(added) ? added : other;
    if (!is_wanted(out, in) || budget_->pairings == 0) continue;
    --budget_->pairings;
    pairings_.push_back(
        std::make_unique<OrderPairing>(analysis_->key, out, in, options_->timeout_ns));
    for (Kept& kept : kept_[endpoint_index(out)]) {
      kept.transfer.data = kept.data.data();
      pairings_.back()->out(kept.transfer, [](const Pair&) {});
    }
    kept_[endpoint_index(out)].clear();
    pairings_of_[endpoint_index(out)].push_back(pairings_.back().get());
    pairings_of_[endpoint_index(in)].push_back(pairings_.back().get());
  }
}

// An IN endpoint is known by its first data, and that already answers something.
void DeviceTracker::keep(const Transfer& transfer) {
  constexpr size_t kMostKept = 16, kMostBytes = 1024;
  std::vector<Kept>& kept = kept_[endpoint_index(transfer.endpoint)];
  if (kept.size() == kMostKept) kept.erase(kept.begin());
  const size_t size = std::min(transfer.size, kMostBytes);
  kept.push_back({transfer, {transfer.data, transfer.data + size}});
  kept.back().transfer.size = size;
}

void DeviceTracker::streams(const Transfer& transfer) {
  if (transfer.actual == 0) return;
  const size_t index = endpoint_index(transfer.endpoint);
  if (!has_data_[index]) {
    has_data_[index] = true;
    find_partners(transfer.endpoint);
  }
  if (!is_in(transfer.endpoint) && pairings_of_[index].empty()) keep(transfer);
  static const OrderPairing::Sink silent = [](const Pair&) {};
  // Of network traffic only the pairs by content are told as they come.
  const OrderPairing::Sink& sink = content_.empty() ? on_pair_ : silent;
  for (OrderPairing* pairing : pairings_of_[index]) {
    if (is_in(transfer.endpoint)) {
      pairing->in(transfer, sink);
    } else {
      pairing->out(transfer, sink);
    }
  }
}

void DeviceTracker::abandoned(uint8_t address, int64_t time_ns, uint32_t asked, Abandoned why) {
  EndpointStatistics* statistics = analysis_->endpoints[endpoint_index(address)].get();
  if (statistics != nullptr) statistics->was_abandoned(why, time_ns, asked);
  if (why == Abandoned::lost) lost();
}

void DeviceTracker::nak(uint8_t address) {
  EndpointStatistics* statistics = endpoint(address, TransferType::bulk);
  if (statistics != nullptr) ++statistics->naks;
}

void DeviceTracker::data_packet(uint8_t address, uint64_t index) {
  EndpointStatistics* statistics = endpoint(address, TransferType::bulk);
  if (statistics != nullptr) statistics->data_packet(index);
}

void DeviceTracker::lost() {
  ++analysis_->losses;
  if (requests_ != nullptr) requests_->clear();
  for (const auto& pairing : pairings_) pairing->shut_out();
  for (auto& kept : kept_) kept.clear();
}

void DeviceTracker::finish_content() {
  if (requests_ == nullptr) return;
  requests_->clear();
  for (const auto& result : content_) {
    const auto kind = static_cast<size_t>(kind_of(result->by));
    result->requests = requests_of_kind_[kind];
    result->unanswered = requests_->unanswered().by_kind[kind];
    result->shut_out = requests_->shut_out().by_kind[kind];
    result->unrequested = unrequested_of_kind_[kind];
  }
}

std::unique_ptr<DeviceAnalysis> DeviceTracker::finish() {
  finish_content();
  auto& results = analysis_->turnarounds;
  bool is_paired_by_content = false;
  for (auto& result : content_) {
    is_paired_by_content = is_paired_by_content || result->by != PairedBy::arp;
    results.push_back(std::move(result));
  }
  for (const auto& pairing : pairings_) {
    pairing->finish();
    const Turnaround& result = pairing->result();
    if (!is_paired_by_content && result.times.count() != 0) {
      results.push_back(std::make_unique<Turnaround>(result));
    }
  }
  std::stable_sort(results.begin(), results.end(), [](const auto& a, const auto& b) {
    if (rank(*a) != rank(*b)) return rank(*a) < rank(*b);
    return a->times.count() > b->times.count();
  });
  for (const auto& statistics : analysis_->endpoints) {
    if (statistics != nullptr) statistics->finish();
  }
  return std::move(analysis_);
}

}  // namespace millrace::capture
