// SPDX-License-Identifier: Apache-2.0
// An EthernetPort without a board: keeps what is sent, and a test turns the clock.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "millrace/board/ethernet_port.h"

namespace millrace::board::testing {

class FakeEthernetPort final : public EthernetPort {
 public:
  explicit FakeEthernetPort(uint8_t last_of_mac = 0x01) {
    info_.mac = {0x02, 0, 0, 0, 0, last_of_mac};
  }

  void set_client(EthernetClient* c) override { client = c; }
  bool is_offered() const override { return true; }
  bool is_configured() const override { return true; }
  bool has_carrier() const override { return carrier; }
  std::string problem() const override { return {}; }
  const EthernetInfo& info() const override { return info_; }
  const std::vector<std::string>& findings() const override { return findings_; }
  bool send(std::span<const uint8_t> frame) override {
    if (!carrier || !takes) return false;
    sent.emplace_back(frame.begin(), frame.end());
    return true;
  }
  size_t queued() const override { return 0; }
  const EthernetCounts& counts() const override { return counts_; }
  uint64_t ns() const override { return now; }
  void wake_at(uint64_t ns) override { alarm = ns; }

  void set_carrier(bool on) {
    carrier = on;
    if (client != nullptr) client->link_changed();
  }
  void receive(std::span<const uint8_t> frame) {
    if (client != nullptr) client->received(frame, now);
  }
  // To `ns`, with every alarm on the way.
  void advance_to(uint64_t ns) {
    while (alarm <= ns) {
      now = std::max(now, alarm);
      alarm = UINT64_MAX;
      client->woken(now);
    }
    now = ns;
  }
  std::vector<uint8_t> take() {
    if (sent.empty()) return {};
    std::vector<uint8_t> frame = std::move(sent.front());
    sent.pop_front();
    return frame;
  }

  EthernetClient* client = nullptr;
  bool carrier = true;
  bool takes = true;
  uint64_t now = 0;
  uint64_t alarm = UINT64_MAX;
  std::deque<std::vector<uint8_t>> sent;

 private:
  EthernetInfo info_;
  EthernetCounts counts_;
  std::vector<std::string> findings_;
};

// Everything that waits in either goes to the other, until nothing does.
inline void exchange(FakeEthernetPort& a, FakeEthernetPort& b) {
  while (!a.sent.empty() || !b.sent.empty()) {
    if (!a.sent.empty()) b.receive(a.take());
    if (!b.sent.empty()) a.receive(b.take());
  }
}

}  // namespace millrace::board::testing
