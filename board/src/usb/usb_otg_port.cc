// SPDX-License-Identifier: Apache-2.0
// The port: connection, reset, suspend, frames, and tokens on their way to the endpoints
// (IMXRT1060RM 42.5.6.2, 42.7 PORTSC1, OTGSC).
#include "usb/usb_otg.h"
#include "usb/usb_otg_registers.h"

namespace millrace::board {

namespace {

constexpr uint32_t kFrIndexMask = 0x3FFF;
constexpr uint32_t kSessionBits = usb::kOtgAvv | usb::kOtgAsv | usb::kOtgBsv | usb::kOtgBse;

}  // namespace

bool UsbOtg::connected() const {
  // A suspended transceiver has its clock off and keeps its pull-up.
  const bool phy = suspended_ ? phy_.out_of_reset() : phy_.active();
  return device_mode() && (registers_[usb::kUsbCmd] & usb::kRs) != 0 && phy;
}

void UsbOtg::update_connection(Cycles now) {
  const bool is_connected = connected();
  if (is_connected == was_connected_) return;
  was_connected_ = is_connected;
  if (!is_connected) {
    registers_[usb::kPortSc1] &= ~(usb::kCcs | usb::kHsp | usb::kPspd | usb::kPr | usb::kSusp);
    suspended_ = false;
    endpoints_.set_high_speed(false);
  }
  if (bus_ != nullptr) bus_->connection_changed(now);
}

// VBUS of 5 V is above every threshold; the B device's session end is below all.
void UsbOtg::set_vbus(bool present) {
  vbus_ = present;
  uint32_t& otg = registers_[usb::kOtgSc];
  const uint32_t wanted = present ? usb::kOtgAvv | usb::kOtgAsv | usb::kOtgBsv : usb::kOtgBse;
  const uint32_t changed = (otg ^ wanted) & kSessionBits;
  otg = (otg & ~kSessionBits) | wanted | changed << 8;
}

void UsbOtg::attach(Cycles) {
  set_vbus(true);
  if (vbus_listener_) vbus_listener_(true);
  update_interrupt();
}

void UsbOtg::detach(Cycles now) {
  set_vbus(false);
  if (vbus_listener_) vbus_listener_(false);
  suspend(now);  // the pull-up alone drives the bus: idle
  update_interrupt();
}

void UsbOtg::reset_begin(Cycles now) {
  if (!was_connected_) return;
  suspended_ = false;
  phy_.wake();
  uint32_t& port = registers_[usb::kPortSc1];
  port &= ~(usb::kHsp | usb::kPspd | usb::kSusp | usb::kFpr | usb::kPhcd);
  port |= usb::kPr;
  registers_[usb::kUsbSts] &= ~usb::kSli;
  address_ = 0;
  staged_ = false;
  endpoints_.bus_reset();
  endpoints_.set_high_speed(false);
  raise(usb::kUri, now);
}

UsbSpeed UsbOtg::reset_end(UsbSpeed offered, Cycles now) {
  uint32_t& port = registers_[usb::kPortSc1];
  const bool high = offered == UsbSpeed::high && (port & usb::kPfsc) == 0;
  if (!was_connected_) return high ? UsbSpeed::high : UsbSpeed::full;
  port &= ~(usb::kPr | usb::kPspd | usb::kHsp);
  port |= usb::kCcs | usb::kPe | (high ? usb::kPspdHigh | usb::kHsp : 0);
  endpoints_.set_high_speed(high);
  // USBSTS.PCI: the port enters the full- or high-speed operational state.
  raise(usb::kPci, now);
  return high ? UsbSpeed::high : UsbSpeed::full;
}

void UsbOtg::suspend(Cycles now) {
  if (!was_connected_ || suspended_) return;
  suspended_ = true;
  registers_[usb::kPortSc1] |= usb::kSusp;
  raise(usb::kSli, now);
}

void UsbOtg::resume(Cycles now) {
  if (!was_connected_ || !suspended_) return;
  phy_.wake();
  suspended_ = false;
  registers_[usb::kPortSc1] &= ~(usb::kSusp | usb::kFpr | usb::kPhcd);
  // "The device controller clears the bit upon exiting from a suspend state" (42.7 USBSTS.SLI).
  registers_[usb::kUsbSts] &= ~usb::kSli;
  raise(usb::kPci, now);
}

void UsbOtg::start_of_frame(uint32_t frindex, Cycles now) {
  if (!was_connected_ || suspended_) return;
  const bool high = (registers_[usb::kPortSc1] & usb::kHsp) != 0;
  frindex_ = frindex & (high ? kFrIndexMask : kFrIndexMask & ~7u);
  frame_start_ = now;
  endpoints_.start_of_frame(now);
  raise(usb::kSri, now);
}

bool UsbOtg::answers(uint8_t address, unsigned endpoint) const {
  return was_connected_ && !suspended_ && phy_.active() && endpoint < kUsbEndpoints &&
         address == address_ && (registers_[usb::kPortSc1] & (usb::kPr | usb::kCcs)) == usb::kCcs;
}

Handshake UsbOtg::setup(uint8_t address, unsigned endpoint, std::span<const uint8_t, 8> bytes,
                        Cycles now) {
  if (!answers(address, endpoint)) return Handshake::timeout;
  if (endpoint == 0) staged_ = false;
  return endpoints_.setup(endpoint, bytes, now);
}

Handshake UsbOtg::out(uint8_t address, unsigned endpoint, bool data1,
                      std::span<const uint8_t> bytes, Cycles now) {
  if (!answers(address, endpoint)) return Handshake::timeout;
  if (endpoint == 0) staged_ = false;
  return endpoints_.out(endpoint, data1, bytes, now);
}

Handshake UsbOtg::ping(uint8_t address, unsigned endpoint, Cycles now) {
  return answers(address, endpoint) ? endpoints_.ping(endpoint, now) : Handshake::timeout;
}

void UsbOtg::in(uint8_t address, unsigned endpoint, InPacket* packet, Cycles now) {
  if (answers(address, endpoint)) return endpoints_.in(endpoint, packet, now);
  packet->handshake = Handshake::timeout;
  packet->size = 0;
}

void UsbOtg::in_done(unsigned endpoint, bool acked, Cycles now) {
  if (endpoint >= kUsbEndpoints || !endpoints_.in_done(endpoint, acked, now)) return;
  if (endpoint == 0 && staged_) {
    address_ = staged_address_;
    staged_ = false;
  }
}

Cycles UsbOtg::ready_at(unsigned endpoint, bool in, Cycles now) const {
  return endpoint < kUsbEndpoints ? endpoints_.ready_at(endpoint, in, now) : kNever;
}

}  // namespace millrace::board
