// SPDX-License-Identifier: Apache-2.0
// Registers and interrupts. What the hardware changes by itself lives in plain members, here and in
// UsbEndpoints; the register file is brought up to date before an access, so that accesses of any
// width and what is unknown are handled in one place.
//
// USBSTS bits are set whether or not USBINTR enables them. UI and UEI reach the interrupt line at
// the next multiple of USBCMD.ITC microframes; 0 is at once, and the other bits always are (42.7
// USBCMD, USBSTS). The line is a level: it stays up until software clears the status.
#include "usb/usb_otg.h"

#include <algorithm>

#include "devices/lanes.h"
#include "usb/usb_otg_registers.h"

namespace millrace::board {
namespace {

constexpr uint32_t kThresholdBits = usb::kUi | usb::kUei;
constexpr uint64_t kMicroframesPerSecond = 8000;
constexpr uint32_t kMillisecondHz = 1000;

}  // namespace

UsbOtg::UsbOtg(DeviceHost& host, Clocks& clocks, const Timing& timing, UsbPhy& phy, unsigned number)
    : host_(host),
      clocks_(clocks),
      phy_(phy),
      number_(number),
      registers_(usb::otg_registers(), 4, *this, host),
      endpoints_(host, timing, *this),
      timer0_(host.events(), clocks, [this](Cycles when) { raise(usb::kTi0, when); }),
      timer1_(host.events(), clocks, [this](Cycles when) { raise(usb::kTi1, when); }),
      threshold_event_(&UsbOtg::on_threshold, this) {
  clocks.add_user(*this);
  phy.on_change([this](Cycles now) { update_connection(now); });
  reset();
}

void UsbOtg::after_clock_change(Cycles now) {
  timer0_.clock_changed(now);
  timer1_.clock_changed(now);
}

void UsbOtg::reset() {
  registers_.reset();
  endpoints_.reset();
  timer0_.reset();
  timer1_.reset();
  host_.events().cancel(threshold_event_);
  held_ = 0;
  address_ = staged_address_ = 0;
  staged_ = suspended_ = false;
  frindex_ = 0;
  frame_start_ = host_.events().now();
  set_vbus(vbus_);
  registers_[usb::kOtgSc] &= ~usb::kOtgStatusChange;
  update_connection(host_.events().now());
  update_interrupt();
}

bool UsbOtg::device_mode() const {
  return (registers_[usb::kUsbMode] & usb::kCm) == usb::kCmDevice;
}

// NAKI is the OR of the enabled NAK bits; HCH is of host mode alone.
uint32_t UsbOtg::status() const {
  uint32_t value = registers_[usb::kUsbSts];
  if ((endpoints_.nak() & registers_[usb::kEndptNakEn]) != 0) value |= usb::kNaki;
  const bool host_mode = (registers_[usb::kUsbMode] & usb::kCm) == usb::kCmHost;
  if (host_mode && (registers_[usb::kUsbCmd] & usb::kRs) == 0) value |= usb::kHch;
  return value;
}

uint32_t UsbOtg::pending() const { return status() & registers_[usb::kUsbIntr]; }

void UsbOtg::update_interrupt() {
  const uint32_t otg = registers_[usb::kOtgSc];
  const bool level = (pending() & ~held_) != 0 || (otg & otg >> 8 & usb::kOtgStatusChange) != 0;
  host_.set_interrupt(irq(number_), level);
}

void UsbOtg::raise(uint32_t bits, Cycles now) {
  uint32_t& stored = registers_[usb::kUsbSts];
  const uint32_t fresh = bits & ~stored & kThresholdBits;
  stored |= bits;
  if (fresh != 0 && (registers_[usb::kUsbCmd] >> usb::kItcShift & 0xFF) != 0) {
    held_ |= fresh;
    if (!threshold_event_.scheduled()) {
      host_.events().schedule(threshold_event_, next_threshold(now));
    }
  }
  update_interrupt();
}

void UsbOtg::on_threshold(void* context, Cycles) {
  UsbOtg& self = *static_cast<UsbOtg*>(context);
  self.held_ = 0;
  self.update_interrupt();
}

// The grid of microframes is the host's as of the last SOF; it goes on without.
Cycles UsbOtg::next_threshold(Cycles now) const {
  const uint64_t interval = registers_[usb::kUsbCmd] >> usb::kItcShift & 0xFF;
  const Cycles microframe = std::max<Cycles>(clocks_.hz(Clock::core) / kMicroframesPerSecond, 1);
  const uint64_t current = frindex_ + (now - frame_start_) / microframe;
  const uint64_t next = (current / interval + 1) * interval;
  return frame_start_ + (next - frindex_) * microframe;
}

void UsbOtg::endpoint_changed(unsigned endpoint, bool in, Cycles now) {
  if (bus_ != nullptr) bus_->endpoint_changed(endpoint, in, now);
}

uint32_t UsbOtg::read(uint32_t offset, unsigned size, Cycles now) {
  const Lanes lanes(offset, size);
  if (lanes.offset == usb::kUsbSts) return lanes.extract(status());  // has bits that nobody stores
  refresh(lanes.offset, now);
  return registers_.read(offset, size);
}

void UsbOtg::refresh(uint32_t offset, Cycles now) {
  switch (offset) {
    case usb::kGptimer0Ctrl:
      registers_[offset] = timer0_.control_at(now);
      break;
    case usb::kGptimer1Ctrl:
      registers_[offset] = timer1_.control_at(now);
      break;
    case usb::kUsbCmd:
      registers_[offset] =
          (registers_[offset] & ~(usb::kSutw | usb::kAtdtw)) | endpoints_.tripwires();
      break;
    case usb::kFrIndex:
      registers_[offset] = frindex_;
      break;
    case usb::kDeviceAddr:
      registers_[offset] = uint32_t{address_} << usb::kUsbAdrShift | (staged_ ? usb::kUsbAdra : 0);
      break;
    case usb::kOtgSc: {
      const bool odd = now * kMillisecondHz / clocks_.hz(Clock::core) % 2 != 0;
      registers_[offset] = (registers_[offset] & ~usb::kOtgMs) | (odd ? usb::kOtgMs : 0);
      break;
    }
    case usb::kEndptNak:
      registers_[offset] = endpoints_.nak();
      break;
    case usb::kEndptSetupStat:
      registers_[offset] = endpoints_.setup_stat();
      break;
    case usb::kEndptPrime:
      registers_[offset] = endpoints_.prime();
      break;
    case usb::kEndptFlush:
      registers_[offset] = endpoints_.flush();
      break;
    case usb::kEndptStat:
      registers_[offset] = endpoints_.stat();
      break;
    case usb::kEndptComplete:
      registers_[offset] = endpoints_.complete();
      break;
    default:
      if (offset >= usb::kEndptCtrl0 && offset < kSize) {
        const unsigned endpoint = (offset - usb::kEndptCtrl0) / 4;
        if (endpoint < kUsbEndpoints) registers_[offset] = endpoints_.control(endpoint);
      }
  }
}

void UsbOtg::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  refresh(offset & ~3u, now);
  const RegisterChange change = registers_.write(offset, size, value);
  if (change.known) written(change, now);
}

