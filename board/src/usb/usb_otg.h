// SPDX-License-Identifier: Apache-2.0
// The USB OTG controller as a device controller (IMXRT1060RM chapter 42): registers, port, timers,
// interrupts; the endpoints are in usb_endpoints.h. Host mode is not modelled: it is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "core/device.h"
#include "core/timing.h"
#include "devices/clocks.h"
#include "devices/register_file.h"
#include "usb/usb_bus.h"
#include "usb/usb_endpoints.h"
#include "usb/usb_phy.h"
#include "usb/usb_timer.h"

namespace millrace::board {

class UsbOtg final : public Device,
                     public UsbDeviceEnd,
                     private ClockUser,
                     private UsbEndpoints::Owner {
 public:
  static constexpr uint32_t base(unsigned number) { return 0x402E0000 + 0x200 * (number - 1); }
  static constexpr uint32_t kSize = 0x200;
  static constexpr unsigned irq(unsigned number) { return 114 - number; }

  // Number 1 or 2. All outlive this. `phy` tells this of its changes from now on.
  UsbOtg(DeviceHost& host, Clocks& clocks, const Timing& timing, UsbPhy& phy, unsigned number);

  // The other end of the cable, told of what it cannot see; null: nothing is plugged in.
  void set_host(UsbHostEnd* host) { bus_ = host; }
  // VBUS came or went: for the detectors of USB_ANALOG.
  void on_vbus(std::function<void(bool present)> listener) { vbus_listener_ = std::move(listener); }

  std::string_view name() const override { return number_ == 1 ? "USB1" : "USB2"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;  // VBUS stays as it is
  void snapshot(Snapshot& s);

  bool connected() const override;
  void reset_begin(Cycles now) override;
  UsbSpeed reset_end(UsbSpeed offered, Cycles now) override;
  void suspend(Cycles now) override;
  void resume(Cycles now) override;
  void detach(Cycles now) override;
  void attach(Cycles now) override;
  void start_of_frame(uint32_t frindex, Cycles now) override;
  Handshake setup(uint8_t address, unsigned endpoint, std::span<const uint8_t, 8> bytes,
                  Cycles now) override;
  Handshake out(uint8_t address, unsigned endpoint, bool data1, std::span<const uint8_t> bytes,
                Cycles now) override;
  Handshake ping(uint8_t address, unsigned endpoint, Cycles now) override;
  void in(uint8_t address, unsigned endpoint, InPacket* packet, Cycles now) override;
  void in_done(unsigned endpoint, bool acked, Cycles now) override;
  Cycles ready_at(unsigned endpoint, bool in, Cycles now) const override;

 private:
  void raise(uint32_t status, Cycles now) override;
  void endpoint_changed(unsigned endpoint, bool in, Cycles now) override;
  void before_clock_change(Cycles) override {}
  void after_clock_change(Cycles now) override;

  // Brings the stored register up to date with what the hardware changes.
  void refresh(uint32_t offset, Cycles now);
  void written(const RegisterChange& change, Cycles now);
  void write_command(const RegisterChange& change, Cycles now);
  void write_mode(const RegisterChange& change);
  void write_address(uint32_t value);
  void write_port(const RegisterChange& change, Cycles now);
  void write_endpoint_register(const RegisterChange& change, Cycles now);
  uint32_t status() const;
  uint32_t pending() const;
  void update_interrupt();
  static void on_threshold(void* context, Cycles when);
  Cycles next_threshold(Cycles now) const;
  void update_connection(Cycles now);
  void set_vbus(bool present);
  bool answers(uint8_t address, unsigned endpoint) const;
  bool device_mode() const;

  DeviceHost& host_;
  Clocks& clocks_;
  UsbPhy& phy_;
  unsigned number_;
  UsbHostEnd* bus_ = nullptr;
  std::function<void(bool)> vbus_listener_;
  RegisterFile registers_;
  UsbEndpoints endpoints_;
  UsbTimer timer0_;
  UsbTimer timer1_;
  Event threshold_event_;  // USBCMD.ITC
  uint32_t held_ = 0;      // bits of USBSTS that wait for it
  uint8_t address_ = 0;
  uint8_t staged_address_ = 0;  // written with USBADRA
  bool staged_ = false;
  bool vbus_ = false;
  bool was_connected_ = false;
  bool suspended_ = false;
  uint32_t frindex_ = 0;
  Cycles frame_start_ = 0;  // when frindex_ began
};

}  // namespace millrace::board
