// SPDX-License-Identifier: Apache-2.0
// DMA request multiplexer (IMXRT1060RM chapter 5): which source drives which eDMA channel, and the
// gating of channels 0..3 by the PIT.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>

#include "core/device.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class Dmamux final : public Device {
 public:
  static constexpr uint32_t kBase = 0x400EC000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kChannels = 32;
  static constexpr unsigned kSources = 128;
  static constexpr unsigned kTriggers = 4;

  struct Outputs {
    std::function<void(unsigned channel, bool level)> request;  // to Edma::set_request
    std::function<void(unsigned channel, bool on)> watch;       // to Pit::watch
    std::function<void(unsigned source)> served;                // to sources that hold a pulse
  };

  // The reference must outlive this.
  Dmamux(DeviceHost& host, Outputs outputs);

  void set_source(unsigned source, bool level);  // a DmaLine
  void trigger(unsigned channel);                // from the PIT
  void served(unsigned channel);                 // from the eDMA

  void snapshot(Snapshot& s);

  std::string_view name() const override { return "DMAMUX"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  bool gated(unsigned channel) const;
  void update(unsigned channel);

  Outputs outputs_;
  RegisterFile registers_;
  std::bitset<kSources> levels_;
  uint32_t triggered_ = 0;  // by channel: the PIT has opened the gate
  uint32_t watched_ = 0;
  uint32_t requests_ = 0;
};

}  // namespace millrace::board
