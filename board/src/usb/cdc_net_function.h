// SPDX-License-Identifier: Apache-2.0
// Where a device has its network function (ECM 1.2, NCM 1.0), as Linux looks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "millrace/board/ethernet_port.h"
#include "usb/usb_descriptors.h"

namespace millrace::board {

struct CdcNetFunction {
  EthernetKind kind = EthernetKind::ecm;
  uint8_t control = 0, data = 0;  // interfaces
  uint8_t alternate = 0;          // of the data interface, with the endpoints
  UsbEndpointInfo in, out;        // bulk
  uint8_t notify_endpoint = 0;    // 0: there is none
  uint8_t mac_string = 0;
  uint16_t max_segment = 0;
  uint8_t ncm_capabilities = 0;
};

// The first function that has everything a host needs; of two, the one that comes first. Nothing:
// there is no such function, and *problem is empty; or there is one that cannot be used, and
// *problem says why.
std::optional<CdcNetFunction> find_cdc_net(const UsbConfigurationInfo& configuration,
                                           std::string* problem);

// Twelve hexadecimal digits (ECM 1.2 5.4), of an individual address that is not all zeros.
std::optional<MacAddress> parse_mac_string(std::string_view text);

}  // namespace millrace::board
