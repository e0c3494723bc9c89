// SPDX-License-Identifier: Apache-2.0
// The clock tree as its users see it: rates in Hz, changed by the clock controller alone (CCM,
// CCM_ANALOG; IMXRT1060RM chapter 14), and exact counting of one clock's ticks in core cycles.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/event_queue.h"
#include "core/snapshot.h"

namespace millrace::board {

enum class Clock : uint8_t {
  core,      // AHB_CLK_ROOT of the core: the unit of Cycles
  ipg,       // IPG_CLK_ROOT
  perclk,    // PERCLK_CLK_ROOT: PIT, GPT
  uart,      // UART_CLK_ROOT
  flexspi1,  // FLEXSPI_CLK_ROOT: the flash
  flexspi2,  // the PSRAM
  osc24m,    // crystal oscillator
  osc32k,    // RTC oscillator, 32768 Hz
};
inline constexpr size_t kClocks = 8;

// Somebody who counts ticks. Both calls come at the time of the change, before() with the old
// rates.
class ClockUser {
 public:
  virtual void before_clock_change(Cycles now) = 0;
  virtual void after_clock_change(Cycles now) = 0;

 protected:
  ~ClockUser() = default;
};

class Clocks {
 public:
  using Rates = std::array<uint64_t, kClocks>;  // Hz, by Clock; never 0 for core

  // What the boot ROM leaves; follows from the register values in ccm.cc and ccm_analog.cc.
  static constexpr Rates kBootRates = {396'000'000, 132'000'000, 66'000'000, 20'000'000,
                                       102'857'142, 154'285'714, 24'000'000, 32'768};

  uint64_t hz(Clock clock) const { return rates_[static_cast<size_t>(clock)]; }
  const Rates& rates() const { return rates_; }
  // REQUIRES: rates[core] > 0. Users are told in the order they were added; equal rates tell
  // nobody.
  void set(const Rates& rates, Cycles now);
  void add_user(ClockUser& user) { users_.push_back(&user); }  // outlives this, or is removed
  void remove_user(ClockUser& user) { std::erase(users_, &user); }
  void snapshot(Snapshot& s) { s.field("rates", rates_); }

 private:
  Rates rates_ = kBootRates;
  std::vector<ClockUser*> users_;
};

// A free-running count of one clock's ticks. Exact: the k-th tick falls on the first core cycle at
// or behind k * core_hz / hz since start().
class Ticks {
 public:
  // Tick 0 is at `now`. `hz` 0: the clock stands still.
  void start(Cycles now, uint64_t hz, uint64_t core_hz);
  // New rates from `now` on; the count and the part of a tick that has passed are kept.
  void change(Cycles now, uint64_t hz, uint64_t core_hz);
  // Ticks so far. A `now` before the last start() or change() counts as that time: a device access
  // may be stamped later than an event that follows it.
  uint64_t count(Cycles now) const;
  // The first cycle at which count() >= `count`; kNever if the clock stands still or it is more
  // than 2^62 cycles away. A count in the past gives the time of the last start() or change().
  Cycles when(uint64_t count) const;
  bool running() const { return hz_ != 0; }
  void snapshot(Snapshot& s);

 private:
  Cycles base_ = 0;        // time of the last change
  uint64_t counted_ = 0;   // ticks before it
  uint64_t fraction_ = 0;  // of the next tick at base_, in 1/core_hz_
  uint64_t hz_ = 0;
  uint64_t core_hz_ = 1;
};

}  // namespace millrace::board
