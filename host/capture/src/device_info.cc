// SPDX-License-Identifier: Apache-2.0
// Descriptors: USB 2.0, 9.6; CDC 1.2, 5.2.3. Everything in them is a claim: lengths are checked,
// what cannot be is left out.
#include "millrace/capture/device_info.h"

#include <algorithm>

#include "byte_order.h"
#include "ethernet_frames.h"

namespace millrace::capture {
namespace {

constexpr uint8_t kGetDescriptor = 6;
constexpr uint8_t kDevice = 1, kConfiguration = 2, kInterface = 4, kEndpoint = 5, kCsInterface = 36;
constexpr uint8_t kUnionSubtype = 6;
constexpr uint8_t kCommunications = 2, kCdcData = 10, kHid = 3, kStorage = 8, kHub = 9,
                  kVendor = 255;
constexpr uint8_t kWireless = 0xe0, kMiscellaneous = 0xef;
constexpr uint8_t kAcm = 2, kEem = 12;

struct InterfaceInfo {
  bool is_there = false;
  uint8_t class_code = 0, subclass = 0, protocol = 0;
  std::optional<uint8_t> control;  // the interface of the union that it belongs to
};

bool is_rndis(const InterfaceInfo& i) {
  return (i.class_code == kCommunications && i.subclass == kAcm && i.protocol == 0xff) ||
         (i.class_code == kWireless && i.subclass == 1 && i.protocol == 3) ||
         (i.class_code == kMiscellaneous && i.subclass == 4 && i.protocol == 1);
}

// The driver of Linux that binds to such an interface.
const char* driver_of(const InterfaceInfo& i) {
  if (is_rndis(i)) return "rndis_host";
  switch (i.class_code) {
    case kCommunications:
      if (i.subclass == kAcm) return "cdc_acm";
      if (i.subclass == link::kCdcSubclassEcm) return "cdc_ether";
      if (i.subclass == link::kCdcSubclassNcm) return "cdc_ncm";
      if (i.subclass == kEem) return "cdc_eem";
      return "";
    case kHid:
      return "usbhid";
    case kStorage:
      return "usb-storage";
    case kHub:
      return "hub";
    default:
      return "";
  }
}

Framing framing_of(const InterfaceInfo& i) {
  if (is_rndis(i)) return Framing::rndis;
  if (i.class_code == kCommunications) {
    if (i.subclass == link::kCdcSubclassEcm) return Framing::ecm;
    if (i.subclass == link::kCdcSubclassNcm) return Framing::ncm;
    if (i.subclass == kEem) return Framing::eem;
    if (i.subclass == kAcm) return Framing::none;
  }
  if (i.class_code == kCdcData) {
    return i.protocol == link::kCdcDataProtocolNtb ? Framing::ncm : Framing::unknown;
  }
  return i.class_code == kVendor ? Framing::unknown : Framing::none;
}

}  // namespace

const char* name_of(Framing framing) {
  switch (framing) {
    case Framing::unknown:
    case Framing::none:
      return "bytes";
    case Framing::ncm:
      return "NCM";
    case Framing::ecm:
      return "ECM";
    case Framing::eem:
      return "EEM";
    case Framing::rndis:
      return "RNDIS";
  }
  return "";
}

bool DeviceInfo::take_control(const Transfer& transfer) {
  if (!transfer.has_setup || transfer.status != 0) return false;
  const auto& setup = transfer.setup;
  const uint16_t value = kLittle.u16(&setup[2]);
  if (setup[0] == 0x80 && setup[1] == kGetDescriptor) {
    if (value >> 8 == kDevice && transfer.size >= 12) {
      bcd_usb = kLittle.u16(transfer.data + 2);
      vid = kLittle.u16(transfer.data + 8);
      pid = kLittle.u16(transfer.data + 10);
      has_descriptor = true;
    }
    if (value >> 8 == kConfiguration) return take_configuration(transfer.data, transfer.size);
  }
  if (setup[0] == 0xa1 && setup[1] == link::kGetNtbParameters) {
    link::NtbParameters answered;
    if (link::decode(transfer.data, transfer.size, &answered)) ntb = answered;
  }
  if (setup[0] == 0x21 && setup[1] == link::kSetNtbInputSize && transfer.size >= 4) {
    ntb_input_bytes = kLittle.u32(transfer.data);
  }
  return false;
}

bool DeviceInfo::take_configuration(const uint8_t* data, size_t size) {
  // The host first asks for 9 bytes only, to learn the whole length.
  if (size <= 9 || data[1] != kConfiguration) return false;
  std::array<InterfaceInfo, 256> interfaces;
  std::array<EndpointInfo, 32> found;
  uint8_t current = 0;
  bool is_main = false;
  for (size_t at = 0; size - at >= 2 && data[at] >= 2 && data[at] <= size - at; at += data[at]) {
    const uint8_t* d = data + at;
    if (d[1] == kInterface && d[0] >= 9) {
      current = d[2];
      InterfaceInfo& interface = interfaces[current];
      interface.is_there = true;
      interface.class_code = d[5];
      interface.subclass = d[6];
      interface.protocol = d[7];
      is_main = true;
    } else if (d[1] == kCsInterface && d[0] >= 5 && d[2] == kUnionSubtype) {
      for (size_t i = 4; i < d[0]; ++i) interfaces[d[i]].control = d[3];
    } else if (d[1] == kEndpoint && d[0] >= 7 && is_main) {
      EndpointInfo& endpoint = found[endpoint_index(d[2])];
      endpoint.is_described = true;
      endpoint.interface = current;
      // Bits 1..0: control 0, isochronous 1, bulk 2, interrupt 3 (table 9-13).
      static constexpr TransferType kTypes[] = {TransferType::control, TransferType::isochronous,
                                                TransferType::bulk, TransferType::interrupt};
      endpoint.type = kTypes[d[3] & 3];
      endpoint.max_packet = kLittle.u16(d + 4) & 0x7ff;
    }
  }
  bool any = false;
  for (EndpointInfo& endpoint : found) {
    if (!endpoint.is_described) continue;
    any = true;
    const InterfaceInfo& own = interfaces[endpoint.interface];
    endpoint.interface_class = own.class_code;
    endpoint.subclass = own.subclass;
    endpoint.protocol = own.protocol;
    // A data interface is what its control interface makes of it.
    endpoint.framing = framing_of(own.control ? interfaces[*own.control] : own);
    if (endpoint.type == TransferType::interrupt) endpoint.framing = Framing::none;
  }
  if (!any) return false;
  endpoints = found;
  driver.clear();
  for (const InterfaceInfo& interface : interfaces) {
    const std::string name = interface.is_there ? driver_of(interface) : "";
    if (name.empty() || driver.find(name) != std::string::npos) continue;
    driver += (driver.empty() ? "" : " + ") + name;
  }
  return true;
}

void DeviceInfo::guess_framing(const Transfer& transfer) {
  EndpointInfo& endpoint = endpoints[endpoint_index(transfer.endpoint)];
  if (endpoint.framing != Framing::unknown || transfer.type != TransferType::bulk) return;
  const Framing guess = framing_of_data(transfer.data, transfer.size, transfer.actual);
  if (guess == Framing::unknown) return;
  endpoint.framing = guess;
  endpoint.framing_is_guess = true;
}

}  // namespace millrace::capture
