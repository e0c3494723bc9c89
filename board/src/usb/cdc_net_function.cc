// SPDX-License-Identifier: Apache-2.0
#include "usb/cdc_net_function.h"

#include <fmt/format.h>

#include <algorithm>

#include "usb/usb_descriptor_walk.h"

namespace millrace::board {
namespace {

bool is_network(const UsbInterfaceInfo& i) {
  return i.interface_class == usb_class::kCommunications && i.alternate == 0 &&
         (i.subclass == cdc::kEcm || i.subclass == cdc::kNetworkControl);
}

// The first alternate setting with both bulk endpoints.
bool find_data(const UsbConfigurationInfo& configuration, CdcNetFunction* f) {
  for (const UsbInterfaceInfo& i : configuration.interfaces) {
    if (i.number != f->data) continue;
    const auto bulk = [&i](bool in) {
      return std::find_if(i.endpoints.begin(), i.endpoints.end(), [in](const UsbEndpointInfo& e) {
        return e.transfer == UsbTransfer::bulk && (e.address >= 0x80) == in && e.max_packet != 0 &&
               (e.address & 15) != 0;
      });
    };
    const auto in = bulk(true), out = bulk(false);
    if (in == i.endpoints.end() || out == i.endpoints.end()) continue;
    f->alternate = i.alternate;
    f->in = *in;
    f->out = *out;
    return true;
  }
  return false;
}

std::optional<CdcNetFunction> read(const UsbConfigurationInfo& configuration,
                                   const UsbInterfaceInfo& control, std::string* problem) {
  CdcNetFunction f;
  f.kind = control.subclass == cdc::kEcm ? EthernetKind::ecm : EthernetKind::ncm;
  f.control = control.number;
  const auto without = [&](std::string_view what) {
    *problem = fmt::format("interface {}: the {} function has no {}", control.number,
                           to_string(f.kind), what);
    return std::nullopt;
  };
  if (control.union_subordinate < 0) return without("union functional descriptor");
  if (control.mac_string < 0) return without("Ethernet networking functional descriptor");
  if (f.kind == EthernetKind::ncm && control.ncm_capabilities < 0) {
    return without("NCM functional descriptor");
  }
  f.data = static_cast<uint8_t>(control.union_subordinate);
  f.mac_string = static_cast<uint8_t>(control.mac_string);
  f.max_segment = static_cast<uint16_t>(control.max_segment);
  f.ncm_capabilities = static_cast<uint8_t>(std::max(control.ncm_capabilities, 0));
  for (const UsbEndpointInfo& e : control.endpoints) {
    const bool is_good = e.transfer == UsbTransfer::interrupt && e.address > 0x80;
    if (is_good && f.notify_endpoint == 0) f.notify_endpoint = e.address;
  }
  if (f.kind == EthernetKind::ncm && f.notify_endpoint == 0) {
    return without("notification endpoint");
  }
  if (!find_data(configuration, &f)) {
    return without("alternate setting with a bulk IN and a bulk OUT endpoint");
  }
  return f;
}

int mac_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<CdcNetFunction> find_cdc_net(const UsbConfigurationInfo& configuration,
                                           std::string* problem) {
  problem->clear();
  for (const UsbInterfaceInfo& control : configuration.interfaces) {
    if (!is_network(control)) continue;
    std::string why;
    const std::optional<CdcNetFunction> found = read(configuration, control, &why);
    if (found) {
      problem->clear();
      return found;
    }
    if (problem->empty()) *problem = why;
  }
  return std::nullopt;
}

std::optional<MacAddress> parse_mac_string(std::string_view text) {
  MacAddress mac{};
  if (text.size() != 2 * mac.size()) return std::nullopt;
  for (size_t i = 0; i < mac.size(); ++i) {
    const int high = mac_digit(text[2 * i]), low = mac_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    mac[i] = static_cast<uint8_t>(high << 4 | low);
  }
  const bool is_zero = std::all_of(mac.begin(), mac.end(), [](uint8_t b) { return b == 0; });
  if (is_zero || (mac[0] & 1) != 0) return std::nullopt;  // or a group's (IEEE 802 8.2)
  return mac;
}

std::string_view to_string(EthernetKind kind) {
  return kind == EthernetKind::ecm ? "CDC-ECM" : "CDC-NCM";
}

std::string to_string(const MacAddress& mac) { return fmt::format("{:02x}", fmt::join(mac, ":")); }

}  // namespace millrace::board
