// SPDX-License-Identifier: Apache-2.0
// ADC1 and ADC2 (IMXRT1060RM chapter 66): a successive-approximation converter of 8, 10 or 12 bits
// with a reference of 3.3 V.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "core/device.h"
#include "devices/adc_signal.h"
#include "devices/clocks.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class Adc final : public Device, private ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x400C4000, kBase2 = 0x400C8000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq1 = 67, kIrq2 = 68;
  static constexpr unsigned kGroups = 8;  // HC0..7 with R0..7
  static constexpr double kReferenceVolts = 3.3;

  // A conversion that ADC_ETC asked for; the result is not kept in Rn then.
  using Done = std::function<void(unsigned group, uint16_t value, Cycles when)>;

  // `number` 1 or 2. An empty signal is 0 V. The references must outlive this.
  Adc(DeviceHost& host, Clocks& clocks, unsigned number, AdcSignal signal, DmaLine dma = {});

  void set_signal(AdcSignal signal) { signal_ = std::move(signal); }
  void set_done(Done done) { done_ = std::move(done); }
  // A hardware trigger for HCn; `channel` is taken if HCn says "selected by ADC_ETC". False: the
  // converter is busy, CFG.ADTRG is 0 or HCn is off; nothing happened.
  bool trigger(unsigned group, unsigned channel, Cycles now);
  bool busy() const { return activity_ != Activity::none; }

  uint32_t base() const { return number_ == 1 ? kBase1 : kBase2; }
  void snapshot(Snapshot& s);

  std::string_view name() const override { return number_ == 1 ? "ADC1" : "ADC2"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  enum class Activity : uint8_t { none, conversion, calibration };

  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;
  static void on_event(void* context, Cycles when);
  // Rate of the clock before the divider, and the divider.
  uint64_t source_hz() const;
  uint64_t divider() const;
  Cycles adck(uint64_t cycles) const;  // core cycles of so many ADCK cycles, rounded up
  uint32_t sample_adck() const;
  uint32_t conversion_adck() const;  // sample time included
  unsigned averages() const;
  unsigned bits() const;
  void start(unsigned group, unsigned channel, bool hardware, bool first, Cycles now);
  void abort();
  uint32_t sample(Cycles when) const;
  uint32_t result() const;
  bool compare_allows(uint32_t value) const;
  void finish();
  void settle(Cycles now);
  void update();

  DeviceHost& host_;
  Clocks& clocks_;
  const unsigned number_;
  AdcSignal signal_;
  DmaLine dma_;
  Done done_;
  RegisterFile registers_;
  Event event_;
  Ticks nanoseconds_;  // of virtual time, for the signal

  Activity activity_ = Activity::none;
  uint8_t group_ = 0, channel_ = 0;
  bool hardware_ = false;
  Cycles first_sample_ = 0;  // ADCK counts from here
  uint32_t lead_ = 0;        // ADCK cycles before the first sample time
  Cycles end_ = kNever;
  uint64_t old_source_hz_ = 0, old_core_hz_ = 0;
  bool level_ = false, request_ = false;
};

}  // namespace millrace::board
