// SPDX-License-Identifier: Apache-2.0
// SD host controllers without a card (IMXRT1060RM chapter 26). Software resets finish at once;
// commands that want a response time out, the others complete. Nothing is ever transferred: the
// registers of DMA and tuning are stored, the data port is not modelled.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/clocks.h"
#include "devices/register_file.h"

namespace millrace::board {

class Usdhc final : public Device, public ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x402C0000;
  static constexpr uint32_t kBase2 = 0x402C4000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq1 = 110;
  static constexpr unsigned kIrq2 = 111;

  Usdhc(DeviceHost& host, Clocks& clocks, unsigned number);  // 1 or 2

  std::string_view name() const override { return number_ == 1 ? "USDHC1" : "USDHC2"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;
  void snapshot(Snapshot& s);
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;

 private:
  static void on_command_end(void* context, Cycles when);
  void system_control_written(const RegisterChange& change);
  void start_command(uint32_t command, Cycles now);
  void stop_command();
  void raise(uint32_t flags);
  void update_line();

  DeviceHost& host_;
  const Clocks& clocks_;
  unsigned number_;
  RegisterFile registers_;
  bool busy_ = false;
  bool wants_response_ = false;
  Ticks ticks_;  // of the crystal, since the command
  Event command_end_;
};

}  // namespace millrace::board
