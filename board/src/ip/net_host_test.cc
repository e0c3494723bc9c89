// SPDX-License-Identifier: Apache-2.0
#include "millrace/board/net_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ip/dhcp.h"
#include "ip/packet.h"
#include "ip/testing/fake_ethernet_port.h"

namespace millrace::board {
namespace {

using ::testing::ElementsAre;
using testing::FakeEthernetPort;

constexpr uint64_t kSecond = 1'000'000'000;
const Ipv4Address kA = *parse_ipv4("192.168.7.2"), kB = *parse_ipv4("192.168.7.1");

TEST(Ipv4Text, IsFourNumbers) {
  EXPECT_EQ(parse_ipv4("192.168.7.1"), 0xC0A80701u);
  EXPECT_EQ(format_ipv4(0xC0A80701), "192.168.7.1");
  EXPECT_EQ(parse_ipv4("255.255.255.255"), 0xFFFFFFFFu);
  for (const char* wrong :
       {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1..2.3", "1.2.3.4 ", "-1.2.3.4", "1.2.3.0004"}) {
    EXPECT_FALSE(parse_ipv4(wrong)) << wrong;
  }
}

TEST(Checksum, IsThatOfRfc1071) {
  // Its example, section 3: the sum of 0001 f203 f4f5 f6f7 is ddf2.
  const Bytes bytes = {0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7};
  EXPECT_EQ(checksum_of(bytes), static_cast<uint16_t>(~0xDDF2));
  EXPECT_EQ(checksum_of(Bytes{0xAB}), static_cast<uint16_t>(~0xAB00));
}

// By hand: Ethernet, IPv4 and UDP of a datagram with payload "hi" from 192.168.7.1:7 to
// 192.168.7.2:40000. Sums: 4500+001e+0001+4000+4011+c0a8+0701+c0a8+0702 = 25483 -> 5485, whose
// complement is ab7a; c0a8+0701+c0a8+0702+0011+000a (pseudo header) + 0007+9c40+000a+6869 = 29428
// -> 942a, whose complement is 6bd5.
Bytes datagram_from_b() {
  return {0x02, 0,    0,    0,    0,    0x01, 0x02, 0,    0,    0,    0,    0x02, 0x08, 0x00, 0x45,
          0x00, 0x00, 0x1E, 0x00, 0x01, 0x40, 0x00, 0x40, 0x11, 0xAB, 0x7A, 0xC0, 0xA8, 0x07, 0x01,
          0xC0, 0xA8, 0x07, 0x02, 0x00, 0x07, 0x9C, 0x40, 0x00, 0x0A, 0x6B, 0xD5, 'h',  'i'};
}

class NetHostTest : public ::testing::Test {
 protected:
  NetHostTest() : port(0x01), host(port) {
    host.set_address(kA, 24);
    host.set_on_udp([this](const UdpArrival& a) {
      arrivals.push_back({a.source, Bytes(a.payload.begin(), a.payload.end())});
    });
  }
  // ARP's reply of B.
  void teach() {
    port.receive(make_frame(port.info().mac, mac_b, kEtherArp,
                            make_arp({false, mac_b, port.info().mac, kB, kA})));
  }
  static Bytes ip_of(const Bytes& frame) {
    return Bytes(frame.begin() + kEthernetHeaderBytes, frame.end());
  }

  const MacAddress mac_b = {0x02, 0, 0, 0, 0, 0x02};
  FakeEthernetPort port;
  NetHost host;
  std::vector<std::pair<UdpEndpoint, Bytes>> arrivals;
};

TEST_F(NetHostTest, ResolvesThenSends) {
  const Bytes payload = {1, 2, 3};
  EXPECT_TRUE(host.send_udp({kB, 7}, 40000, payload));
  const Bytes request = port.take();
  EXPECT_THAT(Bytes(request.begin(), request.begin() + 14),
              ElementsAre(0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, 0, 0, 0, 0, 0x01, 0x08, 0x06));
  const auto arp = parse_arp(ip_of(request));
  ASSERT_TRUE(arp);
  EXPECT_TRUE(arp->is_request);
  EXPECT_EQ(arp->target, kB);
  EXPECT_EQ(arp->sender, kA);
  EXPECT_TRUE(port.sent.empty());
  teach();
  EXPECT_EQ(host.neighbour(kB), mac_b);
  const Bytes ip = ip_of(port.take());
  Ipv4Packet packet;
  ASSERT_EQ(parse_ipv4_packet(ip, &packet), Ipv4Status::ok);
  EXPECT_EQ(packet.destination, kB);
  EXPECT_EQ(packet.protocol, kProtocolUdp);
  EXPECT_EQ(udp_checksum(kA, kB, packet.payload), 0);
  EXPECT_THAT(packet.payload.subspan(8), ElementsAre(1, 2, 3));
  EXPECT_EQ(load_be16(packet.payload.data()), 40000);
}

TEST_F(NetHostTest, GivesUpAfterThreeQuestions) {
  host.send_udp({kB, 7}, 40000, Bytes{1});
  host.send_udp({kB, 7}, 40000, Bytes{2});
  port.advance_to(10 * kSecond);
  EXPECT_EQ(port.sent.size(), 3u);
  EXPECT_EQ(host.counts().unresolved, 2u);
}

TEST_F(NetHostTest, TakesADatagramMadeByHand) {
  port.now = 1234;
  port.receive(datagram_from_b());
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].first, (UdpEndpoint{kB, 7}));
  EXPECT_THAT(arrivals[0].second, ElementsAre('h', 'i'));
}

TEST_F(NetHostTest, EveryTruncationAndEveryFlipIsSurvivedAndMostAreCounted) {
  const Bytes whole = datagram_from_b();
  for (size_t size = kEthernetHeaderBytes; size < whole.size(); ++size) {
    port.receive(std::span<const uint8_t>(whole).first(size));
  }
  EXPECT_TRUE(arrivals.empty());
  EXPECT_EQ(host.counts().malformed, whole.size() - kEthernetHeaderBytes);
  // A flip of the IPv4 header is found by its checksum, or makes it another kind of packet.
  for (size_t bit = 14 * 8; bit < 34 * 8; ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ 1u << bit % 8);
    port.receive(flipped);
  }
  EXPECT_TRUE(arrivals.empty());
}