void UsbOtg::written(const RegisterChange& change, Cycles now) {
  switch (change.offset) {
    case usb::kGptimer0Ld:
      timer0_.set_load(change.after);
      break;
    case usb::kGptimer1Ld:
      timer1_.set_load(change.after);
      break;
    case usb::kGptimer0Ctrl:
      timer0_.control(change.after, now);
      break;
    case usb::kGptimer1Ctrl:
      timer1_.control(change.after, now);
      break;
    case usb::kUsbCmd:
      write_command(change, now);
      break;
    case usb::kDeviceAddr:
      write_address(change.after);
      break;
    case usb::kEndptListAddr:
      endpoints_.set_list(change.after);
      break;
    case usb::kPortSc1:
      write_port(change, now);
      break;
    case usb::kOtgSc: {
      const uint32_t cleared = change.written & usb::kOtgStatusChange;
      registers_[usb::kOtgSc] &= ~cleared;
      if ((change.after & usb::kOtgMsEnable) != 0) {
        host_.report_unknown(*this, usb::kOtgSc, true);  // the 1 ms interrupt
      }
      break;
    }
    case usb::kUsbMode:
      write_mode(change);
      update_connection(now);
      break;
    default:
      write_endpoint_register(change, now);
  }
  update_interrupt();
}

