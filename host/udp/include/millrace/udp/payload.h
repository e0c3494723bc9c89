// SPDX-License-Identifier: Apache-2.0
// Datagrams of spec/udp_payload.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace::udp {

inline constexpr size_t kLeastPayload = 32, kMostPayload = 65'507;  // of UDP over IPv4

struct Payload {
  uint32_t session = 0;
  uint32_t sequence = 0;
  uint16_t step = 0;
  uint64_t stamp_ns = 0;
};

enum class [[nodiscard]] PayloadStatus : uint8_t{
    good,
    foreign,  // another magic or session: somebody else's
    altered,  // ours, but not as it was sent
};

// Fills all of `out`. REQUIRES: kLeastPayload <= out.size() <= kMostPayload.
void encode_payload(const Payload& payload, std::span<uint8_t> out);
// Any bytes. *payload is set when the status is good.
PayloadStatus decode_payload(std::span<const uint8_t> bytes, uint32_t session, Payload* payload);

}  // namespace millrace::udp