TEST_F(NetHostTest, AWrongUdpChecksumIsCountedNotTaken) {
  Bytes wrong = datagram_from_b();
  wrong[41] = 1;
  port.receive(wrong);
  EXPECT_EQ(host.counts().bad_checksums, 1u);
  EXPECT_TRUE(arrivals.empty());
}

TEST_F(NetHostTest, FragmentsAndStrangersAreCounted) {
  Bytes fragment = make_ipv4(kB, kA, kProtocolUdp, 1, Bytes(16));
  fragment[6] = 0x20;  // more fragments; the sum of the header grows by 0x2000 - 0x4000
  fragment[10] = fragment[11] = 0;
  const uint16_t sum = checksum_of(std::span(fragment).first(20));
  fragment[10] = static_cast<uint8_t>(sum >> 8);
  fragment[11] = static_cast<uint8_t>(sum);
  port.receive(make_frame(port.info().mac, mac_b, kEtherIpv4, fragment));
  EXPECT_EQ(host.counts().fragments, 1u);
  port.receive(make_frame(port.info().mac, mac_b, kEtherIpv4,
                          make_ipv4(kB, kA + 1, kProtocolUdp, 1, Bytes(16))));
  port.receive(make_frame({0x02, 9, 9, 9, 9, 9}, mac_b, kEtherIpv4, Bytes(20)));
  port.receive(make_frame(port.info().mac, mac_b, 0x86DD, Bytes(40)));
  EXPECT_EQ(host.counts().not_for_us, 3u);
}

TEST_F(NetHostTest, TwoHostsPingEachOther) {
  FakeEthernetPort port_b(0x02);
  NetHost other(port_b);
  other.set_address(kB, 24);
  std::vector<EchoArrival> echoes;
  Bytes payload;
  host.set_on_echo([&](const EchoArrival& e) {
    echoes.push_back(e);
    payload.assign(e.payload.begin(), e.payload.end());
  });
  EXPECT_TRUE(host.ping(kB, 7, 9, Bytes(56, 0xA5)));
  testing::exchange(port, port_b);
  ASSERT_EQ(echoes.size(), 1u);
  EXPECT_EQ(echoes[0].source, kB);
  EXPECT_EQ(echoes[0].id, 7);
  EXPECT_EQ(echoes[0].sequence, 9);
  EXPECT_EQ(payload, Bytes(56, 0xA5));
  EXPECT_EQ(host.counts().echoes_in, 1u);
}

TEST_F(NetHostTest, WhatCannotBeSentIsRefused) {
  EXPECT_FALSE(host.send_udp({*parse_ipv4("10.0.0.1"), 7}, 1, Bytes{}));  // no router
  EXPECT_FALSE(host.send_udp({kB, 7}, 1, Bytes(NetHost::kMaxUdpPayload + 1)));
  port.set_carrier(false);
  EXPECT_FALSE(host.send_udp({kB, 7}, 1, Bytes{}));
}

TEST_F(NetHostTest, CallsComeAtTheirTimesInOrder) {
  std::vector<uint64_t> at;
  host.at(500, [&] { at.push_back(port.now); });
  host.at(300, [&] {
    at.push_back(port.now);
    host.at(400, [&] { at.push_back(port.now); });
  });
  port.advance_to(1000);
  EXPECT_THAT(at, ElementsAre(300, 400, 500));
}

