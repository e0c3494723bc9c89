// SPDX-License-Identifier: Apache-2.0
// General purpose input and output (IMXRT1060RM chapter 12): GPIO1..5 on the peripheral bus and
// GPIO6..9 on the AHB. GPIO6..9 share the pads of GPIO1..4; IOMUXC_GPR26..29 say bit by bit which
// of the two a pad belongs to.
//
// PSR shows the level of a pad also while it is an output, as with SION set in its mux register
// (the Teensy core sets it always). The bank that does not own a pad reads it as 0 and sees no
// interrupts from it. Pulls are not modelled: a pad that nobody drives is low.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/register_file.h"

namespace millrace::board {

class Gpio;

// All nine, their pads and interrupt lines.
class GpioBanks {
 public:
  static constexpr unsigned kBanks = 9;
  static constexpr unsigned kPadBanks = 5;
  static constexpr unsigned kPinIrq = 72;       // + n: pin n of GPIO1, n < 8
  static constexpr unsigned kCombinedIrq = 80;  // + 2 (bank - 1), + 1 for pins 16..31; banks 1..5
  static constexpr unsigned kFastIrq = 157;     // all of GPIO6..9

  explicit GpioBanks(DeviceHost& host);
  ~GpioBanks();

  Gpio& bank(unsigned number);               // 1..9
  static uint32_t base(unsigned number);     // of the bank's registers
  static constexpr uint32_t kSize = 0x4000;  // of each bank

  // Drives a pad from outside: bank 1..5, pin 0..31.
  void set_input(unsigned bank, unsigned pin, bool level);
  // IOMUXC_GPR26 + `pair`: 1 gives the pad to GPIO6 + `pair`.
  void select_fast(unsigned pair, uint32_t fast, Cycles now);
  // Called when the pads of `bank` (1..5) that the board drives, or their levels, change.
  void on_output(
      std::function<void(unsigned bank, uint32_t driven, uint32_t levels, Cycles now)> listener) {
    output_ = std::move(listener);
  }
  void reset();  // the levels from outside stay
  void snapshot(Snapshot& s);

 private:
  friend class Gpio;
  void outputs_changed(unsigned number, Cycles now);
  void update_lines(unsigned number);

  DeviceHost& host_;
  std::array<uint32_t, kPadBanks> input_{};
  std::array<uint32_t, 4> fast_{};
  std::array<std::pair<uint32_t, uint32_t>, kPadBanks> told_{};  // driven, levels
  std::array<std::unique_ptr<Gpio>, kBanks> banks_;
  std::function<void(unsigned, uint32_t, uint32_t, Cycles)> output_;
};

class Gpio final : public Device {
 public:
  Gpio(DeviceHost& host, GpioBanks& banks, unsigned number);

  std::string_view name() const override;
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;
  void snapshot(Snapshot& s);

 private:
  friend class GpioBanks;
  uint32_t pads() const;     // as PSR shows them
  uint32_t pending() const;  // interrupts that are not masked
  // After anything that may change pads() or how they are sensed.
  void sense();

  GpioBanks& banks_;
  unsigned number_;
  RegisterFile registers_;
  uint32_t owned_;
  uint32_t input_ = 0;
  uint32_t last_pads_ = 0;
};

}  // namespace millrace::board
