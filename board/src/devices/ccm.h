// SPDX-License-Identifier: Apache-2.0
// Clock Controller Module (IMXRT1060RM chapter 14): selectors and dividers of the clock roots, and
// the gates. Sets Clocks from its own registers and the PLLs of CcmAnalog.
#pragma once

#include <cstdint>
#include <functional>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/ccm_analog.h"
#include "devices/clocks.h"
#include "devices/register_file.h"

namespace millrace::board {

class Ccm final : public Device {
 public:
  static constexpr uint32_t kBase = 0x400FC000;
  static constexpr uint32_t kSize = 0x4000;

  // Becomes the listener of `analog`; both must outlive this.
  Ccm(DeviceHost& host, Clocks& clocks, CcmAnalog& analog);

  std::string_view name() const override { return "CCM"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;  // as the boot ROM leaves it; sets Clocks
  void snapshot(Snapshot& s);

  // WFI and WFE stop the core's clock (CLPCR: LPM other than RUN, ARM_CLK_DIS_ON_LPM), as they do
  // after a reset. Called at once and whenever it may have changed.
  void on_wait_mode(std::function<void(bool)> wait_mode);

  // The rates that the registers and the PLLs give. Firmware that stops the core or a memory would
  // hang the chip; here these clocks never fall below 1 MHz. Others may be 0.
  Clocks::Rates rates() const;

 private:
  uint64_t periph_hz(const PllOutputs& pll, uint64_t pll3_switched) const;
  uint32_t field(uint32_t offset, unsigned low, unsigned width) const;
  // 1 + the field: how dividers are coded.
  uint64_t divider(uint32_t offset, unsigned low, unsigned width) const {
    return uint64_t{field(offset, low, width)} + 1;
  }

  DeviceHost& host_;
  Clocks& clocks_;
  CcmAnalog& analog_;
  void tell_wait_mode();
  RegisterFile registers_;
  std::function<void(bool)> wait_mode_;
};

}  // namespace millrace::board
