// SPDX-License-Identifier: Apache-2.0
// Registers and interrupts; how channels are served is in edma_engine.cc. The TCDs are a memory of
// bytes, as on the chip, where only the last word's status bits have a life of their own.
#include "devices/edma.h"

#include "devices/edma_registers.h"

namespace millrace::board {

using namespace edma;  // NOLINT: register names

Edma::Edma(DeviceHost& host, EdmaTiming timing)
    : host_(host), timing_(timing), event_(&Edma::on_event, this) {
  reset();
}

void Edma::on_event(void* context, Cycles when) {
  Edma* self = static_cast<Edma*>(context);
  self->settle(when);
  self->update();
}

void Edma::reset() {
  control_ = kGrp1pri;
  error_status_ = enabled_ = error_interrupts_ = interrupts_ = errors_ = asynchronous_ = 0;
  for (unsigned i = 0; i < kChannels; ++i) priority_[i] = static_cast<uint8_t>(i);
  tcds_.fill(0);  // undefined on the chip
  active_ = -1;
  last_ = 0;
  pending_error_ = 0;
  end_ = kNever;
  update();
}

void Edma::set_request(unsigned channel, bool level) {
  const uint32_t bit = 1u << channel;
  requests_ = level ? requests_ | bit : requests_ & ~bit;
  if (!moving_) {
    settle(host_.events().now());
    arbitrate(host_.events().now());
    update();
  }
}

uint32_t Edma::tcd(unsigned channel, uint32_t offset, unsigned size) const {
  uint32_t value = 0;
  for (unsigned i = 0; i < size; ++i) {
    value |= uint32_t{tcds_[channel * kTcdBytes + offset + i]} << (8 * i);
  }
  return value;
}

void Edma::set_tcd(unsigned channel, uint32_t offset, unsigned size, uint32_t value) {
  for (unsigned i = 0; i < size; ++i) {
    tcds_[channel * kTcdBytes + offset + i] = static_cast<uint8_t>(value >> (8 * i));
  }
}

void Edma::write_tcd_byte(uint32_t at, uint8_t value) {
  if (at % kTcdBytes == kCsr) {
    // DONE can only be cleared, ACTIVE is the engine's, a START stays until it is served; and while
    // DONE is set MAJORELINK and ESG are forced to 0 (CSR).
    const uint8_t before = tcds_[at];
    uint32_t bits = value & ~(kDone | kActive);
    if ((before & kDone) != 0) bits &= ~(kMajorelink | kEsg);
    bits |= before & value & kDone;
    bits |= before & (kActive | kStart);
    value = static_cast<uint8_t>(bits);
  }
  tcds_[at] = value;
}

void Edma::write_command(uint32_t offset, uint8_t value) {
  if ((value & 0x80) != 0) return;  // NOP
  const bool all = (value & 0x40) != 0;
  const uint32_t mask = all ? 0xFFFFFFFF : 1u << (value & 0x1F);
  switch (offset) {
    case kCeei:
      error_interrupts_ &= ~mask;
      break;
    case kSeei:
      error_interrupts_ |= mask;
      break;
    case kCerq:
      enabled_ &= ~mask;
      break;
    case kSerq:
      enabled_ |= mask;
      break;
    case kCerr:
      errors_ &= ~mask;
      break;
    case kCint:
      interrupts_ &= ~mask;
      break;
    default:  // CDNE, SSRT
      for (unsigned i = 0; i < kChannels; ++i) {
        if ((mask >> i & 1) == 0) continue;
        uint8_t& status = tcds_[i * kTcdBytes + kCsr];
        status = static_cast<uint8_t>(offset == kCdne ? status & ~kDone : status | kStart);
      }
  }
}

uint32_t Edma::read_word(uint32_t offset, bool* known) const {
  *known = true;
  switch (offset) {
    case kCr:
      return control_ | (active_ >= 0 ? kCrActive : 0);
    case kEs:
      return error_status_ | (errors_ != 0 ? kVld : 0);
    case kErq:
      return enabled_;
    case kEei:
      return error_interrupts_;
    case kCommands:
    case kCommands + 4:
      return 0;
    case kInt:
      return interrupts_;
    case kErr:
      return errors_;
    case kHrs:
      return requests_;
    case kEars:
      return asynchronous_;
    default:
      break;
  }
  if (offset >= kDchpri && offset < kDchpri + kChannels) {  // DCHPRI3 first
    uint32_t value = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      value |= uint32_t{priority_[(offset - kDchpri) + 3 - i]} << (8 * i);
    }
    return value;
  }
  *known = false;
  return 0;
}

