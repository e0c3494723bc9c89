// SPDX-License-Identifier: Apache-2.0
#include "cpu/mpu.h"

#include <algorithm>

namespace millrace::board {
namespace {

constexpr uint32_t kType = 0xD90;
constexpr uint32_t kCtrl = 0xD94;
constexpr uint32_t kRnr = 0xD98;
constexpr uint32_t kRbar = 0xD9C;  // then RASR, and three times more as aliases
constexpr uint32_t kLastAlias = 0xDB8;

constexpr uint32_t kEnable = 1;
constexpr uint32_t kHfNmiEna = 2;
constexpr uint32_t kPrivDefEna = 4;

constexpr uint32_t kRasrBits = 0x173FFF3F;  // XN, AP, TEX, S, C, B, SRD, SIZE, ENABLE

constexpr uint32_t kSiwt = 1;
constexpr uint32_t kForceWt = 4;

enum Policy : unsigned { not_cached, write_back_allocate, write_through, write_back };

// SIZE of a region as log2 of bytes; 0 for a region that is off or smaller than the architecture
// allows (B3.5.9: SIZE below 4 is UNPREDICTABLE; here such a region is off).
unsigned size_log2(uint32_t rasr) {
  const unsigned size = (rasr >> 1) & 31;
  return (rasr & kEnable) != 0 && size >= 4 ? size + 1 : 0;
}

uint32_t address_mask(unsigned log2) { return log2 >= 32 ? 0 : 0xFFFFFFFFu << log2; }

bool subregion_off(uint32_t rasr, unsigned log2, uint32_t address) {
  if (log2 < 8) {
    return false;
  }
  const unsigned subregion = (address >> (log2 - 3)) & 7;
  return ((rasr >> (8 + subregion)) & 1) != 0;
}

MemoryAttributes no_access() {
  MemoryAttributes out;
  out.readable = false;
  out.writable = false;
  out.executable = false;
  return out;
}

}  // namespace

uint32_t Mpu::read(uint32_t offset) const {
  switch (offset) {
    case kType:
      return kRegions << 8;  // one map for instructions and data
    case kCtrl:
      return control_;
    case kRnr:
      return number_;
    default:
      if (offset < kRbar || offset > kLastAlias) {
        return 0;
      }
      return ((offset - kRbar) / 4) % 2 == 0 ? regions_[number_].base | number_
                                             : regions_[number_].rasr;
  }
}

Mpu::Change Mpu::extent(const Region& region) {
  const unsigned log2 = size_log2(region.rasr);
  if (log2 == 0) {
    return {};
  }
  const uint32_t mask = address_mask(log2);
  return {region.base & mask, region.base | ~mask};
}

Mpu::Change Mpu::write(uint32_t offset, uint32_t value, uint32_t lanes) {
  switch (offset) {
    case kType:
      return {};
    case kCtrl:
      control_ = ((control_ & ~lanes) | (value & lanes)) & (kEnable | kHfNmiEna | kPrivDefEna);
      return {0, 0xFFFFFFFF};
    case kRnr:
      number_ = ((number_ & ~lanes) | (value & lanes)) % kRegions;
      return {};
    default:
      break;
  }
  if (offset < kRbar || offset > kLastAlias) {
    return {};
  }
  const bool is_base = ((offset - kRbar) / 4) % 2 == 0;
  if (is_base && (value & lanes & 0x10) != 0) {  // VALID
    number_ = value & 15;
  }
  Region& region = regions_[number_];
  const Region old = region;
  if (is_base) {
    region.base = ((region.base & ~lanes) | (value & lanes)) & 0xFFFFFFE0;
  } else {
    region.rasr = ((region.rasr & ~lanes) | (value & lanes)) & kRasrBits;
  }
  if (!acts() || (region.base == old.base && region.rasr == old.rasr)) {
    return {};
  }
  const Change before = extent(old);
  const Change after = extent(region);
  if (!before.any() || !after.any()) {
    return before.any() ? before : after;
  }
  return {std::min(before.first, after.first), std::max(before.last, after.last)};
}

bool Mpu::set_negative_priority(bool negative) {
  const bool before = acts();
  negative_priority_ = negative;
  return acts() != before;
}

bool Mpu::set_cache_control(uint32_t cacr) {
  const bool changed = ((cacr ^ cacr_) & (kSiwt | kForceWt)) != 0;
  cacr_ = cacr;
  return changed;
}

bool Mpu::acts() const {
  return (control_ & kEnable) != 0 && (!negative_priority_ || (control_ & kHfNmiEna) != 0);
}

MemoryAttributes Mpu::attributes(uint32_t address, bool privileged) const {
  if (acts()) {
    for (unsigned i = kRegions; i-- > 0;) {
      const uint32_t rasr = regions_[i].rasr;
      const unsigned log2 = size_log2(rasr);
      if (log2 != 0 && ((address ^ regions_[i].base) & address_mask(log2)) == 0 &&
          !subregion_off(rasr, log2, address)) {
        return decode(rasr, address, privileged);
      }
    }
  }
  return background(address, privileged);
}

bool Mpu::uniform_page(uint32_t page_address, bool privileged, MemoryAttributes* out) const {
  constexpr unsigned kPageLog2 = 12;
  if (acts()) {
    for (unsigned i = kRegions; i-- > 0;) {
      const uint32_t rasr = regions_[i].rasr;
      const unsigned log2 = size_log2(rasr);
      if (log2 == 0) {
        continue;
      }
      const uint32_t mask = address_mask(log2 < kPageLog2 ? kPageLog2 : log2);
      if (((page_address ^ regions_[i].base) & mask) != 0) {
        continue;
      }
      const bool split = log2 >= 8 && log2 < kPageLog2 + 3 && ((rasr >> 8) & 0xFF) != 0;
      if (log2 < kPageLog2 || split) {
        return false;
      }
      if (!subregion_off(rasr, log2, page_address)) {
        *out = decode(rasr, page_address, privileged);
        return true;
      }
    }
  }
  *out = background(page_address, privileged);
  return true;
}

MemoryAttributes Mpu::background(uint32_t address, bool privileged) const {
  if (acts() && !(privileged && (control_ & kPrivDefEna) != 0)) {
    return no_access();
  }
  return default_map(address);
}

// Table B3-1.
MemoryAttributes Mpu::default_map(uint32_t address) const {
  MemoryAttributes out;
  switch (address >> 29) {
    case 0:  // code
    case 4:  // external RAM, upper half
      cache_policy(write_through, false, &out);
      break;
    case 1:  // SRAM
    case 3:  // external RAM, lower half
      cache_policy(write_back_allocate, false, &out);
      break;
    default:  // peripheral, external device, system
      out.device = true;
      out.executable = false;
      break;
  }
  return out;
}

void Mpu::cache_policy(unsigned policy, bool shareable, MemoryAttributes* out) const {
  if (policy == not_cached || (shareable && (cacr_ & kSiwt) == 0)) {
    return;
  }
  out->cacheable = true;
  if (policy == write_through || shareable || (cacr_ & kForceWt) != 0) {
    return;
  }
  out->write_back = true;
  out->write_allocate = policy == write_back_allocate;
}

void Mpu::snapshot(Snapshot& s) {
  for (Region& region : regions_) {
    s.field("mpu.base", region.base);
    s.field("mpu.rasr", region.rasr);
  }
  s.field("mpu.control", control_);
  s.field("mpu.number", number_);
  s.field("mpu.cacr", cacr_);
  s.field("mpu.negative_priority", negative_priority_);
  number_ %= kRegions;
}

// Tables B3-14 (TEX, C, B, S), B3-15 (AP) and B3-16 (XN).
MemoryAttributes Mpu::decode(uint32_t rasr, uint32_t address, bool privileged) const {
  MemoryAttributes out = no_access();
  switch ((rasr >> 24) & 7) {
    case 1:
      out.readable = out.writable = privileged;
      break;
    case 2:
      out.readable = true;
      out.writable = privileged;
      break;
    case 3:
      out.readable = out.writable = true;
      break;
    case 5:
      out.readable = privileged;
      break;
    case 6:
    case 7:
      out.readable = true;
      break;
    default:  // 0: no access; 4: UNPREDICTABLE, taken as no access
      break;
  }
  const bool shareable = (rasr & (1u << 18)) != 0;
  const unsigned tex = (rasr >> 19) & 7;
  const unsigned cb = (rasr >> 16) & 3;
  if (tex >= 4) {
    cache_policy(cb, shareable, &out);  // the inner policy, which the M7's own caches follow
  } else {
    switch (tex << 2 | cb) {
      case 0b00000:  // Strongly-ordered
      case 0b00001:  // Device, shareable
      case 0b01000:  // Device, not shareable
        out.device = true;
        break;
      case 0b00010:
        cache_policy(write_through, shareable, &out);
        break;
      case 0b00011:
        cache_policy(write_back, shareable, &out);
        break;
      case 0b00111:
        cache_policy(write_back_allocate, shareable, &out);
        break;
      default:  // 0b00100: Normal, not cached; the reserved encodings are taken as the same
        break;
    }
  }
  // Device memory and the system region are never executed, whatever XN says (B3.5.4, B3.1).
  out.executable = out.readable && (rasr & (1u << 28)) == 0 && !out.device && address < 0xE0000000u;
  return out;
}

}  // namespace millrace::board
