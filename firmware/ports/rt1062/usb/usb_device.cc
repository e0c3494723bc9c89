// SPDX-License-Identifier: Apache-2.0
// Start, bus events and endpoints (IMXRT1060RM 42.5.6.2 and 42.5.6.3); requests are in
// usb_control.cc. What the interrupt handler needs to keep whole, it does under its own priority;
// who moves data locks it out for the few accesses in which both could meet (UsbHardware::lock).
#include "firmware/ports/rt1062/usb/usb_device.h"

#include <string.h>

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kControlBits = endpoint_bit(0x00) | endpoint_bit(0x80);
constexpr uint32_t kAllBits = 0x00ff00ff;
constexpr uint32_t kSpins = 10'000;  // bound of the waits for the controller

constexpr uint32_t half_control(EndpointType type) {
  return static_cast<uint32_t>(type) << ENDPTCTRL_TYPE_SHIFT;
}

}  // namespace

UsbDevice::UsbDevice(UsbHardware& hardware, UsbControlMemory& memory, const UsbIdentity& identity)
    : hardware_(hardware), memory_(memory), identity_(identity) {}

bool UsbDevice::add(UsbFunction& function) {
  if (function_count_ == kMaxFunctions) return false;
  functions_[function_count_].function = &function;
  functions_[function_count_].first_interface = interface_count_;
  ++function_count_;
  interface_count_ = static_cast<uint8_t>(interface_count_ + function.interface_count());
  return true;
}

// 42.5.6.1, "Device controller initialization".
void UsbDevice::start() {
  memset(&memory_, 0, sizeof(memory_));
  for (UsbQueueHead& head : memory_.heads) head.next = DTD_TERMINATE;
  head(0x00).capabilities = kControlMaxPacket << DQH_MAX_PACKET_SHIFT | DQH_ZLT | DQH_IOS;
  head(0x80).capabilities = kControlMaxPacket << DQH_MAX_PACKET_SHIFT | DQH_ZLT;

  hardware_.power_up();
  hardware_.write(UsbRegister::usbmode, USBMODE_CM_DEVICE | USBMODE_SLOM);
  hardware_.write(UsbRegister::endptlistaddr, hardware_.bus_address(&memory_.heads));
  hardware_.write(UsbRegister::usbintr, USBSTS_UI | USBSTS_UEI | USBSTS_URI | USBSTS_SLI);
  // The interrupt threshold (ITC) is 8 microframes after a reset: 0, interrupts come at once.
  hardware_.write(UsbRegister::usbcmd, USBCMD_RS);
}

void UsbDevice::on_interrupt() {
  const uint32_t status = hardware_.read(UsbRegister::usbsts);
  hardware_.write(UsbRegister::usbsts, status);
  if ((status & USBSTS_URI) != 0) on_reset();
  if ((status & USBSTS_SLI) != 0) on_suspend();
  if ((status & USBSTS_UEI) != 0) events_.errors = events_.errors + 1;
  if ((status & (USBSTS_UI | USBSTS_UEI)) == 0) return;

  // A SETUP that comes while one is answered is seen by the next look.
  while ((hardware_.read(UsbRegister::endptsetupstat) & 1u) != 0) on_setup();
  // Of the other endpoints the bits mean nothing here: their owners look at the dTDs.
  const uint32_t complete = hardware_.read(UsbRegister::endptcomplete);
  hardware_.write(UsbRegister::endptcomplete, complete);
  if (receiving_ && (complete & endpoint_bit(0x00)) != 0) on_control_data();
}

// 42.5.6.2.1, "Bus reset".
void UsbDevice::on_reset() {
  events_.resets = events_.resets + 1;
  hardware_.write(UsbRegister::endptsetupstat, hardware_.read(UsbRegister::endptsetupstat));
  hardware_.write(UsbRegister::endptcomplete, hardware_.read(UsbRegister::endptcomplete));
  for (uint32_t i = 0; i < kSpins && hardware_.read(UsbRegister::endptprime) != 0; ++i) {
  }
  receiving_ = false;
  end_session();
  flush(kControlBits);
  hardware_.write(UsbRegister::deviceaddr, 0);
}

// No traffic for 3 ms. Nothing is lost by it, unless the cable was pulled.
void UsbDevice::on_suspend() {
  events_.suspends = events_.suspends + 1;
  if ((hardware_.read(UsbRegister::otgsc) & OTGSC_BSV) != 0) return;
  events_.detaches = events_.detaches + 1;
  end_session();
}