uint32_t Edma::read(uint32_t offset, unsigned size, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size);
  uint32_t value = 0;
  if (lanes.offset >= kTcd && lanes.offset < kTcd + tcds_.size()) {
    value = tcd(0, lanes.offset - kTcd, 4);
  } else {
    bool known = false;
    value = read_word(lanes.offset, &known);
    if (!known) host_.report_unknown(*this, lanes.offset, false);
  }
  update();
  return lanes.extract(value);
}

bool Edma::write_plain(const Lanes& lanes) {
  switch (lanes.offset) {
    case kCr:
      control_ = lanes.merge(control_, 0x000305FE) & ~kCancel;
      if ((lanes.bits & kCancel) != 0) host_.report_unknown(*this, kCr, true);
      return true;
    case kErq:
      enabled_ = lanes.merge(enabled_);
      return true;
    case kEei:
      error_interrupts_ = lanes.merge(error_interrupts_);
      return true;
    case kInt:
      interrupts_ &= ~lanes.bits;
      return true;
    case kErr:
      errors_ &= ~lanes.bits;
      return true;
    case kEars:
      asynchronous_ = lanes.merge(asynchronous_);
      return true;
    case kEs:
    case kHrs:
      return true;
    default:
      break;
  }
  if (lanes.offset >= kDchpri && lanes.offset < kDchpri + kChannels) {
    for (uint32_t i = 0; i < 4; ++i) {
      if ((lanes.mask >> (8 * i) & 0xFF) == 0) continue;
      const uint8_t value = static_cast<uint8_t>(lanes.bits >> (8 * i));
      uint8_t& priority = priority_[(lanes.offset - kDchpri) + 3 - i];
      priority = static_cast<uint8_t>((priority & 0x30) | (value & 0xCF));  // GRPPRI is read only
      if ((value & 0x80) != 0) host_.report_unknown(*this, lanes.offset + i, true);
    }
    return true;
  }
  return false;
}

void Edma::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  settle(now);
  const Lanes lanes(offset, size, value);
  if (offset >= kTcd && offset + size <= kTcd + tcds_.size()) {
    for (unsigned i = 0; i < size; ++i) {
      write_tcd_byte(offset - kTcd + i, static_cast<uint8_t>(value >> (8 * i)));
    }
  } else if (lanes.offset == kCommands || lanes.offset == kCommands + 4) {
    for (unsigned i = 0; i < size; ++i) {
      write_command(offset + i, static_cast<uint8_t>(value >> (8 * i)));
    }
  } else if (!write_plain(lanes)) {
    host_.report_unknown(*this, lanes.offset, true);
  }
  arbitrate(now);
  update();
}

void Edma::update() {
  uint32_t levels = (interrupts_ | interrupts_ >> 16) & 0xFFFF;
  if ((errors_ & error_interrupts_) != 0) levels |= 1u << kErrorIrq;
  for (unsigned irq = 0; irq <= kErrorIrq; ++irq) {
    if (((levels ^ levels_) >> irq & 1) != 0) host_.set_interrupt(kIrq + irq, levels >> irq & 1);
  }
  levels_ = levels;
  schedule_at(host_.events(), event_, end_);
}

void Edma::snapshot(Snapshot& s) {
  s.field("control", control_);
  s.field("error_status", error_status_);
  s.field("enabled", enabled_);
  s.field("error_interrupts", error_interrupts_);
  s.field("interrupts", interrupts_);
  s.field("errors", errors_);
  s.field("requests", requests_);
  s.field("asynchronous", asynchronous_);
  s.field("priority", priority_);
  s.field("tcds", tcds_);
  s.field("active", active_);
  s.field("last", last_);
  s.field("source", source_);
  s.field("destination", destination_);
  s.field("left", left_);
  s.field("pending_error", pending_error_);
  s.field("end", end_);
  s.field("levels", levels_);
  if (active_ >= static_cast<int>(kChannels) || active_ < -1 || last_ >= kChannels ||
      (active_ < 0) != (end_ == kNever)) {
    s.fail("active", "is no state of the engine");
    active_ = -1;
    last_ = 0;
    end_ = kNever;
  }
  host_.events().snapshot(s, event_);
}

}  // namespace millrace::board
