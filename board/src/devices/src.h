// SPDX-License-Identifier: Apache-2.0
// System Reset Controller (IMXRT1060RM chapter 21): why the last reset was, how the chip boots, and
// ten registers that survive a reset.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/register_file.h"

namespace millrace::board {

class Src final : public Device {
 public:
  static constexpr uint32_t kBase = 0x400F8000;
  static constexpr uint32_t kSize = 0x4000;
  // Bits of SRSR.
  static constexpr uint32_t kPowerOn = 1u << 0;  // as constructed
  static constexpr uint32_t kLockupOrSysResetReq = 1u << 1;
  static constexpr uint32_t kWdog = 1u << 4;
  static constexpr uint32_t kWdog3 = 1u << 7;

  explicit Src(DeviceHost& host);

  std::string_view name() const override { return "SRC"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;  // GPR1..10 and SRSR stay
  void snapshot(Snapshot& s) { registers_.snapshot(s); }

  // Adds to SRSR; firmware clears it.
  void note_reset(uint32_t cause);
  // SCR.CORE0_RST: the firmware resets the core.
  void on_reset_request(std::function<void(Cycles now)> listener) {
    request_ = std::move(listener);
  }
  // Whether a time-out of WDOG1/2, or of RTWDOG, leads to a reset (SCR.MASK_WDOG_RST, _WDOG3_RST).
  bool wdog_resets() const;
  bool wdog3_resets() const;

 private:
  RegisterFile registers_;
  std::function<void(Cycles)> request_;
};

}  // namespace millrace::board
