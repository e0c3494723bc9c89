// SPDX-License-Identifier: Apache-2.0
// Multicast DNS (RFC 6762): answers for NAME.local and for the name of its address. It does not
// probe: there is nobody else on the cable who could have the name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/app/echo/packet.h"

namespace millrace::firmware {

inline constexpr uint16_t kMdnsPort = 5353;
inline constexpr uint32_t kMdnsGroup = ipv4(224, 0, 0, 251);
inline constexpr uint8_t kMdnsMac[kMacBytes] = {0x01, 0x00, 0x5e, 0x00, 0x00, 0xfb};
inline constexpr size_t kMdnsMaxBytes = 512;

struct MdnsReply {
  size_t size = 0;       // of the UDP payload; 0: no answer
  bool unicast = false;  // to the asker rather than to the group
};

// Answers the query `data` that came from `source_port`. `out`: kMdnsMaxBytes.
MdnsReply answer_mdns(const NetworkConfig& config, const uint8_t* data, size_t size,
                      uint16_t source_port, uint8_t* out);
// What to tell the group when the link has come up (RFC 6762, 8.3); the bytes written to `out`.
size_t write_mdns_announcement(const NetworkConfig& config, uint8_t* out);

}  // namespace millrace::firmware
