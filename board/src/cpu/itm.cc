// SPDX-License-Identifier: Apache-2.0
#include "cpu/itm.h"

namespace millrace::board {
namespace {

constexpr uint32_t kPortsEnd = 0x80;
constexpr uint32_t kTer = 0xE00;
constexpr uint32_t kTpr = 0xE40;
constexpr uint32_t kTcr = 0xE80;
constexpr uint32_t kItmEna = 1;
constexpr uint32_t kTcrBits = 0x007F0F1F;

}  // namespace

void Itm::reset() {
  trace_enabled_ = false;
  enabled_ = 0;
  privilege_ = 0;
  control_ = 0;
}

bool Itm::port_on(unsigned port) const {
  return trace_enabled_ && (control_ & kItmEna) != 0 && ((enabled_ >> port) & 1) != 0;
}

uint32_t Itm::read(uint32_t offset) const {
  if (offset < kPortsEnd) {
    return port_on(offset / 4) ? 1 : 0;  // FIFOREADY
  }
  switch (offset) {
    case kTer:
      return enabled_;
    case kTpr:
      return privilege_;
    case kTcr:
      return control_;
    default:
      return 0;
  }
}

void Itm::write(uint32_t offset, unsigned size, uint32_t value) {
  if (offset < kPortsEnd) {
    if (port_on(offset / 4) && output_) {
      output_(offset / 4, value, size);
    }
    return;
  }
  switch (offset) {
    case kTer:
      enabled_ = value;
      break;
    case kTpr:
      privilege_ = value & 15;
      break;
    case kTcr:
      control_ = value & kTcrBits;
      break;
    default:
      break;
  }
}

bool Itm::unprivileged_write(uint32_t offset) const {
  return offset < kPortsEnd && ((privilege_ >> (offset / 32)) & 1) == 0;
}

void Itm::snapshot(Snapshot& s) {
  s.field("itm.trace_enabled", trace_enabled_);
  s.field("itm.enabled", enabled_);
  s.field("itm.privilege", privilege_);
  s.field("itm.control", control_);
}

}  // namespace millrace::board
