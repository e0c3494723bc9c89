// SPDX-License-Identifier: Apache-2.0
// The flash of the Teensy 4.1: Winbond W25Q64JV, 8 MB (commands and times from its
// data sheet). SPI commands with addresses of 24 bits; no QPI, no suspend.
#pragma once

#include "devices/serial_memory.h"

namespace millrace::board {

class NorFlash final : public SerialMemory {
 public:
  static constexpr uint32_t kBytes = 8u << 20;
  static constexpr uint32_t kJedecId = 0xEF4017;
  // Typical times.
  static constexpr uint64_t kProgramUs = 400, kSectorUs = 45'000, kHalfBlockUs = 120'000,
                            kBlockUs = 150'000, kChipUs = 20'000'000, kStatusUs = 10'000;

  // `store` holds the bytes; programming reads them first, since it can only clear bits.
  explicit NorFlash(SerialStore store, uint64_t unique_id = 0xD1234567'89ABCDEF);

  bool transfer(const SerialTransfer& transfer, Cycles now, uint64_t core_hz) override;
  void reset() override;
  void snapshot(Snapshot& s) override;

 private:
  void read_array(const SerialTransfer& t) const;
  void program(const SerialTransfer& t);
  void erase(uint32_t address, uint32_t size);
  void start_busy(uint64_t us, Cycles now, uint64_t core_hz);
  uint8_t status1(Cycles now) const;

  SerialStore store_;
  const uint64_t unique_id_;
  bool write_enabled_ = false;
  bool powered_down_ = false;
  bool reset_enabled_ = false;
  Cycles busy_until_ = 0;
  uint8_t status1_ = 0;     // without BUSY and WEL
  uint8_t status2_ = 0x02;  // QE, as it leaves the factory of the parts with quad mode on
  uint8_t status3_ = 0x60;  // drive strength 25 %
};

}  // namespace millrace::board
