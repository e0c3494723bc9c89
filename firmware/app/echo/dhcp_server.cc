// SPDX-License-Identifier: Apache-2.0
// There is nothing to remember: the one address is always free for the one host, so every answer
// follows from the request (RFC 2131, 4.3). A host that comes with another address from elsewhere
// is told no, and asks anew at once instead of after a time-out.
#include "firmware/app/echo/dhcp_server.h"

#include <string.h>

namespace millrace::firmware {
namespace {

// RFC 2131 figure 1.
constexpr size_t kFlags = 10, kClientAddress = 12, kYourAddress = 16, kGateway = 24;
constexpr size_t kHardwareAddress = 28, kCookie = 236, kOptions = 240;
constexpr uint32_t kMagic = 0x63825363;
constexpr uint16_t kBroadcastFlag = 0x8000;

// RFC 2132.
constexpr uint8_t kPad = 0, kSubnetMask = 1, kRequestedAddress = 50, kLeaseTime = 51;
constexpr uint8_t kMessageType = 53, kServerId = 54, kEnd = 255;
constexpr uint8_t kDiscover = 1, kOffer = 2, kRequest = 3, kAck = 5, kNak = 6, kInform = 8;
constexpr uint32_t kLeaseS = 24 * 3600;

struct Options {
  uint8_t type = 0;
  uint32_t requested = 0;
  uint32_t server = 0;
};

// False: an option runs over the end.
bool read_options(const uint8_t* p, const uint8_t* end, Options* out) {
  while (p < end && *p != kEnd) {
    if (*p == kPad) {
      ++p;
      continue;
    }
    if (end - p < 2 || end - p - 2 < p[1]) return false;
    const uint8_t length = p[1];
    if (*p == kMessageType && length == 1) out->type = p[2];
    if (*p == kRequestedAddress && length == 4) out->requested = load_be32(p + 2);
    if (*p == kServerId && length == 4) out->server = load_be32(p + 2);
    p += 2 + length;
  }
  return true;
}

// What to answer; 0: nothing.
uint8_t answer_type(const NetworkConfig& config, const Options& options, uint32_t client) {
  if (options.type == kDiscover) return kOffer;
  if (options.type == kInform) return kAck;
  if (options.type != kRequest) return 0;  // DECLINE, RELEASE: nothing is kept
  if (options.server != 0 && options.server != config.address) return 0;  // another's offer
  const uint32_t wanted = options.requested != 0 ? options.requested : client;
  return wanted == config.host_address ? kAck : kNak;
}

class OptionWriter {
 public:
  explicit OptionWriter(uint8_t* p) : p_(p) {}
  void byte(uint8_t code, uint8_t value) {
    *p_++ = code;
    *p_++ = 1;
    *p_++ = value;
  }
  void word(uint8_t code, uint32_t value) {
    *p_++ = code;
    *p_++ = 4;
    store_be32(p_, value);
    p_ += 4;
  }
  void end() { *p_ = kEnd; }

 private:
  uint8_t* p_;
};

}  // namespace

DhcpReply answer_dhcp(const NetworkConfig& config, const uint8_t* request, size_t size,
                      uint8_t* out) {
  DhcpReply reply;
  // BOOTREQUEST, Ethernet.
  if (size < kOptions || request[0] != 1 || request[1] != 1 || request[2] != kMacBytes)
    return reply;
  if (load_be32(request + kCookie) != kMagic) return reply;
  Options options;
  if (!read_options(request + kOptions, request + size, &options)) return reply;
  const uint32_t client = load_be32(request + kClientAddress);
  const uint8_t type = answer_type(config, options, client);
  if (type == 0) return reply;

  const bool gives_address = type != kNak && options.type != kInform;
  memset(out, 0, kDhcpReplyBytes);
  memcpy(out, request, 8);  // htype, hlen, xid
  out[0] = 2;               // BOOTREPLY
  out[3] = 0;               // hops
  memcpy(out + kFlags, request + kFlags, 2);
  if (type != kNak) memcpy(out + kClientAddress, request + kClientAddress, 4);
  if (gives_address) store_be32(out + kYourAddress, config.host_address);
  memcpy(out + kGateway, request + kGateway, 4 + 16);  // and chaddr behind it
  store_be32(out + kCookie, kMagic);
  OptionWriter writer(out + kOptions);
  writer.byte(kMessageType, type);
  writer.word(kServerId, config.address);
  if (gives_address) writer.word(kLeaseTime, kLeaseS);
  if (type != kNak) writer.word(kSubnetMask, config.mask);
  writer.end();

  // RFC 2131, 4.1: to the address that the client has, or will have; to all if it cannot hear that.
  const bool to_all = type == kNak || (load_be16(request + kFlags) & kBroadcastFlag) != 0;
  reply.size = kDhcpReplyBytes;
  if (type != kNak && client != 0) {
    reply.destination = client;
    memcpy(reply.mac, request + kHardwareAddress, kMacBytes);
  } else if (to_all) {
    reply.destination = 0xffffffff;
    memset(reply.mac, 0xff, kMacBytes);
  } else {
    reply.destination = config.host_address;
    memcpy(reply.mac, request + kHardwareAddress, kMacBytes);
  }
  return reply;
}

}  // namespace millrace::firmware
