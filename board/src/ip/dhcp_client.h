// SPDX-License-Identifier: Apache-2.0
// The state machine of a DHCP client (RFC 2131 4.4) without anything around it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "ip/dhcp.h"

namespace millrace::board {

class DhcpClient {
 public:
  struct Hooks {
    // To everybody, or with `to` to one server that knows our address.
    std::function<void(std::optional<Ipv4Address> to, const Bytes& message)> send;
    std::function<void(uint64_t ns, std::function<void()>)> at;
    std::function<uint64_t()> ns;
    std::function<void()> changed;  // lease()
  };

  // The hooks stay usable as long as this is.
  explicit DhcpClient(Hooks hooks) : hooks_(std::move(hooks)) {}
  void start(const MacAddress& mac);  // from the beginning, forgets the lease
  void stop();                        // likewise
  bool is_started() const { return state_ != State::off; }
  void receive(std::span<const uint8_t> message);
  const std::optional<DhcpLease>& lease() const { return lease_; }

 private:
  enum class State : uint8_t { off, selecting, requesting, bound, renewing };

  void enter(State state);
  void send();
  void later(uint64_t delay_s, std::function<void()> call);
  void bind(const DhcpLease& lease);
  void set_lease(std::optional<DhcpLease> lease);

  Hooks hooks_;
  MacAddress mac_{};
  State state_ = State::off;
  uint64_t round_ = 0;  // timers of earlier rounds do nothing
  unsigned attempts_ = 0;
  uint32_t transaction_ = 0;
  DhcpLease offer_;
  std::optional<DhcpLease> lease_;
};

}  // namespace millrace::board
