// SPDX-License-Identifier: Apache-2.0
// The analog page at 0x400D8000: PLLs and PFDs (CCM_ANALOG, IMXRT1060RM chapter 14), regulators
// (PMU), temperature sensor (TEMPMON), crystal oscillator (XTALOSC24M) and VBUS detectors
// (USB_ANALOG), each described in the manual's chapter of its name. One device, because the
// registers are interleaved in one page.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/clocks.h"
#include "devices/register_file.h"

namespace millrace::board {

// Hz; 0 where the output is off.
struct PllOutputs {
  uint64_t arm = 0;
  uint64_t sys = 0;   // PLL2
  uint64_t usb1 = 0;  // PLL3
  std::array<uint64_t, 4> sys_pfd{};
  std::array<uint64_t, 4> usb1_pfd{};
};

struct CcmAnalogOptions {
  int celsius = 45;  // what TEMPMON measures: an idle board on a desk
  // Fuse ANA1: the sensor's calibration. Hot point in bits 7:0 (degrees), its count in 19:8, the
  // count at 25 degrees in 31:20.
  uint32_t calibration = 0x57D4FF69;
  // PLLs take the longest lock time of the data sheet (IMXRT1060CEC, PLL electrical
  // characteristics); false: none.
  bool lock_time = true;
};

class CcmAnalog final : public Device, public ClockUser {
 public:
  static constexpr uint32_t kBase = 0x400D8000;
  static constexpr uint32_t kSize = 0x1000;        // USBPHY1 is behind
  static constexpr unsigned kTemperatureIrq = 63;  // low, high
  static constexpr unsigned kTemperaturePanicIrq = 64;

  CcmAnalog(DeviceHost& host, Clocks& clocks, const CcmAnalogOptions& options = {});

  std::string_view name() const override { return "CCM_ANALOG"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;  // as the boot ROM leaves it
  void snapshot(Snapshot& s);
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;

  // A PLL that has not locked yet counts as running at its new rate.
  PllOutputs outputs() const;
  // Called when outputs() may have changed.
  void on_change(std::function<void(Cycles now)> listener) { listener_ = std::move(listener); }
  void set_vbus(unsigned port, bool present) { vbus_.at(port) = present; }  // 0: USB1, 1: USB2
  void set_celsius(int celsius);

 private:
  struct Pll;
  static const std::array<Pll, 7> kPlls;

  void power_up();
  uint64_t pll(uint32_t offset, uint64_t locked_hz) const;
  static std::array<uint64_t, 4> pfds(uint64_t pll_hz, uint32_t fractions);
  void pll_written(const RegisterChange& change, Cycles now);
  void pfds_written(const RegisterChange& change);
  bool measured() const;
  uint32_t temperature_count() const;
  void check_temperature();

  DeviceHost& host_;
  Clocks& clocks_;
  CcmAnalogOptions options_;
  RegisterFile registers_;
  Ticks reference_;                    // of the crystal
  std::array<uint64_t, 7> lock_at_{};  // in ticks of reference_, by kPlls; UINT64_MAX: powered down
  std::array<bool, 2> vbus_{true, false};
  std::function<void(Cycles)> listener_;
};

}  // namespace millrace::board
