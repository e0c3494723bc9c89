// SPDX-License-Identifier: Apache-2.0
// The descriptors are those of a Teensy with serial only, but for its third interface.
#include "firmware/ports/rt1062/usb/cdc_acm.h"

#include "millrace/link/bytes.h"

namespace millrace::rt1062 {
namespace {

// CDC 1.2, chapter 4; PSTN 1.2, chapter 5.
constexpr uint8_t kCommunication = 2, kData = 10, kAbstractControl = 2, kAtCommands = 1;
constexpr uint8_t kHeader = 0, kCallManagement = 1, kAbstractControlManagement = 2, kUnion = 6;
constexpr uint16_t kCdcVersion = 0x0110;
constexpr uint8_t kHandlesCalls = 1;       // over the communication interface
constexpr uint8_t kLinesAndBreak = 2 | 4;  // SET_LINE_CODING and its kin, SEND_BREAK
constexpr uint16_t kNotificationPacket = 16;
constexpr uint8_t kNotificationInterval = 5;

// PSTN 1.2 table 13.
constexpr uint8_t kSetLineCoding = 0x20, kGetLineCoding = 0x21;
constexpr uint8_t kSetControlLineState = 0x22, kSendBreak = 0x23;
constexpr uint8_t kClassOut = 0x21, kClassIn = 0xa1;  // to an interface

}  // namespace

void CdcAcm::describe(UsbDescriptorWriter& out, uint8_t first_interface, bool high_speed) {
  const uint8_t data_interface = static_cast<uint8_t>(first_interface + 1);
  out.interface_association(first_interface, 2, kCommunication, kAbstractControl, kAtCommands);
  out.interface(first_interface, 1, kCommunication, kAbstractControl, kAtCommands);
  out.byte(5);
  out.type(DescriptorType::class_interface);
  out.byte(kHeader);
  out.word(kCdcVersion);
  out.byte(5);
  out.type(DescriptorType::class_interface);
  out.byte(kCallManagement);
  out.byte(kHandlesCalls);
  out.byte(data_interface);
  out.byte(4);
  out.type(DescriptorType::class_interface);
  out.byte(kAbstractControlManagement);
  out.byte(kLinesAndBreak);
  out.byte(5);
  out.type(DescriptorType::class_interface);
  out.byte(kUnion);
  out.byte(first_interface);
  out.byte(data_interface);
  out.endpoint(endpoints_.notification, EndpointType::interrupt, kNotificationPacket,
               kNotificationInterval);
  out.interface(data_interface, 2, kData, 0, 0);
  out.endpoint(endpoints_.out, EndpointType::bulk, bulk_packet(high_speed), 0);
  out.endpoint(endpoints_.in, EndpointType::bulk, bulk_packet(high_speed), 0);
}

void CdcAcm::configured(UsbDevice& device, uint8_t first_interface, bool high_speed) {
  const uint8_t data_interface = static_cast<uint8_t>(first_interface + 1);
  const uint16_t packet = bulk_packet(high_speed);
  device.open_endpoint(endpoints_.notification, EndpointType::interrupt, kNotificationPacket,
                       first_interface);
  device.open_endpoint(endpoints_.out, EndpointType::bulk, packet, data_interface);
  device.open_endpoint(endpoints_.in, EndpointType::bulk, packet, data_interface);
}

void CdcAcm::closed() { set_lines(0); }

void CdcAcm::set_lines(uint8_t lines) {
  if (dtr() && (lines & 1u) == 0) dtr_drops_ = dtr_drops_ + 1;
  lines_ = lines;
}

UsbReply CdcAcm::on_request(const UsbSetup& setup, uint8_t interface) {
  if (interface != 0) return UsbReply();
  if (setup.request_type == kClassIn && setup.request == kGetLineCoding) {
    link::store_le32(reply_, line_coding_.baud);
    reply_[4] = line_coding_.stop_bits;
    reply_[5] = line_coding_.parity;
    reply_[6] = line_coding_.data_bits;
    return {UsbReply::Kind::send, reply_, LineCoding::kBytes};
  }
  if (setup.request_type != kClassOut) return UsbReply();
  switch (setup.request) {
    case kSetLineCoding:
      if (setup.length != LineCoding::kBytes) return UsbReply();
      return {UsbReply::Kind::receive, nullptr, 0};
    case kSetControlLineState:
      if (setup.length != 0) return UsbReply();
      set_lines(static_cast<uint8_t>(setup.value & 3u));
      return {UsbReply::Kind::accept, nullptr, 0};
    case kSendBreak:
      return {UsbReply::Kind::accept, nullptr, 0};
    default:
      return UsbReply();
  }
}

bool CdcAcm::on_data(const UsbSetup& setup, uint8_t, const uint8_t* data, size_t size) {
  if (setup.request != kSetLineCoding || size != LineCoding::kBytes) return false;
  line_coding_.baud = link::load_le32(data);
  line_coding_.stop_bits = data[4];
  line_coding_.parity = data[5];
  line_coding_.data_bits = data[6];
  baud_ = line_coding_.baud;
  return true;
}

}  // namespace millrace::rt1062
