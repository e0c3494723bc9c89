// SPDX-License-Identifier: Apache-2.0
// The UsbSerialPort of usb_serial.h on a board's USB1.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "devices/clocks.h"
#include "millrace/board/usb_serial.h"
#include "usb/cdc_acm_host.h"
#include "usb/cdc_net_host.h"
#include "usb/usb_capture.h"
#include "usb/usb_host.h"
#include "usb/usb_otg.h"

namespace millrace::board {

class UsbLink final : public UsbSerialPort {
 public:
  // All outlive this.
  UsbLink(EventQueue& events, Clocks& clocks, UsbOtg& device, const UsbHostProfile& profile,
          const UsbHostOptions& options);
  ~UsbLink() override;

  void set_changed(std::function<void()> changed) override { acm_.set_changed(std::move(changed)); }
  bool plug_in() override;
  bool unplug() override;
  bool suspend_bus() override;
  bool resume_bus() override;
  bool reset_bus() override;
  bool is_ready() const override { return acm_.is_ready(); }
  std::string problem() const override { return acm_.problem(); }
  UsbSerialInfo info() const override;
  void open() override { acm_.open(); }
  void close() override { acm_.close(); }
  void set_lines(bool dtr, bool rts) override;
  size_t read(std::span<uint8_t> out) override { return acm_.read(out); }
  size_t write(std::span<const uint8_t> bytes) override { return acm_.write(bytes); }
  UsbLinkCounts counts() const override;
  EthernetPort& ethernet() override { return net_; }

 private:
  UsbOtg& device_;
  UsbCaptures captures_;
  UsbHost host_;
  CdcAcmHost acm_;
  CdcNetHost net_;
};

// Those that the options ask for.
UsbCaptures make_usb_captures(const UsbHostOptions& options);

// The profile of the options. Empty, or one sentence.
std::string make_host_profile(const UsbHostOptions& options, UsbHostProfile* profile);

}  // namespace millrace::board
