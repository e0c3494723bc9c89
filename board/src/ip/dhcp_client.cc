// SPDX-License-Identifier: Apache-2.0
#include "ip/dhcp_client.h"

#include <algorithm>
#include <utility>

namespace millrace::board {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kFirstWait = 4, kLongestWait = 64;
constexpr unsigned kMostRequests = 4;  // then another server may do
constexpr uint32_t kShortestLease = 10, kForEver = 0xFFFFFFFF;

}  // namespace

void DhcpClient::later(uint64_t delay_s, std::function<void()> call) {
  hooks_.at(hooks_.ns() + delay_s * kSecond, [this, round = round_, call = std::move(call)] {
    if (round == round_) call();
  });
}

void DhcpClient::set_lease(std::optional<DhcpLease> lease) {
  const bool changes = lease.has_value() || lease_.has_value();
  lease_ = lease;
  if (changes) hooks_.changed();
}

void DhcpClient::start(const MacAddress& mac) {
  mac_ = mac;
  enter(State::selecting);
  set_lease(std::nullopt);
}

void DhcpClient::stop() {
  state_ = State::off;
  ++round_;
  set_lease(std::nullopt);
}

void DhcpClient::enter(State state) {
  state_ = state;
  ++round_;
  attempts_ = 0;
  if (state == State::selecting) ++transaction_;
  send();
}

void DhcpClient::send() {
  if (state_ == State::requesting && attempts_ == kMostRequests) return enter(State::selecting);
  DhcpMessage m;
  m.type = state_ == State::selecting ? DhcpType::discover : DhcpType::request;
  // Repeats from run to run, and differs from device to device.
  m.transaction = load_be32(&mac_[2]) + transaction_;
  m.mac = mac_;
  if (state_ == State::requesting) {
    m.requested = offer_.address;
    m.server = offer_.server;
  }
  if (state_ == State::renewing) m.client = lease_->address;
  const bool is_direct = state_ == State::renewing && lease_->server != 0;
  const uint64_t wait = std::min(kFirstWait << std::min(attempts_, 8u), kLongestWait);
  ++attempts_;
  later(wait, [this] { send(); });
  hooks_.send(is_direct ? std::optional(lease_->server) : std::nullopt, make_dhcp(m));
}

void DhcpClient::receive(std::span<const uint8_t> bytes) {
  const std::optional<DhcpMessage> m = parse_dhcp_reply(bytes);
  if (!m || m->transaction != load_be32(&mac_[2]) + transaction_ || m->mac != mac_) return;
  const bool waits = state_ == State::requesting || state_ == State::renewing;
  if (m->type == DhcpType::offer && state_ == State::selecting && m->lease.address != 0) {
    offer_ = m->lease;
    enter(State::requesting);
  } else if (m->type == DhcpType::ack && waits && m->lease.address != 0) {
    bind(m->lease);
  } else if (m->type == DhcpType::nak && waits) {
    start(mac_);
  }
}

void DhcpClient::bind(const DhcpLease& lease) {
  state_ = State::bound;
  ++round_;
  const uint32_t seconds = std::max(lease.seconds, kShortestLease);
  if (lease.seconds != kForEver) {
    later(seconds / 2, [this, seconds] {  // T1, RFC 2131 4.4.5
      enter(State::renewing);
      later(seconds - seconds / 2, [this] { start(mac_); });
    });
  }
  set_lease(lease);
}

}  // namespace millrace::board
