// SPDX-License-Identifier: Apache-2.0
// The UsbIpPort of usb_ip.h on a board's USB1.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "devices/clocks.h"
#include "millrace/board/usb_ip.h"
#include "millrace/board/usb_serial.h"
#include "usb/usb_bus.h"
#include "usb/usb_capture.h"
#include "usb/usb_enumerator.h"
#include "usb/usb_host.h"
#include "usb/usb_ip_server.h"

namespace millrace::board {

class UsbIpLink final : public UsbIpPort, private UsbEnumerator::Listener {
 public:
  // Between a client's end and the next plug: long enough for firmware that polls VBUS.
  static constexpr uint64_t kReplugNs = 100'000'000;

  // Connects the device's end of the cable to the host; null: to nothing.
  using Connect = std::function<void(UsbHostEnd* host)>;

  // All outlive this.
  UsbIpLink(EventQueue& events, Clocks& clocks, UsbDeviceEnd& device, Connect connect,
            const UsbHostProfile& profile, const UsbHostOptions& options);
  ~UsbIpLink() override;

  void plug_in() override;
  void unplug() override;
  bool is_ready() const override { return enumerator_.is_ready(); }
  std::string problem() const override { return problem_; }
  size_t receive(std::span<const uint8_t> bytes) override { return server_.receive(bytes); }
  std::span<const uint8_t> output() const override { return server_.output(); }
  void consume(size_t size) override { server_.consume(size); }
  std::string client_problem() const override { return server_.problem(); }
  bool is_imported() const override { return server_.is_imported(); }
  void disconnect() override;
  UsbIpPortCounts counts() const override;

 private:
  void device_ready(const UsbDeviceInfo&) override { problem_.clear(); }
  void device_gone() override {}
  void device_failed(const std::string& problem) override { problem_ = problem; }

  Connect connect_;
  UsbCaptures captures_;
  UsbHost host_;
  UsbEnumerator enumerator_;
  UsbIpServer server_;
  UsbHostTimer replug_;
  std::string problem_;
  uint64_t imports_seen_ = 0;
};

}  // namespace millrace::board
