// SPDX-License-Identifier: Apache-2.0
// A host with a scripted device, 600 core cycles a microsecond. Port times are cut so that tests
// need not wait 160 ms; UsbHostPort tests have the real ones.
#pragma once

#include <vector>

#include "devices/testing/device_fixture.h"
#include "usb/testing/fake_usb_device.h"
#include "usb/usb_host.h"

namespace millrace::board::testing {

inline UsbHostProfile quick_profile() {
  UsbHostProfile profile;
  profile.debounce_us = 10;
  profile.reset_us = 3000;
  profile.recovery_us = 10;
  return profile;
}

inline UsbHostProfile quick_profile(std::string_view builtin) {
  UsbHostProfile profile = quick_profile();
  apply_usb_profile(builtin_usb_profile(builtin), &profile);
  return profile;
}

class UsbHostFixture : public DeviceFixture, public UsbHostListener {
 protected:
  static constexpr Cycles kUs = 600;
  static constexpr Cycles kMicroframe = 75000;

  explicit UsbHostFixture(const UsbHostProfile& profile = quick_profile())
      : usb(host.queue, clocks, device, profile) {
    usb.set_listener(this);
  }
  void port_enabled(UsbSpeed) override { ++enabled; }
  void port_disabled() override { ++disabled; }

  Cycles now() const { return host.queue.now(); }
  void run(Cycles cycles) { run_to(now() + cycles); }
  // Until the port is enabled, without enumeration: the device answers at address 0.
  void start(UsbSpeed speed = UsbSpeed::high) {
    usb.set_offered_speed(speed);
    usb.plug_in();
    while (usb.port_state() != UsbPortState::enabled) run(kUs);
    usb.set_control_max_packet(64);
    const auto packet = static_cast<uint16_t>(speed == UsbSpeed::high ? 512 : 64);
    usb.open_pipe({0x82, UsbTransfer::interrupt, 16, 5});
    usb.open_pipe({0x03, UsbTransfer::bulk, packet, 0});
    usb.open_pipe({0x84, UsbTransfer::bulk, packet, 0});
  }

  // An URB with its buffer, that remembers when it came back; `repeat` submits it again.
  struct Transfer {
    Urb urb;
    Bytes bytes;
    UsbHostFixture* fixture = nullptr;
    bool repeat = false;
    unsigned completions = 0;
    uint64_t total = 0;
    Cycles done_at = 0;

    Transfer(UsbHostFixture& f, uint8_t endpoint, size_t size) : bytes(size), fixture(&f) {
      urb.endpoint = endpoint;
      urb.buffer = bytes;
      urb.context = this;
      urb.done = [](void* context, Urb& u) {
        auto* self = static_cast<Transfer*>(context);
        ++self->completions;
        self->total += u.actual;
        self->done_at = self->fixture->now();
        if (self->repeat && u.status == UrbStatus::ok) self->fixture->usb.submit(u);
      };
    }
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    bool is_done() const { return urb.status != UrbStatus::pending; }
  };
  // Submits and runs until done, at most 100 ms.
  void complete(Transfer& transfer) {
    usb.submit(transfer.urb);
    wait(transfer);
  }
  void wait(Transfer& transfer) {
    const Cycles end = now() + 100'000 * kUs;
    while (!transfer.is_done() && now() < end) run(kUs);
    EXPECT_TRUE(transfer.is_done());
  }

  FakeUsbDevice device;
  UsbHost usb;
  unsigned enabled = 0;
  unsigned disabled = 0;
};

}  // namespace millrace::board::testing
