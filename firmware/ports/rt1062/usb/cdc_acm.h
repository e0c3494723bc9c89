// SPDX-License-Identifier: Apache-2.0
// A serial port: USB Class Definitions for Communication Devices 1.2, PSTN subclass 1.2, abstract
// control model. Two interfaces with an association, so that others may stand beside it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_device.h"

namespace millrace::rt1062 {

struct CdcAcmEndpoints {
  uint8_t notification = 0x82;  // interrupt IN; nothing is ever sent on it
  uint8_t out = 0x03;
  uint8_t in = 0x84;
};

// PSTN 1.2 table 17.
struct LineCoding {
  static constexpr size_t kBytes = 7;
  uint32_t baud = 115200;
  uint8_t stop_bits = 0;  // 0: 1, 1: 1.5, 2: 2
  uint8_t parity = 0;
  uint8_t data_bits = 8;
};

class CdcAcm final : public UsbFunction {
 public:
  explicit CdcAcm(const CdcAcmEndpoints& endpoints) : endpoints_(endpoints) {}

  uint8_t interface_count() const override { return 2; }
  void describe(UsbDescriptorWriter& out, uint8_t first_interface, bool high_speed) override;
  void configured(UsbDevice& device, uint8_t first_interface, bool high_speed) override;
  void closed() override;
  UsbReply on_request(const UsbSetup& setup, uint8_t interface) override;
  bool on_data(const UsbSetup& setup, uint8_t interface, const uint8_t* data, size_t size) override;

  static constexpr uint16_t bulk_packet(bool high_speed) { return high_speed ? 512 : 64; }

  // What the host has set; may be read at any time.
  bool dtr() const { return (lines_ & 1u) != 0; }
  bool rts() const { return (lines_ & 2u) != 0; }
  uint32_t baud() const { return baud_; }
  // How often DTR went from on to off: a host has closed the port.
  uint32_t dtr_drops() const { return dtr_drops_; }
  // Only where the interrupt handler is locked out.
  const LineCoding& line_coding() const { return line_coding_; }

 private:
  void set_lines(uint8_t lines);

  CdcAcmEndpoints endpoints_;
  LineCoding line_coding_;
  uint8_t reply_[LineCoding::kBytes] = {};
  volatile uint8_t lines_ = 0;
  volatile uint32_t baud_ = 115200;
  volatile uint32_t dtr_drops_ = 0;
};

}  // namespace millrace::rt1062
