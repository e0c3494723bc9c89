// SPDX-License-Identifier: Apache-2.0
// True Random Number Generator (IMXRT1060 security reference manual). The entropy follows from a
// seed: equal runs draw equal numbers. Statistical tests always pass; their counters are not
// modelled.
#pragma once

#include <array>
#include <cstdint>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/clocks.h"
#include "devices/register_file.h"

namespace millrace::board {

class Trng final : public Device, public ClockUser {
 public:
  static constexpr uint32_t kBase = 0x400CC000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq = 53;

  Trng(DeviceHost& host, Clocks& clocks, uint64_t seed);

  std::string_view name() const override { return "TRNG"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;  // goes on in the sequence of the seed
  void snapshot(Snapshot& s);
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;

 private:
  static void on_done(void* context, Cycles when);
  uint32_t next();
  void set_defaults();
  void generate(Cycles now);
  void stop();
  void schedule();
  void update_line();

  DeviceHost& host_;
  const Clocks& clocks_;
  RegisterFile registers_;
  uint64_t state_;
  std::array<uint32_t, 16> entropy_{};
  bool valid_ = false;
  bool generating_ = false;
  Ticks ticks_;  // of the IPG clock since the generation began
  Event done_;
};

}  // namespace millrace::board
