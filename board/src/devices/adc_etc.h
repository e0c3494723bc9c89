// SPDX-License-Identifier: Apache-2.0
// ADC external trigger control (IMXRT1060RM chapter 67): eight triggers, each a chain of up to
// eight conversions; 0..3 use ADC1, 4..7 ADC2. The touch screen's triggers are not modelled.
#pragma once

#include <array>
#include <cstdint>

#include "core/device.h"
#include "devices/adc.h"
#include "devices/clocks.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class AdcEtc final : public Device, private ClockUser {
 public:
  static constexpr uint32_t kBase = 0x403B0000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrqDone0 = 118, kIrqDone1 = 119, kIrqDone2 = 120, kIrqError = 121;
  static constexpr unsigned kTriggers = 8;
  static constexpr unsigned kDmaSource = 23;

  // Takes the results of the converters' hardware triggers. The references must outlive this.
  AdcEtc(DeviceHost& host, Clocks& clocks, Adc& adc1, Adc& adc2, DmaLine dma = {});

  // A rising edge at a trigger input (XBARA1 outputs 103..110).
  void trigger(unsigned number, Cycles when);

  void snapshot(Snapshot& s);

  std::string_view name() const override { return "ADC_ETC"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  enum class Phase : uint8_t { idle, waiting, ready, converting };
  struct Chain {
    Phase phase = Phase::idle;
    uint8_t segment = 0;
    uint64_t due = 0;  // IPG tick at which `waiting` ends
  };

  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;
  static void on_event(void* context, Cycles when);
  uint32_t& reg(unsigned trigger, uint32_t offset);
  uint32_t reg(unsigned trigger, uint32_t offset) const;
  uint32_t segment(unsigned trigger) const;  // the chain's 16 bits of the current segment
  uint64_t delay(uint32_t counts) const;     // IPG ticks
  void start(unsigned trigger, Cycles when);
  void begin(unsigned trigger, uint64_t tick);
  // Hands each free converter its most important waiting segment.
  void dispatch(Cycles when);
  void done(unsigned adc, uint16_t value, Cycles when);
  void settle(Cycles now);
  void update();

  DeviceHost& host_;
  Clocks& clocks_;
  std::array<Adc*, 2> adcs_;
  DmaLine dma_;
  RegisterFile registers_;
  Event event_;
  Ticks ticks_;
  std::array<Chain, kTriggers> chains_;
  uint8_t lines_ = 0;
  bool request_ = false;
};

}  // namespace millrace::board
