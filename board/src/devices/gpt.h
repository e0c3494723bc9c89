// SPDX-License-Identifier: Apache-2.0
// General purpose timers GPT1 and GPT2 (IMXRT1060RM chapter 52): a 32-bit up counter with three
// compare channels. Pins (capture, compare outputs, external clock) are not modelled.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "devices/clocks.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class Gpt final : public Device, private ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x401EC000, kBase2 = 0x401F0000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq1 = 100, kIrq2 = 101;

  // `number` 1 or 2. The references must outlive this.
  Gpt(DeviceHost& host, Clocks& clocks, unsigned number);

  uint32_t base() const { return number_ == 1 ? kBase1 : kBase2; }
  void snapshot(Snapshot& s);

  std::string_view name() const override { return number_ == 1 ? "GPT1" : "GPT2"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;
  static void on_event(void* context, Cycles when);
  bool restarts() const;
  uint64_t source_hz() const;
  uint64_t prescale() const;
  void retime(Cycles now);
  uint32_t last_before_zero() const;
  // Ticks until the counter is `target`, or until a flag of SR rises; 0: never.
  uint64_t ticks_to(uint32_t target) const;
  uint64_t ticks_to_flag(unsigned bit) const;
  void settle(Cycles now);
  void write_control(uint32_t before, Cycles now);
  void update();

  DeviceHost& host_;
  Clocks& clocks_;
  const unsigned number_;
  RegisterFile registers_;
  Event event_;
  Ticks ticks_;
  uint64_t settled_ = 0;
  uint32_t count_ = 0;
  bool level_ = false;
};

}  // namespace millrace::board
