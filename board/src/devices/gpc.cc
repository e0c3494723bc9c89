// SPDX-License-Identifier: Apache-2.0
#include "devices/gpc.h"

namespace millrace::board {

namespace {

constexpr uint32_t kCntr = 0x00;
constexpr uint32_t kImr1 = 0x08;
constexpr uint32_t kPowerRequests = 0xC;  // MEGA_PDN_REQ, MEGA_PUP_REQ

constexpr RegisterSpec kTable[] = {
    {0x00, "CNTR", 0x00520000, 0x00400000},
    {0x08, "IMR1"},
    {0x0C, "IMR2"},
    {0x10, "IMR3"},
    {0x14, "IMR4"},
    {0x34, "IMR5"},
};

}  // namespace

Gpc::Gpc(DeviceHost& host) : host_(host), registers_(kTable, 4, *this, host) {}

uint32_t Gpc::read(uint32_t offset, unsigned size, Cycles) { return registers_.read(offset, size); }

void Gpc::write(uint32_t offset, unsigned size, uint32_t value, Cycles) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (change.known && change.offset == kCntr && (change.written & kPowerRequests) != 0) {
    host_.report_unknown(*this, kCntr, true);
  }
  // Every interrupt ends WAIT here, also one that is masked.
  if (change.known && change.offset >= kImr1 && change.after != 0) {
    host_.report_unknown(*this, change.offset, true);
  }
}

}  // namespace millrace::board
