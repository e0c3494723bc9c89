// SPDX-License-Identifier: Apache-2.0
// DC-DC converter of the core voltage (IMXRT1060RM chapter 18). A new target is reached at once:
// STS_DC_OK is always 1, and no voltage is too low for a clock.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/register_file.h"

namespace millrace::board {

class Dcdc final : public Device {
 public:
  static constexpr uint32_t kBase = 0x40080000;
  static constexpr uint32_t kSize = 0x4000;

  explicit Dcdc(DeviceHost& host);

  std::string_view name() const override { return "DCDC"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override { registers_.reset(); }
  void snapshot(Snapshot& s) { registers_.snapshot(s); }
  unsigned millivolts() const;  // of VDD_SOC: 800 + 25 TRG

 private:
  RegisterFile registers_;
};

}  // namespace millrace::board
