// SPDX-License-Identifier: Apache-2.0
// What drivers ask of the descriptors: Linux (cdc_ether, cdc_ncm) and Windows (UsbNcm) take the
// union and the Ethernet descriptor, the address from the string that it names, and setting 1 of
// the data interface. Both wait for the notification of the connection before they call the
// cable plugged in. It is sent whenever setting 1 is chosen, behind the speed (NCM 1.0, 7.1: first
// the speed, then the connection).
#include "firmware/ports/rt1062/usb/cdc_network.h"

#include <string.h>

#include "millrace/link/bytes.h"

namespace millrace::rt1062 {
namespace {

// CDC 1.2 table 4 and 13; ECM 1.2 table 3; NCM 1.0 table 5-2.
constexpr uint8_t kCommunication = 2, kData = 10;
constexpr uint8_t kHeader = 0x00, kUnion = 0x06, kEthernet = 0x0f, kNcm = 0x1a;
constexpr uint16_t kCdcVersion = 0x0110, kNcmVersion = 0x0100;
constexpr uint8_t kSetsPacketFilter = 1;  // bmNetworkCapabilities
constexpr uint16_t kNotificationPacket = 16;
// 2^(9 - 1) microframes are 32 ms; at full speed the unit is 1 ms.
constexpr uint8_t kNotificationIntervalHigh = 9, kNotificationIntervalFull = 32;

constexpr uint8_t kClassOut = 0x21, kClassIn = 0xa1;  // to an interface
constexpr uint32_t kHighSpeedBits = 480'000'000, kFullSpeedBits = 12'000'000;

constexpr uint16_t bulk_packet(bool high_speed) { return high_speed ? 512 : 64; }

void write_notification(uint8_t* p, uint8_t code, uint8_t value, uint8_t interface, uint8_t size) {
  memset(p, 0, 8);
  p[0] = kClassIn;
  p[1] = code;
  p[2] = value;
  p[4] = interface;
  p[6] = size;
}

}  // namespace

CdcNetwork::CdcNetwork(NetworkModel model, const CdcNetworkEndpoints& endpoints, uint8_t mac_string,
                       const link::NtbParameters& parameters, UsbHardware& hardware,
                       UsbDevice& device, CdcNetworkMemory& memory)
    : model_(model),
      endpoints_(endpoints),
      mac_string_(mac_string),
      parameters_(parameters),
      hardware_(hardware),
      memory_(memory),
      notifications_(hardware, device.session(), device.head(endpoints.notification),
                     endpoints.notification, memory.transfers, CdcNetworkMemory::kTransfers),
      ntb_input_bytes_(parameters.in_max_bytes) {}

void CdcNetwork::describe(UsbDescriptorWriter& out, uint8_t first_interface, bool high_speed) {
  const bool ncm = model_ == NetworkModel::ncm;
  const uint8_t data_interface = static_cast<uint8_t>(first_interface + 1);
  const uint8_t subclass = ncm ? link::kCdcSubclassNcm : link::kCdcSubclassEcm;
  const uint8_t data_protocol = ncm ? link::kCdcDataProtocolNtb : 0;
  out.interface_association(first_interface, 2, kCommunication, subclass, 0);
  out.interface(first_interface, 1, kCommunication, subclass, 0);
  out.byte(5);
  out.type(DescriptorType::class_interface);
  out.byte(kHeader);
  out.word(kCdcVersion);
  out.byte(5);
  out.type(DescriptorType::class_interface);
  out.byte(kUnion);
  out.byte(first_interface);
  out.byte(data_interface);
  out.byte(13);
  out.type(DescriptorType::class_interface);
  out.byte(kEthernet);
  out.byte(mac_string_);
  out.word(0);  // bmEthernetStatistics: none, 32 bits
  out.word(0);
  out.word(link::kMaxEthernetFrame);
  out.word(0);  // multicast filters: the stack itself sorts
  out.byte(0);  // power filters
  if (ncm) {
    out.byte(6);
    out.type(DescriptorType::class_interface);
    out.byte(kNcm);
    out.word(kNcmVersion);
    out.byte(kSetsPacketFilter);
  }
  out.endpoint(endpoints_.notification, EndpointType::interrupt, kNotificationPacket,
               high_speed ? kNotificationIntervalHigh : kNotificationIntervalFull);
  out.interface(data_interface, 0, kData, 0, data_protocol);
  out.interface(data_interface, 2, kData, 0, data_protocol, 1);
  out.endpoint(endpoints_.out, EndpointType::bulk, bulk_packet(high_speed), 0);
  out.endpoint(endpoints_.in, EndpointType::bulk, bulk_packet(high_speed), 0);
}

void CdcNetwork::configured(UsbDevice& device, uint8_t first_interface, bool) {
  first_interface_ = first_interface;
  packet_filter_ = 0;
  ntb_input_bytes_ = parameters_.in_max_bytes;
  device.open_endpoint(endpoints_.notification, EndpointType::interrupt, kNotificationPacket,
                       first_interface);
  notifications_.restart();
}

void CdcNetwork::closed() { end_session(); }

void CdcNetwork::end_session() {
  session_.open = false;
  session_.number = session_.number + 1;
}

bool CdcNetwork::select(UsbDevice& device, uint8_t interface, uint8_t setting, bool high_speed) {
  if (setting > (interface == 1 ? 1 : 0)) return false;
  if (interface != 1) return true;
  end_session();
  device.close_endpoint(endpoints_.out);
  device.close_endpoint(endpoints_.in);
  if (setting == 0) {
    ntb_input_bytes_ = parameters_.in_max_bytes;  // NCM 1.0, 7.2
    return true;
  }
  const uint8_t data_interface = static_cast<uint8_t>(first_interface_ + 1);
  packet_bytes_ = bulk_packet(high_speed);
  device.open_endpoint(endpoints_.out, EndpointType::bulk, packet_bytes_, data_interface);
  device.open_endpoint(endpoints_.in, EndpointType::bulk, packet_bytes_, data_interface);
  session_.open = true;
  notify_connected(high_speed);
  return true;
}

uint8_t CdcNetwork::setting(uint8_t interface) const {
  return interface == 1 && session_.open ? 1 : 0;
}

// ECM 1.2, 6.3. What the host has not yet fetched of an earlier one is replaced.
void CdcNetwork::notify_connected(bool high_speed) {
  notifications_.cancel();
  const uint32_t bits_per_s = high_speed ? kHighSpeedBits : kFullSpeedBits;
  write_notification(memory_.speed_change, link::kConnectionSpeedChange, 0, first_interface_, 8);
  link::store_le32(memory_.speed_change + 8, bits_per_s);   // to the host
  link::store_le32(memory_.speed_change + 12, bits_per_s);  // from it
  write_notification(memory_.connection, link::kNetworkConnection, 1, first_interface_, 0);
  stage_notification(memory_.speed_change, sizeof(memory_.speed_change));
  stage_notification(memory_.connection, sizeof(memory_.connection));
  static_cast<void>(notifications_.commit());
}

void CdcNetwork::stage_notification(const uint8_t* data, uint32_t size) {
  const uint32_t start = hardware_.bus_address(data);
  const uint32_t page[5] = {start, start, start, start, start};  // not over the end of a page
  notifications_.stage(page, size, false);
}

UsbReply CdcNetwork::on_request(const UsbSetup& setup, uint8_t interface) {
  if (interface != 0) return UsbReply();
  if (setup.request_type == kClassOut && setup.request == link::kSetEthernetPacketFilter) {
    if (setup.length != 0) return UsbReply();
    packet_filter_ = setup.value;
    return {UsbReply::Kind::accept, nullptr, 0};
  }
  return model_ == NetworkModel::ncm ? on_ncm_request(setup) : UsbReply();
}

UsbReply CdcNetwork::on_ncm_request(const UsbSetup& setup) {
  if (setup.request_type == kClassIn) {
    switch (setup.request) {
      case link::kGetNtbParameters:
        link::encode(parameters_, reply_);
        return send(link::NtbParameters::kBytes);
      case link::kGetNtbFormat:
        link::store_le16(reply_, 0);  // NTB-16
        return send(2);
      case link::kGetNtbInputSize:
        link::store_le32(reply_, ntb_input_bytes_);
        return send(4);
      default:
        return UsbReply();
    }
  }
  if (setup.request_type != kClassOut) return UsbReply();
  if (setup.request == link::kSetNtbFormat && setup.value == 0 && setup.length == 0) {
    return {UsbReply::Kind::accept, nullptr, 0};
  }
  if (setup.request == link::kSetNtbInputSize && setup.length == 4) {
    return {UsbReply::Kind::receive, nullptr, 0};
  }
  return UsbReply();
}

bool CdcNetwork::on_data(const UsbSetup& setup, uint8_t, const uint8_t* data, size_t size) {
  if (setup.request != link::kSetNtbInputSize || size != 4) return false;
  const uint32_t wanted = link::load_le32(data);
  if (wanted < link::kMinNtbInputSize || wanted > parameters_.in_max_bytes) return false;
  ntb_input_bytes_ = wanted;
  return true;
}

}  // namespace millrace::rt1062
