// SPDX-License-Identifier: Apache-2.0
#include "devices/src.h"

namespace millrace::board {

namespace {

constexpr uint32_t kScr = 0x00;
constexpr uint32_t kSrsr = 0x08;
constexpr uint32_t kResetCore = 1u << 13;
constexpr uint32_t kMasked = 0x5;  // of the two mask fields; anything else does not mask

// SBMR1: all boot fuses 0. SBMR2: BMOD 2, boot from flash as BOOT_MODE says.
constexpr RegisterSpec kTable[] = {
    {0x00, "SCR", 0xA0480520, 0xF2020780},
    {0x04, "SBMR1", 0x00000000, 0x00000000},
    {0x08, "SRSR", Src::kPowerOn, 0x000000FF, RegisterKind::one_clears},
    {0x1C, "SBMR2", 0x02000000, 0x00000000},
    {0x20, "GPR1"},
    {0x24, "GPR2"},
    {0x28, "GPR3"},
    {0x2C, "GPR4"},
    {0x30, "GPR5"},
    {0x34, "GPR6"},
    {0x38, "GPR7"},
    {0x3C, "GPR8"},
    {0x40, "GPR9"},
    {0x44, "GPR10"},
};

}  // namespace

Src::Src(DeviceHost& host) : registers_(kTable, 4, *this, host) {}

void Src::reset() { registers_[kScr] = kTable[0].reset; }

void Src::note_reset(uint32_t cause) { registers_[kSrsr] |= cause; }

uint32_t Src::read(uint32_t offset, unsigned size, Cycles) { return registers_.read(offset, size); }

void Src::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (change.known && change.offset == kScr && (change.written & kResetCore) != 0 && request_) {
    request_(now);
  }
}

bool Src::wdog_resets() const { return (registers_[kScr] >> 7 & 0xF) != kMasked; }

bool Src::wdog3_resets() const { return registers_[kScr] >> 28 != kMasked; }

}  // namespace millrace::board
