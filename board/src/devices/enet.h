// SPDX-License-Identifier: Apache-2.0
// Ethernet controllers with neither PHY nor cable (IMXRT1060RM chapter 41). Management frames
// complete and read 0xFFFF, as a bus does on which nobody answers; no frame is ever received.
// Sending and the 1588 timer are not modelled and reported.
#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/clocks.h"
#include "devices/register_file.h"

namespace millrace::board {

class Enet final : public Device, public ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x402D8000;
  static constexpr uint32_t kBase2 = 0x402D4000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq1 = 114;
  static constexpr unsigned kIrq2 = 152;

  Enet(DeviceHost& host, Clocks& clocks, unsigned number);  // 1 or 2

  std::string_view name() const override { return number_ == 1 ? "ENET" : "ENET2"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;
  void snapshot(Snapshot& s);
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;

 private:
  static void on_frame_end(void* context, Cycles when);
  uint64_t bus_clocks_per_frame() const;  // 0: MDC stands still
  void start_frame(Cycles now);
  void schedule();
  void update_line();

  DeviceHost& host_;
  const Clocks& clocks_;
  unsigned number_;
  RegisterFile registers_;
  bool busy_ = false;
  Ticks ticks_;  // of the IPG clock, since the management frame began
  Event frame_end_;
};

}  // namespace millrace::board
