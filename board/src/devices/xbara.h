// SPDX-License-Identifier: Apache-2.0
// Crossbar XBARA1 (IMXRT1060RM chapter 61): connects timers with ADC_ETC and DMA. Inputs that are
// pins or devices without a model, and outputs that lead there, are reported.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>

#include "core/device.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class Xbara final : public Device {
 public:
  static constexpr uint32_t kBase = 0x403BC000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq01 = 116, kIrq23 = 117;
  static constexpr unsigned kOutputs = 132;

  // Numbers of chapter 4. QTIMER3's and 4's four outputs; FlexPWM1..4's submodules, whose two
  // triggers share an input; the PIT's channels.
  static constexpr unsigned kInQtimer3 = 32, kInQtimer4 = 36, kInPwm1 = 40, kInPit = 56;
  static constexpr unsigned kOutAdcEtc = 103;  // TRIG0..7

  struct Outputs {
    std::function<void(unsigned input, bool on)> watch;  // an input is in use or no longer: 32..59
    std::function<void(unsigned output, bool level, Cycles when)> output;
    DmaLine dma;  // outputs 0..3 are sources 30, 31, 94, 95
  };

  // The reference must outlive this.
  Xbara(DeviceHost& host, Outputs outputs);

  void set_input(unsigned input, bool level, Cycles when);
  void pulse(unsigned input, Cycles when);
  void dma_served(unsigned source);

  void snapshot(Snapshot& s);

  std::string_view name() const override { return "XBARA1"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  static constexpr unsigned kInputs = 128;

  unsigned selected(unsigned output) const;
  bool level(unsigned input) const;
  void edge(unsigned output, bool level, Cycles when);
  void select(unsigned output, unsigned before, unsigned after, Cycles when);
  void update();

  DeviceHost& host_;
  Outputs outputs_;
  RegisterFile registers_;
  std::bitset<kInputs> levels_;
  uint8_t status_ = 0;    // STS of outputs 0..3
  uint8_t requests_ = 0;  // DMA
  uint8_t lines_ = 0;
};

}  // namespace millrace::board
