// SPDX-License-Identifier: Apache-2.0
#include "devices/psram.h"

#include <algorithm>

namespace millrace::board {
namespace {

// MF ID 0x0D, KGD 0x5D (known good die), then the EID; its top bits 010 say 64 Mbit.
constexpr uint8_t kId[] = {0x0D, 0x5D, 0x40, 0, 0, 0, 0, 0};

}  // namespace

void Psram::reset() { quad_ = reset_enabled_ = false; }

bool Psram::transfer(const SerialTransfer& t, Cycles, uint64_t) {
  const bool reset_enabled = reset_enabled_;
  reset_enabled_ = false;
  if (t.command_pads != (quad_ ? 4u : 1u)) return true;
  switch (t.command) {
    case 0x66:
      reset_enabled_ = true;
      return true;
    case 0x99:
      if (reset_enabled) reset();
      return true;
    case 0x35:
      quad_ = true;
      return true;
    case 0xF5:
      quad_ = false;
      return true;
    case 0x9F:  // in SPI mode alone
      for (size_t i = 0; i < t.read.size() && !quad_; ++i) t.read[i] = kId[i % sizeof kId];
      return true;
    case 0x03:
    case 0x0B:
    case 0xEB: {
      if (!t.has_address) return true;
      uint32_t address = t.address % store_.size;
      for (size_t done = 0; done < t.read.size(); address = 0) {
        const uint32_t part =
            std::min(static_cast<uint32_t>(t.read.size() - done), store_.size - address);
        store_.read(address, t.read.data() + done, part);
        done += part;
      }
      return true;
    }
    case 0x02:
    case 0x38: {
      if (!t.has_address) return true;
      uint32_t address = t.address % store_.size;
      for (size_t done = 0; done < t.sent.size(); address = 0) {
        const uint32_t part =
            std::min(static_cast<uint32_t>(t.sent.size() - done), store_.size - address);
        store_.write(address, t.sent.data() + done, part);
        done += part;
      }
      return true;
    }
    default:
      return false;
  }
}

void Psram::snapshot(Snapshot& s) {
  s.field("quad", quad_);
  s.field("reset_enabled", reset_enabled_);
}

}  // namespace millrace::board
