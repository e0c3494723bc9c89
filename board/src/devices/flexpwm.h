// SPDX-License-Identifier: Apache-2.0
// FlexPWM1..4 (IMXRT1060RM chapter 55): four submodules each, whose counter goes from INIT to VAL1.
// Modelled are counting, double-buffered values, reload and compare flags, triggers and DMA; the
// outputs, dead times, faults and captures are registers without effect.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "core/device.h"
#include "devices/clocks.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class Flexpwm final : public Device, private ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x403DC000;  // PWMn at kBase1 + (n - 1) * kSize
  static constexpr uint32_t kSize = 0x4000;
  static constexpr std::array<unsigned, 4> kIrqs = {102, 137, 142, 147};  // of submodule 0
  static constexpr unsigned kSubmodules = 4;

  // OUT_TRIG0 (`which` 0, of VAL0, 2, 4) or OUT_TRIG1 (VAL1, 3, 5) of a watched submodule: a pulse.
  using Trigger = std::function<void(unsigned submodule, unsigned which, Cycles when)>;

  // `number` 1..4. The references must outlive this.
  Flexpwm(DeviceHost& host, Clocks& clocks, unsigned number, Trigger trigger = {},
          DmaLine dma = {});

  // A watched submodule's triggers come at their time; others are lost. Calls nest.
  void watch(unsigned submodule, bool on);
  // The DMA request of this source was served (DMAMUX): clears RF.
  void dma_served(unsigned source);

  uint32_t base() const { return kBase1 + (number_ - 1) * kSize; }
  void snapshot(Snapshot& s);

  std::string_view name() const override { return name_; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  struct Submodule {
    // In effect; the registers are what is loaded next.
    uint16_t init = 0;
    std::array<uint16_t, 6> values{};
    uint8_t prescaler = 0;
    uint16_t count = 0;
    uint8_t cycles = 0;    // since the last reload opportunity that counted (LDFQ)
    bool changed = false;  // RUF
    uint64_t settled = 0;  // IPG ticks
    uint32_t watchers = 0;
  };

  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;
  static void on_event(void* context, Cycles when);
  uint32_t& reg(unsigned submodule, uint32_t offset);
  uint32_t reg(unsigned submodule, uint32_t offset) const;
  bool running(unsigned submodule) const;
  uint32_t period(unsigned submodule) const;
  uint32_t counts_to_point(unsigned submodule) const;
  uint64_t ticks_to(unsigned submodule, uint64_t counts) const;
  uint32_t possible_flags(unsigned submodule) const;
  bool observed(unsigned submodule) const;
  bool steady(unsigned submodule) const;
  void load(unsigned submodule);
  void reload(unsigned submodule);
  void match(unsigned submodule);
  void settle(unsigned submodule, uint64_t end);
  void settle(Cycles now);
  void update();
  unsigned dma_source(unsigned submodule) const;
  bool locked(uint32_t offset) const;
  uint32_t read_half(uint32_t offset);
  void write_half(uint32_t offset, unsigned size, uint32_t value);
  void write_master(uint32_t before, uint32_t written);
  void write_submodule(uint32_t offset, uint32_t written, const RegisterChange& change);

  DeviceHost& host_;
  Clocks& clocks_;
  const unsigned number_;
  const std::string name_;
  Trigger trigger_;
  DmaLine dma_;
  RegisterFile registers_;
  Event event_;
  Ticks ticks_;
  std::array<Submodule, kSubmodules> state_;
  uint8_t levels_ = 0, requests_ = 0;
};

}  // namespace millrace::board
