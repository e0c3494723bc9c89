// SPDX-License-Identifier: Apache-2.0
// Messages of a DHCP client (RFC 2131, 2132).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ip/packet.h"

namespace millrace::board {

inline constexpr uint16_t kDhcpServerPort = 67, kDhcpClientPort = 68;

enum class DhcpType : uint8_t { none = 0, discover = 1, offer = 2, request = 3, ack = 5, nak = 6 };

struct DhcpMessage {
  DhcpType type = DhcpType::none;
  uint32_t transaction = 0;
  MacAddress mac{};
  DhcpLease lease;            // of a reply
  Ipv4Address client = 0;     // ciaddr: renewing
  Ipv4Address requested = 0;  // option 50
  Ipv4Address server = 0;     // option 54
};

Bytes make_dhcp(const DhcpMessage& message);
// A server's message; nothing if it is none.
std::optional<DhcpMessage> parse_dhcp_reply(std::span<const uint8_t> bytes);

}  // namespace millrace::board