void UsbDevice::end_session() {
  const bool was_open = session_.open;
  session_.open = false;
  session_.number = session_.number + 1;
  configuration_ = 0;
  close_endpoints();
  if (!was_open) return;
  for (unsigned i = 0; i < function_count_; ++i) functions_[i].function->closed();
}

void UsbDevice::close_endpoints() {
  flush(kAllBits & ~kControlBits);
  for (uint32_t number = 1; number < kUsbEndpoints; ++number) {
    Endpoint& out = endpoints_[endpoint_index(static_cast<uint8_t>(number))];
    Endpoint& in = endpoints_[endpoint_index(static_cast<uint8_t>(number | kUsbDirectionIn))];
    if (!out.open && !in.open) continue;
    hardware_.write(endpoint_control(number), 0);
    out.open = in.open = false;
  }
}

// 42.5.6.6.5: a packet that is under way is finished first, and may leave the endpoint primed.
void UsbDevice::flush(uint32_t bits) {
  for (uint32_t i = 0; i < 4; ++i) {
    hardware_.write(UsbRegister::endptflush, bits);
    for (uint32_t spins = 0; spins < kSpins; ++spins) {
      if ((hardware_.read(UsbRegister::endptflush) & bits) == 0) break;
    }
    if ((hardware_.read(UsbRegister::endptstat) & bits) == 0) return;
  }
}

void UsbDevice::open_endpoint(uint8_t address, EndpointType type, uint16_t max_packet,
                              uint8_t interface) {
  const uint32_t number = endpoint_number(address);
  UsbQueueHead& queue_head = head(address);
  queue_head.capabilities = static_cast<uint32_t>(max_packet) << DQH_MAX_PACKET_SHIFT | DQH_ZLT;
  queue_head.next = DTD_TERMINATE;
  queue_head.token = 0;
  Endpoint& endpoint = endpoints_[endpoint_index(address)];
  endpoint.open = true;
  endpoint.interface = interface;

  const bool in = endpoint_is_in(address);
  const uint32_t own_shift = in ? ENDPTCTRL_TX_SHIFT : 0;
  const uint32_t other_shift = in ? 0 : ENDPTCTRL_TX_SHIFT;
  const uint32_t own = half_control(type) | ENDPTCTRL_TOGGLE_RESET | ENDPTCTRL_ENABLE;
  uint32_t value = own << own_shift;
  // 42.5.6.3.1: the type of the direction that is not used must not stay "control".
  if (endpoints_[endpoint_index(address) ^ 1u].open) {
    value |= hardware_.read(endpoint_control(number)) & 0xffffu << other_shift;
  } else {
    value |= half_control(type) << other_shift;
  }
  hardware_.write(endpoint_control(number), value);
}

void UsbDevice::close_endpoint(uint8_t address) {
  Endpoint& endpoint = endpoints_[endpoint_index(address)];
  if (!endpoint.open) return;
  const UsbRegister control = endpoint_control(endpoint_number(address));
  const uint32_t shift = endpoint_is_in(address) ? ENDPTCTRL_TX_SHIFT : 0;
  flush(endpoint_bit(address));
  hardware_.write(control,
                  hardware_.read(control) & ~((ENDPTCTRL_ENABLE | ENDPTCTRL_STALL) << shift));
  endpoint.open = false;
}

bool UsbDevice::endpoint_exists(uint8_t address) const {
  if ((address & 0x70u) != 0 || endpoint_number(address) >= kUsbEndpoints) return false;
  return endpoint_number(address) == 0 || endpoints_[endpoint_index(address)].open;
}

// The data toggle starts anew, as it does on the host's side (USB 2.0 9.1.1.5, 9.4.5).
void UsbDevice::reset_toggle(uint8_t address, bool clear_stall) {
  const UsbRegister control = endpoint_control(endpoint_number(address));
  const uint32_t shift = endpoint_is_in(address) ? ENDPTCTRL_TX_SHIFT : 0;
  uint32_t value = hardware_.read(control) | ENDPTCTRL_TOGGLE_RESET << shift;
  if (clear_stall) value &= ~(ENDPTCTRL_STALL << shift);
  hardware_.write(control, value);
}

}  // namespace millrace::rt1062
