// SPDX-License-Identifier: Apache-2.0
// Secure Non-Volatile Storage (IMXRT1060RM chapter 20), its non-secure part: the two real-time
// counters with their alarms, the general purpose registers and the power-off request. Locks are
// stored and not enforced. Monotonic counter, keys, tamper detection and the high assurance counter
// are not modelled.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/clocks.h"
#include "devices/register_file.h"

namespace millrace::board {

class Snvs final : public Device, public ClockUser {
 public:
  static constexpr uint32_t kBase = 0x400D4000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq = 46;  // alarms and periodic interrupt

  Snvs(DeviceHost& host, Clocks& clocks);

  std::string_view name() const override { return "SNVS"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  // A reset of the system: the LP domain, which a battery would keep alive, keeps its state.
  void reset() override;
  void snapshot(Snapshot& s);
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;

  // LPCR.TOP with DP_EN: the firmware switches the board off.
  void on_power_off(std::function<void(Cycles now)> listener) { power_off_ = std::move(listener); }

 private:
  // 47 bits at 32768 Hz.
  struct Counter {
    Ticks ticks;
    uint64_t start = 0;  // value at tick 0, or while stopped
    bool running = false;

    uint64_t value(Cycles now) const;
    // The first cycle, not before `now`, at which value() is `target`.
    Cycles when(uint64_t target, Cycles now) const;
    void set(uint64_t value, bool run, Cycles now, const Clocks& clocks);
    void snapshot(Snapshot& s);
  };

  static void on_alarm(void* context, Cycles when);
  void set_half(Counter& counter, uint32_t low_offset, uint32_t offset, uint32_t value, Cycles now);
  void hp_control_written(const RegisterChange& change, Cycles now);
  void lp_control_written(const RegisterChange& change, Cycles now);
  void update(Cycles now);  // flags that are due, the line, the next event

  DeviceHost& host_;
  const Clocks& clocks_;
  RegisterFile registers_;
  Counter rtc_;           // HP
  Counter srtc_;          // LP
  uint64_t periods_ = 0;  // periodic interrupts that have been seen
  bool hp_alarm_armed_ = false;
  bool lp_alarm_armed_ = false;
  Event alarm_;
  std::function<void(Cycles)> power_off_;
};

}  // namespace millrace::board
