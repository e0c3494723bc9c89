// SPDX-License-Identifier: Apache-2.0
// An echo device with a queue, and a host before it, in virtual time; both can be made to fail.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "millrace/udp/datagram_port.h"

namespace millrace::udp::testing {

struct FakeEcho {
  // The device.
  int64_t way_ns = 20'000;                            // each way
  int64_t service_ns = 50'000;                        // of an echo: 20,000/s at most
  size_t queue = 64;                                  // requests that wait; further ones are lost
  int64_t drop_cost_ns = 0;                           // that a lost request costs as well
  int64_t band_gap_low_ns = 0, band_gap_high_ns = 0;  // one in ten is lost at such a distance
  size_t replies_at_once = 1;                         // none leaves before so many are done
  int64_t tick_ns = 0;  // a reply leaves 1, 2, 3, 1, ... ticks after its request came
  uint64_t duplicate_every = 0, alter_every = 0, swap_every = 0, lose_every = 0;
  int64_t deaf_until_ns = 0;  // loses everything before
  // The host.
  int64_t send_ns = 0;  // that a datagram costs the caller
  uint64_t refuse_every = 0, overflow_every = 0, interface_drop_every = 0;
  int64_t stall_ns = 0, stall_every_ns = 0;  // the caller sleeps so long
  uint64_t earlier_drops = 0;                // that the interface had counted before
  int64_t dies_at_ns = 0;                    // and the interface with it
  bool has_counters = false;
};

class FakeEchoPort final : public DatagramPort, private host::Clock {
 public:
  explicit FakeEchoPort(const FakeEcho& fake) : fake_(fake) { info_.name = "fake"; }

  host::Clock& clock() override { return *this; }
  size_t send(std::span<const std::span<const uint8_t>> datagrams) override;
  size_t receive(int64_t deadline_ns, const std::function<void(const Arrival&)>& take) override;
  std::optional<host::Error> trouble() override;
  HostDrops host_drops() override;
  PingCount ping(uint32_t count) override { return {count, count, {}}; }
  std::vector<uint8_t> ask(uint16_t port, std::span<const uint8_t> request,
                           int64_t patience_ns) override;
  std::optional<TransferCounts> transfers() override { return transfers_; }
  const PortInfo& info() const override { return info_; }

  std::optional<TransferCounts> transfers_;

 private:
  int64_t now_ns() override { return now_; }
  void sleep_until(int64_t deadline_ns) override { now_ = std::max(now_, deadline_ns); }
  bool is_virtual() const override { return true; }
  void request(std::span<const uint8_t> bytes);

  const FakeEcho fake_;
  PortInfo info_;
  int64_t now_ = 1'000'000'000;
  int64_t next_stall_ns_ = 0;
  HostDrops drops_;
  uint64_t sent_ = 0, requests_ = 0, replies_ = 0;
  int64_t last_request_ns_ = 0, busy_until_ns_ = 0;
  std::deque<int64_t> ends_;  // of those in the queue
  std::multimap<int64_t, std::vector<uint8_t>> under_way_;
  std::vector<std::vector<uint8_t>> held_;
};

}  // namespace millrace::udp::testing
