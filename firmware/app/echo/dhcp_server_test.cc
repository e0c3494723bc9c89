// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/echo/dhcp_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "firmware/app/echo/fake_frame_port.h"

namespace millrace::firmware {
namespace {

constexpr uint8_t kDiscover = 1, kOffer = 2, kRequest = 3, kDecline = 4, kAck = 5, kNak = 6,
                  kRelease = 7, kInform = 8;

// RFC 2131 figure 1.
Bytes message(const Bytes& options, uint32_t client = 0, uint16_t flags = 0) {
  Bytes m = {1, 1, 6, 0, 0xde, 0xad, 0xbe, 0xef, 0, 3};
  m = m + be16(flags) + be32(client) + Bytes(12) + kHostMac + Bytes(10) + Bytes(192);
  return m + be32(0x63825363) + options + Bytes{255};
}
Bytes type_option(uint8_t type) { return {53, 1, type}; }
Bytes address_option(uint8_t code, uint32_t address) { return Bytes{code, 4} + be32(address); }

struct Answer {
  DhcpReply reply;
  Bytes bytes;
  std::map<int, Bytes> options;
};

Answer ask(const Bytes& request) {
  Answer a;
  a.bytes.resize(kDhcpReplyBytes);
  const Bytes exact(request);
  a.reply = answer_dhcp(NetworkConfig(), exact.data(), exact.size(), a.bytes.data());
  if (a.reply.size == 0) return a;
  EXPECT_EQ(a.reply.size, 300u);  // RFC 1542, 2.1: no less
  EXPECT_EQ(load_be32(a.bytes.data() + 236), 0x63825363u);
  size_t at = 240;
  while (at < a.bytes.size() && a.bytes[at] != 255) {
    const auto data = a.bytes.begin() + static_cast<long>(at) + 2;
    a.options[a.bytes[at]] = Bytes(data, data + a.bytes[at + 1]);
    at += size_t{2} + a.bytes[at + 1];
  }
  EXPECT_LT(at, a.bytes.size()) << "no end";
  return a;
}

TEST(DhcpServer, DiscoverIsOfferedTheAddress) {
  const Answer a = ask(message(type_option(kDiscover)));
  EXPECT_EQ(Bytes(a.bytes.begin(), a.bytes.begin() + 8),
            (Bytes{2, 1, 6, 0, 0xde, 0xad, 0xbe, 0xef}));
  EXPECT_EQ(load_be32(a.bytes.data() + 16), kHostIp);
  EXPECT_EQ(Bytes(a.bytes.begin() + 28, a.bytes.begin() + 34), kHostMac);
  const std::map<int, Bytes> want = {
      {53, {kOffer}}, {54, be32(kDeviceIp)}, {51, be32(86400)}, {1, {255, 255, 255, 0}}};
  EXPECT_EQ(a.options, want) << "above all no router";
  EXPECT_EQ(a.reply.destination, kHostIp);
  EXPECT_EQ(Bytes(a.reply.mac, a.reply.mac + 6), kHostMac);
}

TEST(DhcpServer, BroadcastFlagIsHonoured) {
  const Answer a = ask(message(type_option(kDiscover), 0, 0x8000));
  EXPECT_EQ(a.reply.destination, 0xffffffffu);
  EXPECT_EQ(Bytes(a.reply.mac, a.reply.mac + 6), Bytes(6, 0xff));
  EXPECT_EQ(load_be16(a.bytes.data() + 10), 0x8000);
}

// Whoever asks is the one host: another computer at the cable needs no old lease to run out.
TEST(DhcpServer, ASecondClientIsGivenTheSameAddress) {
  Bytes discover = message(type_option(kDiscover));
  const Bytes other = {2, 0, 0, 0, 0, 9};
  std::copy(other.begin(), other.end(), discover.begin() + 28);
  EXPECT_EQ(load_be32(ask(message(type_option(kDiscover))).bytes.data() + 16), kHostIp);
  const Answer a = ask(discover);
  EXPECT_EQ(load_be32(a.bytes.data() + 16), kHostIp);
  EXPECT_EQ(Bytes(a.reply.mac, a.reply.mac + 6), other);
  Bytes request =
      message(type_option(kRequest) + address_option(50, kHostIp) + address_option(54, kDeviceIp));
  std::copy(other.begin(), other.end(), request.begin() + 28);
  EXPECT_EQ(ask(request).options.at(53), Bytes{kAck});
}

TEST(DhcpServer, RequestIsAcknowledged) {
  const Answer a = ask(
      message(type_option(kRequest) + address_option(50, kHostIp) + address_option(54, kDeviceIp)));
  EXPECT_EQ(a.options.at(53), Bytes{kAck});
  EXPECT_EQ(load_be32(a.bytes.data() + 16), kHostIp);
}

TEST(DhcpServer, RenewalGoesToTheClientsAddress) {
  const Answer a = ask(message(type_option(kRequest), kHostIp));
  EXPECT_EQ(a.options.at(53), Bytes{kAck});
  EXPECT_EQ(a.reply.destination, kHostIp);
  EXPECT_EQ(load_be32(a.bytes.data() + 12), kHostIp);
}

TEST(DhcpServer, AnAddressFromElsewhereIsRefused) {
  const Answer a = ask(message(type_option(kRequest) + address_option(50, 0xc0a80163)));
  EXPECT_EQ(a.options.at(53), Bytes{kNak});
  EXPECT_EQ(a.options.count(51), 0u);
  EXPECT_EQ(load_be32(a.bytes.data() + 16), 0u);
  EXPECT_EQ(a.reply.destination, 0xffffffffu);
}

TEST(DhcpServer, AnotherServersOfferIsNotOurs) {
  EXPECT_EQ(ask(message(type_option(kRequest) + address_option(50, kHostIp) +
                        address_option(54, 0xc0a80101)))
                .reply.size,
            0u);
}

TEST(DhcpServer, InformGetsNoAddress) {
  const Answer a = ask(message(type_option(kInform), 0xc0a80709));
  EXPECT_EQ(a.options.at(53), Bytes{kAck});
  EXPECT_EQ(a.options.count(51), 0u);
  EXPECT_EQ(load_be32(a.bytes.data() + 16), 0u);
  EXPECT_EQ(a.reply.destination, 0xc0a80709u);
}

TEST(DhcpServer, NothingElseIsAnswered) {
  for (uint8_t type : {uint8_t{0}, kOffer, kDecline, kAck, kNak, kRelease, uint8_t{9}}) {
    EXPECT_EQ(ask(message(type_option(type))).reply.size, 0u) << int{type};
  }
  EXPECT_EQ(ask(message({})).reply.size, 0u) << "BOOTP";
  Bytes reply = message(type_option(kDiscover));
  reply[0] = 2;
  EXPECT_EQ(ask(reply).reply.size, 0u);
}

TEST(DhcpServer, EveryTruncationIsSafe) {
  const Bytes whole = message(Bytes{0, 0} + type_option(kRequest) + address_option(50, kHostIp));
  for (size_t size = 0; size < whole.size(); ++size) {
    const Answer a = ask(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
    // Whole without the end option (the last byte), or cut behind an option.
    const bool cut_in_option =
        size < 242 || (size > 242 && size < 245) || (size > 245 && size < 251);
    if (size <= 242 || cut_in_option) {
      EXPECT_EQ(a.reply.size, 0u) << size;
    }
  }
}

}  // namespace
}  // namespace millrace::firmware
