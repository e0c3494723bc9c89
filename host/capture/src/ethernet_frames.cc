// SPDX-License-Identifier: Apache-2.0
// A reply is known by what it repeats. Of ICMP that is id and sequence, of ARP the two addresses,
// of a UDP echo its ports and payload: the first 32 bytes of it are taken, which hold session and
// sequence number of our own payload (they lead it for that reason) and the whole of the smallest
// datagrams. Payloads that repeat, or replies that are no echo, are told apart by the caller.
#include "ethernet_frames.h"

#include <algorithm>

#include "byte_order.h"

namespace millrace::capture {
namespace {

constexpr uint16_t kIpv4 = 0x0800, kArp = 0x0806, kIpv6 = 0x86dd, kVlan = 0x8100;
constexpr uint8_t kIcmp = 1, kUdp = 17, kIcmp6 = 58;
constexpr size_t kPayloadKeyBytes = 32;

class Hash {
 public:
  explicit Hash(FrameKind kind)
      : state_(UINT64_C(0x9e3779b97f4a7c15) + static_cast<uint64_t>(kind)) {}
  void add(uint64_t value) {
    state_ = (state_ ^ value) * UINT64_C(0xd6e8feb86659fd93);
    state_ ^= state_ >> 32;
  }
  void add(const uint8_t* bytes, size_t size) {
    for (; size >= 8; size -= 8, bytes += 8) add(link::load_le64(bytes));
    uint64_t rest = size;
    for (size_t i = 0; i < size; ++i) rest = rest << 8 | bytes[i];
    if (size != 0) add(rest);
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_;
};

// Far end first, so that both directions hash alike.
void add_addresses(Hash* hash, const uint8_t* source, const uint8_t* target, size_t size,
                   bool is_in) {
  hash->add(is_in ? source : target, size);
  hash->add(is_in ? target : source, size);
}

FrameKey transport(uint8_t protocol, const uint8_t* source, const uint8_t* target,
                   size_t address_bytes, const uint8_t* p, size_t size, bool is_in) {
  FrameKey key;
  if ((protocol == kIcmp || protocol == kIcmp6) && size >= 8) {
    const uint8_t request = protocol == kIcmp ? 8 : 128, reply = protocol == kIcmp ? 0 : 129;
    if (p[0] != request && p[0] != reply) return key;
    key.kind = FrameKind::icmp_echo;
    key.may_be_request = !is_in && p[0] == request;
    key.may_be_reply = is_in && p[0] == reply;
    Hash hash(key.kind);
    // Not the addresses: a ping to a broadcast address is answered from another one.
    hash.add(kBig.u32(p + 4));
    key.content = hash.value();
  } else if (protocol == kUdp && size >= 8) {
    key.kind = FrameKind::udp;
    key.may_be_request = !is_in;
    key.may_be_reply = is_in;
    Hash hash(key.kind);
    add_addresses(&hash, source, target, address_bytes, is_in);
    const uint16_t from = kBig.u16(p), to = kBig.u16(p + 2);
    hash.add(is_in ? uint64_t{from} << 16 | to : uint64_t{to} << 16 | from);
    key.flow = hash.value();
    hash.add(p + 8, std::min(size - 8, kPayloadKeyBytes));
    key.content = hash.value();
  }
  return key;
}

}  // namespace

Framing framing_of_data(const uint8_t* data, size_t size, size_t actual) {
  if (size < 16) return Framing::unknown;
  if (link::load_le32(data) == link::kNth16Signature && link::load_le16(data + 4) == 12) {
    return Framing::ncm;
  }
  const uint32_t length = link::load_le32(data + 4);
  if (link::load_le32(data) == 1 && length >= 44 && length <= actual &&
      link::load_le32(data + 8) == 36) {
    return Framing::rndis;
  }
  const uint16_t type = kBig.u16(data + 12);
  const size_t rest = actual - 14;
  // Trailing bytes: padding to 60, or one that avoids a full last packet.
  if (type == kIpv4 && size >= 34 && data[14] >> 4 == 4 && kBig.u16(data + 16) <= rest &&
      (kBig.u16(data + 16) + 2u >= rest || actual <= 61)) {
    return Framing::ecm;
  }
  if (type == kIpv6 && size >= 54 && data[14] >> 4 == 6 && kBig.u16(data + 18) + 40u <= rest &&
      (kBig.u16(data + 18) + 42u >= rest || actual <= 61)) {
    return Framing::ecm;
  }
  if (type == kArp && size >= 42 && kBig.u32(data + 14) == 0x00010800) return Framing::ecm;
  return Framing::unknown;
}

FrameKey key_of(const uint8_t* frame, size_t size, bool is_in) {
  FrameKey key;
  size_t at = 12;
  if (size < at + 2) return key;
  uint16_t type = kBig.u16(frame + at);
  if (type == kVlan && size >= at + 6) {
    at += 4;
    type = kBig.u16(frame + at);
  }
  const uint8_t* p = frame + at + 2;
  size_t rest = size - at - 2;
  if (type == kIpv4 && rest >= 20) {
    const size_t header = size_t{p[0] & 0x0fu} * 4;
    const size_t total = kBig.u16(p + 2);
    if (header < 20 || total < header || rest < header) return key;
    if ((kBig.u16(p + 6) & 0x3fff) != 0) return key;  // a fragment: the key is in the first alone
    rest = std::min(rest, total);                     // without padding
    return transport(p[9], p + 12, p + 16, 4, p + header, rest - header, is_in);
  }
  if (type == kIpv6 && rest >= 40) {
    rest = std::min<size_t>(rest, 40u + kBig.u16(p + 4));
    return transport(p[6], p + 8, p + 24, 16, p + 40, rest - 40, is_in);
  }
  if (type == kArp && rest >= 28) {
    const uint16_t operation = kBig.u16(p + 6);
    if (operation != 1 && operation != 2) return key;
    key.kind = FrameKind::arp;
    key.may_be_request = !is_in && operation == 1;
    key.may_be_reply = is_in && operation == 2;
    Hash hash(key.kind);
    add_addresses(&hash, p + 14, p + 24, 4, is_in);
    key.content = hash.value();
  }
  return key;
}

}  // namespace millrace::capture
