// SPDX-License-Identifier: Apache-2.0
// USBPHY1 and USBPHY2 (IMXRT1060RM chapter 43): the transceivers, as far as they decide whether the
// controller is on the bus; and USBNC (42.6), the glue around the controllers.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "core/device.h"
#include "core/snapshot.h"
#include "devices/register_file.h"

namespace millrace::board {

class UsbPhy final : public Device {
 public:
  static constexpr uint32_t base(unsigned number) { return 0x400D8000 + 0x1000 * number; }
  static constexpr uint32_t kSize = 0x1000;

  UsbPhy(DeviceHost& host, unsigned number);  // 1 or 2

  // CTRL.SFTRST is 0.
  bool out_of_reset() const;
  // It receives and sends: no soft reset, clock on, nothing in PWD powered down.
  bool active() const;
  // Called when either may have changed.
  void on_change(std::function<void(Cycles)> listener) { listener_ = std::move(listener); }
  // Activity on the bus of a suspended port: CTRL.ENAUTOCLR_PHY_PWD and ENAUTOCLR_CLKGATE.
  void wake();

  std::string_view name() const override { return number_ == 1 ? "USBPHY1" : "USBPHY2"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;
  void snapshot(Snapshot& s) { registers_.snapshot(s); }

 private:
  unsigned number_;
  RegisterFile registers_;
  std::function<void(Cycles)> listener_;
};

class UsbNc final : public Device {
 public:
  static constexpr uint32_t kBase = 0x402E0800;
  static constexpr uint32_t kSize = 0x20;

  UsbNc(DeviceHost& host, const UsbPhy& phy1, const UsbPhy& phy2);

  std::string_view name() const override { return "USBNC"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override { registers_.reset(); }
  void snapshot(Snapshot& s) { registers_.snapshot(s); }

 private:
  const UsbPhy& phy1_;
  const UsbPhy& phy2_;
  RegisterFile registers_;
};

}  // namespace millrace::board
