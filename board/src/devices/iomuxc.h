// SPDX-License-Identifier: Apache-2.0
// IOMUX Controller (IMXRT1060RM chapter 11). Four devices: pads and selectors, the general purpose
// registers of the main and of the SNVS domain, and the SNVS pads. Pads are stored: signals do not
// run through them, so a wrong pin multiplexing does not show. Of the general purpose registers,
// FlexRAM (14, 16, 17), the GPIO selectors (26..29) and the stop handshakes have an effect.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/register_file.h"

namespace millrace::board {

class Iomuxc final : public Device {
 public:
  static constexpr uint32_t kBase = 0x401F8000;
  static constexpr uint32_t kSize = 0x4000;

  explicit Iomuxc(DeviceHost& host);

  std::string_view name() const override { return "IOMUXC"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override { registers_.reset(); }
  void snapshot(Snapshot& s) { registers_.snapshot(s); }

 private:
  RegisterFile registers_;
};

class IomuxcGpr final : public Device {
 public:
  static constexpr uint32_t kBase = 0x400AC000;
  static constexpr uint32_t kSize = 0x4000;

  explicit IomuxcGpr(DeviceHost& host);

  std::string_view name() const override { return "IOMUXC_GPR"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;  // calls both listeners with the reset values
  void snapshot(Snapshot& s) { registers_.snapshot(s); }

  // Called at each write to GPR14, GPR16 or GPR17. The TCM size fields of GPR14 are stored only:
  // the banks alone decide.
  void on_flexram(std::function<void(uint32_t gpr16, uint32_t gpr17)> listener) {
    flexram_ = std::move(listener);
  }
  // Called when GPR26 + `pair` changes: bit n of `fast` gives pin n to GPIO6 + `pair` instead of
  // GPIO1 + `pair`.
  void on_gpio_select(std::function<void(unsigned pair, uint32_t fast, Cycles now)> listener) {
    gpio_select_ = std::move(listener);
  }
  // VTOR after a reset of the core, GPR16 31:7.
  uint32_t initial_vtor() const;

 private:
  DeviceHost& host_;
  RegisterFile registers_;
  std::function<void(uint32_t, uint32_t)> flexram_;
  std::function<void(unsigned, uint32_t, Cycles)> gpio_select_;
};

class IomuxcSnvs final : public Device {
 public:
  static constexpr uint32_t kBase = 0x400A8000;
  static constexpr uint32_t kSize = 0x4000;

  explicit IomuxcSnvs(DeviceHost& host);

  std::string_view name() const override { return "IOMUXC_SNVS"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override { registers_.reset(); }
  void snapshot(Snapshot& s) { registers_.snapshot(s); }

 private:
  RegisterFile registers_;
};

class IomuxcSnvsGpr final : public Device {
 public:
  static constexpr uint32_t kBase = 0x400A4000;
  static constexpr uint32_t kSize = 0x4000;

  explicit IomuxcSnvsGpr(DeviceHost& host);

  std::string_view name() const override { return "IOMUXC_SNVS_GPR"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override { registers_.reset(); }
  void snapshot(Snapshot& s) { registers_.snapshot(s); }

 private:
  RegisterFile registers_;
};

}  // namespace millrace::board
