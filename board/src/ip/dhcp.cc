// SPDX-License-Identifier: Apache-2.0
#include "ip/dhcp.h"

#include <algorithm>
#include <bit>

namespace millrace::board {
namespace {

constexpr size_t kOptionsAt = 240, kMinBytes = 300;  // BOOTP relays want 300 (RFC 1542 2.1)
constexpr uint32_t kMagic = 0x63825363;
constexpr uint8_t kMask = 1, kRouter = 3, kRequested = 50, kLeaseTime = 51, kType = 53,
                  kServer = 54, kParameters = 55, kEnd = 255;
constexpr uint32_t kDefaultLease = 3600;

void option(Bytes* out, uint8_t code, uint32_t value) {
  out->push_back(code);
  out->push_back(4);
  put_be32(out, value);
}

}  // namespace

Bytes make_dhcp(const DhcpMessage& m) {
  Bytes bytes = {1, 1, 6, 0};  // BOOTREQUEST, Ethernet
  put_be32(&bytes, m.transaction);
  put_be32(&bytes, 0);  // secs, flags: we take unicast before we have an address
  put_be32(&bytes, m.client);
  bytes.resize(28);
  bytes.insert(bytes.end(), m.mac.begin(), m.mac.end());
  bytes.resize(kOptionsAt - 4);
  put_be32(&bytes, kMagic);
  bytes.insert(bytes.end(), {kType, 1, static_cast<uint8_t>(m.type)});
  if (m.requested != 0) option(&bytes, kRequested, m.requested);
  if (m.server != 0) option(&bytes, kServer, m.server);
  bytes.insert(bytes.end(), {kParameters, 2, kMask, kRouter, kEnd});
  bytes.resize(std::max(bytes.size(), kMinBytes));
  return bytes;
}

std::optional<DhcpMessage> parse_dhcp_reply(std::span<const uint8_t> b) {
  if (b.size() < kOptionsAt || b[0] != 2 || load_be32(&b[kOptionsAt - 4]) != kMagic) {
    return std::nullopt;
  }
  DhcpMessage m;
  m.transaction = load_be32(&b[4]);
  m.lease.address = load_be32(&b[16]);
  std::copy_n(&b[28], 6, m.mac.begin());
  m.lease.seconds = kDefaultLease;
  for (size_t at = kOptionsAt; at < b.size() && b[at] != kEnd;) {
    if (b[at] == 0) {
      ++at;
      continue;
    }
    if (at + 1 >= b.size() || at + 2 + b[at + 1] > b.size()) return std::nullopt;
    const std::span<const uint8_t> value = b.subspan(at + 2, b[at + 1]);
    const uint32_t word = value.size() >= 4 ? load_be32(value.data()) : 0;
    if (b[at] == kType && value.size() == 1) m.type = static_cast<DhcpType>(value[0]);
    if (value.size() >= 4) {
      if (b[at] == kMask) m.lease.prefix = static_cast<unsigned>(std::countl_one(word));
      if (b[at] == kRouter) m.lease.router = word;
      if (b[at] == kServer) m.server = m.lease.server = word;
      if (b[at] == kLeaseTime) m.lease.seconds = word;
    }
    at += 2 + value.size();
  }
  if (m.lease.prefix == 0 || m.lease.prefix > 30) m.lease.prefix = 24;
  if (m.type == DhcpType::none) return std::nullopt;
  return m;
}

}  // namespace millrace::board
