// SPDX-License-Identifier: Apache-2.0
// General Power Controller (IMXRT1060RM chapter 17). Stored: nothing here is ever powered down, so
// the masks of the wake-up interrupts have no effect. Status and power gating registers and the
// requests of CNTR are not modelled.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/register_file.h"

namespace millrace::board {

class Gpc final : public Device {
 public:
  static constexpr uint32_t kBase = 0x400F4000;
  static constexpr uint32_t kSize = 0x4000;

  explicit Gpc(DeviceHost& host);

  std::string_view name() const override { return "GPC"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override { registers_.reset(); }
  void snapshot(Snapshot& s) { registers_.snapshot(s); }

 private:
  DeviceHost& host_;
  RegisterFile registers_;
};

}  // namespace millrace::board
