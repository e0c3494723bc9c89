// SPDX-License-Identifier: Apache-2.0
// The watchdogs (IMXRT1060RM, chapters WDOG and RTWDOG): WDOG1 and WDOG2 with 16-bit registers and
// half-second steps, and RTWDOG (WDOG3) with keys. They run whatever the core does: stopping in
// debug, wait and stop modes is not modelled.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/clocks.h"
#include "devices/register_file.h"

namespace millrace::board {

using ResetListener = std::function<void(Cycles now)>;

class Wdog final : public Device, public ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x400B8000;
  static constexpr uint32_t kBase2 = 0x400D0000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq1 = 92;
  static constexpr unsigned kIrq2 = 45;

  Wdog(DeviceHost& host, Clocks& clocks, unsigned number);  // 1 or 2

  std::string_view name() const override { return number_ == 1 ? "WDOG1" : "WDOG2"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  // WRSR then tells whether this watchdog asked for the reset.
  void reset() override;
  void snapshot(Snapshot& s);
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;

  // Time-out, or a software reset (WCR.SRS). The listener need not reset within the call.
  void on_reset_request(ResetListener listener) { request_ = std::move(listener); }

 private:
  static void on_event(void* context, Cycles when);
  void load(Cycles now);
  void update(Cycles now);
  void request(uint32_t cause, Cycles now);

  DeviceHost& host_;
  const Clocks& clocks_;
  unsigned number_;
  RegisterFile registers_;
  Ticks ticks_;                 // since the last load
  uint32_t half_seconds_ = 0;   // that were loaded
  bool serviced_once_ = false;  // 0x5555 was written
  bool expired_ = false;
  bool warned_ = false;  // WTIS was set since the last load
  uint32_t cause_;       // of the next reset, for WRSR
  Event event_;
  ResetListener request_;
};

class Rtwdog final : public Device, public ClockUser {
 public:
  static constexpr uint32_t kBase = 0x400BC000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq = 93;

  Rtwdog(DeviceHost& host, Clocks& clocks);

  std::string_view name() const override { return "RTWDOG"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;  // as the boot ROM leaves it: off
  void snapshot(Snapshot& s);
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;

  void on_reset_request(ResetListener listener) { request_ = std::move(listener); }

 private:
  static void on_event(void* context, Cycles when);
  uint64_t source_hz() const;
  uint64_t count(Cycles now) const;
  bool unlocked(Cycles now) const;
  void restart(Cycles now);
  void key_written(unsigned size, uint32_t value, Cycles now);
  void refresh(Cycles now);
  void schedule(Cycles now);
  void request(Cycles now);

  DeviceHost& host_;
  const Clocks& clocks_;
  RegisterFile registers_;
  Ticks ticks_;               // of the source, since the last refresh
  Ticks bus_;                 // of the IPG clock, since the unlock or the interrupt
  bool window_open_ = false;  // an unlock was seen and CS not yet written
  uint32_t first_half_ = 0;   // of a key in two 16-bit writes; 0: none
  bool expired_ = false;      // time is up, the reset follows
  Event event_;
  ResetListener request_;
};

}  // namespace millrace::board
