// SPDX-License-Identifier: Apache-2.0
#include "devices/dcdc.h"

namespace millrace::board {

namespace {

constexpr uint32_t kReg3 = 0x0C;

// REG0 31: STS_DC_OK.
constexpr RegisterSpec kTable[] = {
    {0x00, "REG0", 0x94030111, 0x3C3FF7FF},
    {0x04, "REG1", 0x111BA29C, 0x1FA03180},
    {0x08, "REG2", 0x00004009, 0x10003FFF},
    {0x0C, "REG3", 0x0000010E, 0x5900071F},
};

}  // namespace

Dcdc::Dcdc(DeviceHost& host) : registers_(kTable, 4, *this, host) {}

uint32_t Dcdc::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void Dcdc::write(uint32_t offset, unsigned size, uint32_t value, Cycles) {
  registers_.write(offset, size, value);
}

unsigned Dcdc::millivolts() const { return 800 + 25 * (registers_[kReg3] & 0x1F); }

}  // namespace millrace::board
