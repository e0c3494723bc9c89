// SPDX-License-Identifier: Apache-2.0
// A DHCP server (RFC 2131, 2132) for the one host at the other end of the cable: whoever asks gets
// NetworkConfig::host_address. It names no router and no name server, so that the host's way to the
// rest of the world stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/app/echo/packet.h"

namespace millrace::firmware {

inline constexpr uint16_t kDhcpServerPort = 67, kDhcpClientPort = 68;

struct DhcpReply {
  size_t size = 0;           // of the UDP payload; 0: no answer
  uint32_t destination = 0;  // address
  uint8_t mac[kMacBytes] = {};
};

// Answers the UDP payload `request`. `out`: 300 bytes.
inline constexpr size_t kDhcpReplyBytes = 300;
DhcpReply answer_dhcp(const NetworkConfig& config, const uint8_t* request, size_t size,
                      uint8_t* out);

}  // namespace millrace::firmware
