// SPDX-License-Identifier: Apache-2.0
// Periodic interrupt timer (IMXRT1060RM chapter 53): four 32-bit down counters of PERCLK.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "core/device.h"
#include "devices/clocks.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class Pit final : public Device, private ClockUser {
 public:
  static constexpr uint32_t kBase = 0x40084000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq = 122;
  static constexpr unsigned kChannels = 4;

  // An expiry of a watched channel, as DMAMUX and XBARA1 see it.
  using Trigger = std::function<void(unsigned channel, Cycles when)>;

  // The references must outlive this.
  Pit(DeviceHost& host, Clocks& clocks, Trigger trigger = {});

  // Expiries of an unwatched channel cost nothing unless its interrupt is on. Calls nest: a channel
  // is watched until there were as many calls with false as with true.
  void watch(unsigned channel, bool on);

  void snapshot(Snapshot& s);

  std::string_view name() const override { return "PIT"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  struct Channel {
    uint32_t count = 0;  // CVAL
    bool flag = false;
    uint32_t watchers = 0;
  };

  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;
  static void on_event(void* context, Cycles when);
  uint32_t load(unsigned channel) const;
  uint32_t control(unsigned channel) const;
  bool enabled(unsigned channel) const;
  bool chained(unsigned channel) const;
  // Counts `inputs` of its clock; returns how often it expired.
  uint64_t count_down(unsigned channel, uint64_t inputs);
  void advance(uint64_t ticks);
  // PERCLK ticks until the expiry, 0 if never.
  uint64_t ticks_to_expiry(unsigned channel) const;
  // The same for the first that anybody would see.
  uint64_t ticks_to_event() const;
  void settle(Cycles now);
  void update();

  DeviceHost& host_;
  Clocks& clocks_;
  Trigger trigger_;
  RegisterFile registers_;
  Event event_;
  Ticks ticks_;
  uint64_t settled_ = 0;  // ticks that the channels have counted
  std::array<Channel, kChannels> channels_;
  uint32_t lifetime_low_ = 0;  // LTMR64L, as LTMR64H found it
  bool level_ = false;
};

}  // namespace millrace::board
