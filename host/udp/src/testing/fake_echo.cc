// SPDX-License-Identifier: Apache-2.0
#include "fake_echo.h"

#include <algorithm>

#include "millrace/link/echo_counters.h"

namespace millrace::udp::testing {

namespace {

bool is_nth(uint64_t number, uint64_t every) { return every != 0 && number % every == 0; }

}  // namespace

size_t FakeEchoPort::send(std::span<const std::span<const uint8_t>> datagrams) {
  for (size_t i = 0; i < datagrams.size(); ++i) {
    if (is_nth(++sent_, fake_.refuse_every)) return i;
    now_ += fake_.send_ns;
    request(datagrams[i]);
  }
  return datagrams.size();
}

void FakeEchoPort::request(std::span<const uint8_t> bytes) {
  const int64_t at = now_ + fake_.way_ns;
  const int64_t gap = at - last_request_ns_;
  last_request_ns_ = at;
  ++requests_;
  while (!ends_.empty() && ends_.front() <= at) ends_.pop_front();
  const bool is_in_band = fake_.band_gap_low_ns <= gap && gap <= fake_.band_gap_high_ns;
  if (at < fake_.deaf_until_ns || is_nth(requests_, fake_.lose_every) ||
      (is_in_band && is_nth(requests_, 10))) {
    return;
  }
  if (ends_.size() >= fake_.queue) {
    busy_until_ns_ += fake_.drop_cost_ns;
    return;
  }
  int64_t end = std::max(at, busy_until_ns_) + fake_.service_ns;
  busy_until_ns_ = end;
  ends_.push_back(end);
  ++replies_;
  if (fake_.tick_ns != 0) end = at + fake_.tick_ns * static_cast<int64_t>(1 + replies_ % 3);
  int64_t arrival = end + fake_.way_ns;
  std::vector<uint8_t> reply(bytes.begin(), bytes.end());
  if (is_nth(replies_, fake_.alter_every)) reply[reply.size() - 1] ^= 0x10;
  if (is_nth(replies_, fake_.swap_every)) arrival += 3 * fake_.service_ns;
  if (is_nth(replies_, fake_.overflow_every)) {
    ++drops_.socket_overflow;
    return;
  }
  if (is_nth(replies_, fake_.interface_drop_every)) {
    ++drops_.interface_rx;
    return;
  }
  if (is_nth(replies_, fake_.duplicate_every)) under_way_.emplace(arrival + 1, reply);
  if (fake_.replies_at_once > 1) {
    held_.push_back(std::move(reply));
    if (held_.size() < fake_.replies_at_once) return;
    for (std::vector<uint8_t>& each : held_) under_way_.emplace(arrival, std::move(each));
    held_.clear();
    return;
  }
  under_way_.emplace(arrival, std::move(reply));
}

HostDrops FakeEchoPort::host_drops() {
  HostDrops seen = drops_;
  const bool is_gone = fake_.dies_at_ns != 0 && now_ >= fake_.dies_at_ns;
  seen.interface_rx = is_gone ? 0 : seen.interface_rx + fake_.earlier_drops;
  seen.interface_tx = is_gone ? 0 : seen.interface_tx + fake_.earlier_drops;
  return seen;
}

size_t FakeEchoPort::receive(int64_t deadline_ns, const std::function<void(const Arrival&)>& take) {
  if (fake_.stall_every_ns != 0 && now_ >= next_stall_ns_) {
    now_ += fake_.stall_ns;
    next_stall_ns_ = now_ + fake_.stall_every_ns;
  }
  size_t count = 0;
  while (!under_way_.empty() && under_way_.begin()->first <= std::max(now_, deadline_ns)) {
    const auto first = under_way_.begin();
    if (count != 0 && first->first > now_) break;
    now_ = std::max(now_, first->first);
    take({first->first, first->second});
    under_way_.erase(first);
    ++count;
  }
  if (count == 0) now_ = std::max(now_, deadline_ns);
  return count;
}

std::vector<uint8_t> FakeEchoPort::ask(uint16_t port, std::span<const uint8_t> request,
                                       int64_t /*patience_ns*/) {
  uint32_t tag = 0;
  if (!fake_.has_counters || port != link::kEchoCountersPort) return {};
  if (!link::decode_counters_request(request.data(), request.size(), &tag)) return {};
  link::EchoCounters counters;
  counters[link::EchoCounter::echo_requests] = static_cast<uint32_t>(requests_);
  counters[link::EchoCounter::echo_replies] = static_cast<uint32_t>(replies_);
  std::vector<uint8_t> reply(link::kEchoCountersReplyBytes);
  link::encode_counters_reply(tag, counters, reply.data());
  return reply;
}

std::optional<host::Error> FakeEchoPort::trouble() {
  if (fake_.dies_at_ns == 0 || now_ < fake_.dies_at_ns) return std::nullopt;
  return host::Error{host::ErrorCode::gone, "fake: unplugged"};
}

}  // namespace millrace::udp::testing
