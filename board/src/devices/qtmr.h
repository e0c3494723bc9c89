// SPDX-License-Identifier: Apache-2.0
// Quad timers TMR1..4 (IMXRT1060RM chapter 54): four 16-bit counters each, clocked by the IPG clock
// through a prescaler, by another counter's output, or cascaded. Pins (counting, gating,
// quadrature, capture) are not modelled: such modes stand still and are reported.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "core/device.h"
#include "devices/clocks.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class Qtmr final : public Device, private ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x401DC000;  // TMRn at kBase1 + (n - 1) * kSize
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq1 = 133;  // of TMR1; the others follow
  static constexpr unsigned kChannels = 4;

  // The output of a watched channel, polarity and all, as XBARA1 sees it.
  using Output = std::function<void(unsigned channel, bool level, Cycles when)>;

  // `number` 1..4. The references must outlive this.
  Qtmr(DeviceHost& host, Clocks& clocks, unsigned number, Output output = {}, DmaLine dma = {});

  // A watched channel's changes come at their time; an unwatched one's cost nothing. Calls nest.
  void watch(unsigned channel, bool on);

  uint32_t base() const { return kBase1 + (number_ - 1) * kSize; }
  void snapshot(Snapshot& s);

  std::string_view name() const override { return name_; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  // What changes as a channel counts. Equal states at two times: what follows is equal too.
  struct Channel {
    uint16_t count = 0;
    uint16_t compare1 = 0, compare2 = 0;
    bool second = false;   // OUTMODE 4: COMP2 is next
    bool reload = false;   // the next count loads LOAD
    bool stopped = false;  // ONCE is over
    bool output = false;   // OFLAG before OPS
    uint8_t flags = 0;     // TCF, TOF, TCF1, TCF2
    friend bool operator==(const Channel&, const Channel&) = default;
  };
  using State = std::array<Channel, kChannels>;

  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;
  static void on_event(void* context, Cycles when);
  uint32_t reg(unsigned channel, uint32_t offset) const;
  bool clocked(unsigned channel) const;    // by the IPG clock, and enabled
  unsigned shift(unsigned channel) const;  // of the prescaler
  bool down(unsigned channel) const;
  uint32_t counts_to_change(unsigned channel) const;
  uint64_t ticks_to_change(unsigned channel) const;
  uint64_t ticks_to_any() const;  // 0: nothing counts
  bool observed() const;
  void count(unsigned channel, uint32_t counts, unsigned depth);
  void compare(unsigned channel, unsigned depth);
  void set_output(unsigned channel, bool level, unsigned depth);
  void step(uint64_t ticks);
  void settle(Cycles now);
  void update();
  uint32_t read_half(uint32_t offset);
  void write_half(uint32_t offset, uint32_t bits, uint32_t mask, unsigned size, uint32_t value);
  void write_control(unsigned channel, uint32_t before);
  void write_status(unsigned channel, uint32_t bits, uint32_t mask);

  DeviceHost& host_;
  Clocks& clocks_;
  const unsigned number_;
  const std::string name_;
  Output output_;
  DmaLine dma_;
  RegisterFile registers_;
  Event event_;
  Ticks ticks_;  // of the IPG clock
  uint64_t settled_ = 0;
  State state_;
  std::array<uint32_t, kChannels> watchers_{};
  uint8_t load_requests_ = 0;  // DMA: COMP1 was loaded from CMPLD1, by channel; bits 4..7 COMP2
  uint8_t lines_ = 0;
  bool level_ = false;
};

}  // namespace millrace::board