void UsbOtg::write_endpoint_register(const RegisterChange& change, Cycles now) {
  const uint32_t bits = change.written & usb::kEndpointBits;
  switch (change.offset) {
    case usb::kEndptNak:
      return endpoints_.clear_nak(bits);
    case usb::kEndptSetupStat:
      return endpoints_.clear_setup_stat(bits);
    case usb::kEndptPrime:
      return endpoints_.write_prime(bits, now);
    case usb::kEndptFlush:
      return endpoints_.write_flush(bits, now);
    case usb::kEndptComplete:
      return endpoints_.clear_complete(bits);
    default:
      break;
  }
  if (change.offset >= usb::kEndptCtrl0) {
    endpoints_.write_control((change.offset - usb::kEndptCtrl0) / 4, change.after, now);
  }
}

void UsbOtg::write_command(const RegisterChange& change, Cycles now) {
  if ((change.written & usb::kRst) != 0) return reset();  // done before software can look
  endpoints_.write_tripwires(change.after);
  if ((change.after >> usb::kItcShift & 0xFF) == 0) {  // what waits is told at once
    held_ = 0;
    host_.events().cancel(threshold_event_);
  }
  update_connection(now);
}

// CM can be written once after reset (42.7 USBMODE).
void UsbOtg::write_mode(const RegisterChange& change) {
  uint32_t& mode = registers_[usb::kUsbMode];
  if ((change.before & usb::kCm) != 0) mode = (mode & ~usb::kCm) | (change.before & usb::kCm);
  const bool host_mode = (mode & usb::kCm) == usb::kCmHost && (change.before & usb::kCm) == 0;
  if (host_mode || (mode & ~change.before & usb::kEs) != 0) {
    host_.report_unknown(*this, usb::kUsbMode, true);
  }
  if (device_mode()) registers_[usb::kPortSc1] |= usb::kPe;  // always 1 in device mode
  endpoints_.set_mode(mode);
}

// 42.7 DEVICEADDR: with USBADRA the address waits for the next IN of endpoint 0 to be acknowledged.
void UsbOtg::write_address(uint32_t value) {
  const auto address = static_cast<uint8_t>(value >> usb::kUsbAdrShift);
  staged_ = (value & usb::kUsbAdra) != 0;
  if (staged_) {
    staged_address_ = address;
  } else {
    address_ = address;
  }
}

void UsbOtg::write_port(const RegisterChange& change, Cycles now) {
  if ((change.after & usb::kPtc) != 0) host_.report_unknown(*this, usb::kPortSc1, true);
  uint32_t& port = registers_[usb::kPortSc1];
  // FPR is a command; it reads 1 from then on until the bus is resumed.
  port = (port & ~usb::kFpr) | (change.before & usb::kFpr);
  if (suspended_ && (change.written & usb::kFpr) != 0 && (change.before & usb::kFpr) == 0) {
    port |= usb::kFpr;
    if (bus_ != nullptr) bus_->remote_wakeup(now);
  }
}

void UsbOtg::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  endpoints_.snapshot(s);
  timer0_.snapshot(s);
  timer1_.snapshot(s);
  s.field("held", held_);
  s.field("address", address_);
  s.field("staged_address", staged_address_);
  s.field("staged", staged_);
  s.field("vbus", vbus_);
  s.field("was_connected", was_connected_);
  s.field("suspended", suspended_);
  s.field("frindex", frindex_);
  s.field("frame_start", frame_start_);
  host_.events().snapshot(s, threshold_event_);
}

}  // namespace millrace::board