// A server that answers as RFC 2131 says.
struct DhcpServer {
  explicit DhcpServer(FakeEthernetPort& p) : port(p) {}
  // Answers the last message of the client; returns its type.
  unsigned answer(DhcpType type, uint32_t lease_s = 100) {
    const Bytes frame = port.take();
    if (frame.size() < 14 + 20 + 8 + 243) return 0;
    const std::span<const uint8_t> m = std::span(frame).subspan(14 + 20 + 8);
    last.assign(m.begin(), m.end());
    if (type == DhcpType::none) return m[242];
    Bytes reply(240);
    reply[0] = 2;
    std::copy_n(m.begin() + 4, 4, reply.begin() + 4);
    const Bytes yiaddr = {192, 168, 7, 2};
    std::copy(yiaddr.begin(), yiaddr.end(), reply.begin() + 16);
    std::copy_n(m.begin() + 28, 6, reply.begin() + 28);
    const Bytes options = {0x63,
                           0x82,
                           0x53,
                           0x63,
                           53,
                           1,
                           static_cast<uint8_t>(type),
                           54,
                           4,
                           192,
                           168,
                           7,
                           1,
                           1,
                           4,
                           255,
                           255,
                           255,
                           0,
                           51,
                           4,
                           0,
                           0,
                           static_cast<uint8_t>(lease_s >> 8),
                           static_cast<uint8_t>(lease_s),
                           255};
    reply.resize(236);
    reply.insert(reply.end(), options.begin(), options.end());
    const MacAddress mac = {0x02, 0, 0, 0, 0, 0x02};
    port.receive(
        make_frame(port.info().mac, mac, kEtherIpv4,
                   make_ipv4(kB, kA, kProtocolUdp, 1, make_udp({kB, 67}, {kA, 68}, reply))));
    return m[242];
  }
  FakeEthernetPort& port;
  Bytes last;
};

TEST_F(NetHostTest, DhcpGetsALeaseAndRenewsIt) {
  DhcpServer server(port);
  host.start_dhcp();
  EXPECT_FALSE(host.address());
  EXPECT_EQ(server.answer(DhcpType::offer), 1u);
  EXPECT_EQ(server.answer(DhcpType::ack), 3u);
  EXPECT_THAT(std::span(server.last).subspan(243, 6), ElementsAre(50, 4, 192, 168, 7, 2));
  EXPECT_EQ(host.address(), kA);
  ASSERT_TRUE(host.lease());
  EXPECT_EQ(host.lease()->prefix, 24u);
  EXPECT_EQ(host.lease()->server, kB);
  EXPECT_EQ(host.lease()->seconds, 100u);
  teach();
  port.advance_to(51 * kSecond);  // half of it
  EXPECT_EQ(server.answer(DhcpType::ack), 3u);
  EXPECT_THAT(std::span(server.last).subspan(12, 4), ElementsAre(192, 168, 7, 2));  // ciaddr
  port.advance_to(99 * kSecond);
  EXPECT_EQ(host.address(), kA);
  EXPECT_TRUE(port.sent.empty());
}

TEST_F(NetHostTest, ALeaseThatIsNotRenewedEnds) {
  DhcpServer server(port);
  host.start_dhcp();
  server.answer(DhcpType::offer);
  server.answer(DhcpType::ack);
  port.sent.clear();
  port.advance_to(101 * kSecond);
  EXPECT_FALSE(host.address());
}

TEST_F(NetHostTest, DhcpAsksAgainMoreAndMoreRarely) {
  host.start_dhcp();
  std::vector<uint64_t> times;
  for (uint64_t s = 0; s < 200; ++s) {
    port.advance_to(s * kSecond);
    for (; !port.sent.empty(); port.take()) times.push_back(s);
  }
  EXPECT_THAT(times, ElementsAre(0, 4, 12, 28, 60, 124, 188));
}

TEST_F(NetHostTest, ARefusalBeginsAnewAndALostCarrierStops) {
  DhcpServer server(port);
  host.start_dhcp();
  server.answer(DhcpType::offer);
  EXPECT_EQ(server.answer(DhcpType::nak), 3u);
  EXPECT_EQ(server.answer(DhcpType::none), 1u);
  port.set_carrier(false);
  port.advance_to(300 * kSecond);
  EXPECT_TRUE(port.sent.empty());
  port.set_carrier(true);
  EXPECT_EQ(server.answer(DhcpType::none), 1u);
}

TEST_F(NetHostTest, RandomFramesDoNoHarm) {
  std::mt19937 random(1);
  host.start_dhcp();
  for (int i = 0; i < 20'000; ++i) {
    Bytes frame = datagram_from_b();
    frame.resize(kEthernetHeaderBytes + random() % 400);
    const auto flips = random() % 40;
    for (unsigned long k = 0; k < flips; ++k) {
      frame[random() % frame.size()] = static_cast<uint8_t>(random());
    }
    if (random() % 2 == 0) frame[12] = 8, frame[13] = static_cast<uint8_t>(random() % 2 * 6);
    port.receive(frame);
    port.sent.clear();
    port.advance_to(port.now + 1'000'000);
  }
  EXPECT_EQ(host.counts().frames_in, 20'000u);
}

}  // namespace
}  // namespace millrace::board
