// SPDX-License-Identifier: Apache-2.0
// On-Chip OTP Controller (IMXRT1060RM chapter 23): 64 fuse words, their shadow registers, and reads
// and programming of fuses, both done at once. Locks are not enforced.
#pragma once

#include <array>
#include <cstdint>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/register_file.h"

namespace millrace::board {

// By fuse address; shadow register n stands at 0x400 + 0x10 n, from n = 48 on at 0x500 + 0x10 n.
using Fuses = std::array<uint32_t, 64>;

// What a board is given; every other fuse is 0, as on a chip that nobody programmed.
struct FuseOptions {
  // The Teensy's serial number, 24 bits: low part of MAC0; PJRC's OUI 04:E9:E5 is before it.
  uint32_t serial = 0x0F4240;
  uint64_t unique_id = 0x4D696C6C'72616365;       // CFG0, CFG1
  uint32_t temperature_calibration = 0x57D4FF69;  // ANA1, as CcmAnalogOptions::calibration
  // CFG5; 0: not secured, internal boot from BOOT_MODE.
  uint32_t configuration = 0;
};
Fuses make_fuses(const FuseOptions& options);

class Ocotp final : public Device {
 public:
  static constexpr uint32_t kBase = 0x401F4000;
  static constexpr uint32_t kSize = 0x4000;

  Ocotp(DeviceHost& host, const Fuses& fuses);

  std::string_view name() const override { return "OCOTP"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;  // reloads the shadow registers; fuses that were blown stay so
  void snapshot(Snapshot& s);

 private:
  void load_shadows();

  RegisterFile registers_;
  Fuses fuses_;
};

}  // namespace millrace::board
