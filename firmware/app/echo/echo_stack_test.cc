// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/echo/echo_stack.h"

#include <gtest/gtest.h>

#include "firmware/app/echo/fake_frame_port.h"
#include "firmware/app/echo/mdns_responder.h"
#include "firmware/app/sampler/fake_sampler_port.h"

namespace millrace::firmware {
namespace {

using Counter = link::EchoCounter;

class EchoStackTest : public testing::Test {
 protected:
  EchoStackTest() : stack(port, config()) {}
  static NetworkConfig config() {
    NetworkConfig c;
    std::memcpy(c.mac, kDeviceMac.data(), kMacBytes);
    return c;
  }
  // The one answer to `frame`, nothing if there is none.
  Bytes answer(const Bytes& frame) {
    port.sent.clear();
    const Bytes exact(frame);
    stack.on_frame(exact.data(), exact.size());
    EXPECT_LE(port.sent.size(), 1u);
    return port.sent.empty() ? Bytes() : port.sent[0];
  }
  // No answer, and this counter says why.
  void drops(const Bytes& frame, Counter why) {
    const uint32_t before = stack.counters()[why];
    EXPECT_TRUE(answer(frame).empty()) << name_of(why);
    EXPECT_EQ(stack.counters()[why], before + 1) << name_of(why);
  }

  FakeFramePort port;
  EchoStack stack;
};

TEST_F(EchoStackTest, ArpRequestIsAnswered) {
  const Bytes everybody(6, 0xff);
  const Bytes request = ethernet(
      everybody, kHostMac, 0x0806,
      Bytes{0, 1, 8, 0, 6, 4, 0, 1} + kHostMac + be32(kHostIp) + Bytes(6) + be32(kDeviceIp));
  const Bytes want = ethernet(
      kHostMac, kDeviceMac, 0x0806,
      Bytes{0, 1, 8, 0, 6, 4, 0, 2} + kDeviceMac + be32(kDeviceIp) + kHostMac + be32(kHostIp));
  EXPECT_EQ(answer(request), want);
  EXPECT_EQ(stack.counters()[Counter::arp_requests], 1u);
  Bytes other = request;
  other[41] = 9;  // 192.168.7.9
  drops(other, Counter::dropped_other_address);
  Bytes reply = request;
  reply[21] = 2;
  drops(reply, Counter::dropped_protocol);
  drops(Bytes(request.begin(), request.end() - 1), Counter::dropped_short);
}

TEST_F(EchoStackTest, PingIsAnswered) {
  const auto icmp = [](uint8_t type, const Bytes& rest) {
    Bytes message = Bytes{type, 0, 0, 0} + rest;
    const uint16_t sum = plain_checksum(message);
    message[2] = static_cast<uint8_t>(sum >> 8);
    message[3] = static_cast<uint8_t>(sum);
    return message;
  };
  for (size_t size : {0u, 1u, 56u, 1472u}) {
    const Bytes rest = be16(0x1234) + be16(7) + Bytes(size, 0xa5);
    const Bytes request =
        ethernet(kDeviceMac, kHostMac, 0x0800, ip_packet(kHostIp, kDeviceIp, 1, icmp(8, rest)));
    const uint16_t id = static_cast<uint16_t>(stack.counters()[Counter::icmp_replies]);
    EXPECT_EQ(answer(request), ethernet(kHostMac, kDeviceMac, 0x0800,
                                        ip_packet(kDeviceIp, kHostIp, 1, icmp(0, rest), id)));
  }
  Bytes bad =
      ethernet(kDeviceMac, kHostMac, 0x0800, ip_packet(kHostIp, kDeviceIp, 1, icmp(8, Bytes(20))));
  bad.back() ^= 1;
  drops(bad, Counter::dropped_icmp);
  drops(
      ethernet(kDeviceMac, kHostMac, 0x0800, ip_packet(kHostIp, kDeviceIp, 1, icmp(13, Bytes(16)))),
      Counter::dropped_icmp);
}

TEST_F(EchoStackTest, DatagramsOfEverySizeAreEchoed) {
  uint16_t id = 0;
  for (uint16_t port_number : {uint16_t{7}, uint16_t{4242}}) {
    for (size_t size : {0u, 1u, 2u, 31u, 32u, 256u, 1000u, 1471u, 1472u}) {
      Bytes payload(size);
      for (size_t i = 0; i < size; ++i) payload[i] = static_cast<uint8_t>(i * 7 + size);
      const Bytes want =
          ethernet(kHostMac, kDeviceMac, 0x0800,
                   ip_packet(kDeviceIp, kHostIp, 17,
                             udp_datagram(kDeviceIp, kHostIp, port_number, 50000, payload), id++));
      EXPECT_EQ(answer(udp_frame(50000, port_number, payload)), want) << size;
    }
  }
  EXPECT_EQ(stack.counters()[Counter::echo_replies], 18u);
}

TEST_F(EchoStackTest, PaddingOfTheLinkIsNotEchoed) {
  const Bytes request = udp_frame(50000, 7, {1, 2, 3});
  const Bytes plain = answer(request);
  const Bytes padded = answer(request + Bytes(15, 0xcc));
  EXPECT_EQ(padded.size(), plain.size());
}

TEST_F(EchoStackTest, IpOptionsAreReadOver) {
  const Bytes datagram = udp_datagram(kHostIp, kDeviceIp, 50000, 7, {1, 2, 3, 4});
  const Bytes request = ethernet(kDeviceMac, kHostMac, 0x0800,
                                 ip_packet(kHostIp, kDeviceIp, 17, datagram, 0, 0, {1, 1, 1, 0}));
  EXPECT_EQ(answer(request),
            ethernet(kHostMac, kDeviceMac, 0x0800,
                     ip_packet(kDeviceIp, kHostIp, 17,
                               udp_datagram(kDeviceIp, kHostIp, 7, 50000, {1, 2, 3, 4}))));
}

TEST_F(EchoStackTest, ADatagramWithoutChecksumIsEchoedWithoutOne) {
  Bytes request = udp_frame(50000, 7, {1, 2, 3});
  request[40] = request[41] = 0;
  const Bytes reply = answer(request);
  ASSERT_EQ(reply.size(), request.size());
  EXPECT_EQ(reply[40] | reply[41], 0);
}

TEST_F(EchoStackTest, EverySingleBitFlipInADatagramIsNoticed) {
  const Bytes request = udp_frame(50000, 7, text("thirty-two bytes of some payload"));
  for (size_t byte = 14; byte < request.size(); ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Bytes bad = request;
      bad[byte] = static_cast<uint8_t>(bad[byte] ^ 1u << bit);
      EXPECT_TRUE(answer(bad).empty()) << byte << '.' << bit;
    }
  }
  EXPECT_FALSE(answer(request).empty());
}

TEST_F(EchoStackTest, EveryTruncationIsDropped) {
  const Bytes request = udp_frame(50000, 7, Bytes(32, 1));
  for (size_t size = 0; size < request.size(); ++size) {
    EXPECT_TRUE(answer(Bytes(request.begin(), request.begin() + static_cast<long>(size))).empty());
  }
}

TEST_F(EchoStackTest, DropsAreCountedWhereTheyHappen) {
  const Bytes good = udp_frame(50000, 7, Bytes(32));
  drops(Bytes(13), Counter::dropped_short);
  Bytes frame = good;
  frame[5] ^= 1;
  drops(frame, Counter::dropped_other_station);
  frame = good;
  frame[12] = 0x86;
  frame[13] = 0xdd;  // IPv6
  drops(frame, Counter::dropped_ethertype);
  frame = good;
  frame[14] = 0x46;  // a header of 24 bytes
  drops(frame, Counter::dropped_ip_checksum);
  frame[14] = 0x65;
  drops(frame, Counter::dropped_ip_header);
  frame[14] = 0x44;
  drops(frame, Counter::dropped_ip_header);
  frame = good;
  frame[16] = 0x40;  // total length above the frame
  drops(frame, Counter::dropped_ip_header);
  const auto with_ip = [](const Bytes& packet) {
    return ethernet(kDeviceMac, kHostMac, 0x0800, packet);
  };
  const Bytes datagram = udp_datagram(kHostIp, kDeviceIp, 50000, 7, Bytes(32));
  drops(with_ip(ip_packet(kHostIp, kDeviceIp, 17, datagram, 1, 0x2000)), Counter::dropped_fragment);
  drops(with_ip(ip_packet(kHostIp, kDeviceIp, 17, datagram, 1, 4)), Counter::dropped_fragment);
  EXPECT_FALSE(answer(with_ip(ip_packet(kHostIp, kDeviceIp, 17, datagram, 1, 0x4000))).empty())
      << "do not fragment";
  drops(with_ip(ip_packet(kHostIp, 0xc0a80703, 17, datagram)), Counter::dropped_other_address);
  drops(with_ip(ip_packet(kHostIp, kDeviceIp, 6, datagram)), Counter::dropped_protocol);
  frame = with_ip(ip_packet(kHostIp, kDeviceIp, 17, Bytes(7)));
  drops(frame, Counter::dropped_udp_length);
  frame = with_ip(ip_packet(kHostIp, kDeviceIp, 17, be16(1) + be16(7) + be16(9) + be16(0)));
  drops(frame, Counter::dropped_udp_length);
  frame = good;
  frame.back() = 1;
  drops(frame, Counter::dropped_udp_checksum);
}

// Neither to groups nor to itself, nor to another echo server, which would never end.
TEST_F(EchoStackTest, RequestsOfWhomNoAnswerShouldReachAreDropped) {
  drops(udp_frame(7, 7, Bytes(32)), Counter::dropped_source);
  drops(udp_frame(0, 7, Bytes(32)), Counter::dropped_source);
  drops(udp_frame(50000, 7, Bytes(32), kDeviceIp, 0), Counter::dropped_source);
  drops(udp_frame(50000, 7, Bytes(32), kDeviceIp, 0xe0000001), Counter::dropped_source);
  drops(udp_frame(50000, 7, Bytes(32), kDeviceIp, 0xffffffff), Counter::dropped_source);
  drops(udp_frame(50000, 7, Bytes(32), kDeviceIp, kDeviceIp), Counter::dropped_source);
  drops(udp_frame(50000, 7, Bytes(32), 0xc0a807ff), Counter::dropped_closed_port);
}

TEST_F(EchoStackTest, AClosedPortIsUnreachable) {
  const Bytes request = udp_frame(50000, 9, {1, 2, 3});
  // RFC 792: type 3, code 3, four bytes of nothing, the IP header and 8 bytes.
  Bytes message = Bytes{3, 3, 0, 0, 0, 0, 0, 0} + Bytes(request.begin() + 14, request.begin() + 42);
  const uint16_t sum = plain_checksum(message);
  message[2] = static_cast<uint8_t>(sum >> 8);
  message[3] = static_cast<uint8_t>(sum);
  EXPECT_EQ(answer(request),
            ethernet(kHostMac, kDeviceMac, 0x0800, ip_packet(kDeviceIp, kHostIp, 1, message)));
  EXPECT_EQ(stack.counters()[Counter::unreachable_sent], 1u);
}

TEST_F(EchoStackTest, CountersAreReadOverUdp) {
  port.count.rx_transfers = 77;
  EXPECT_FALSE(answer(udp_frame(50000, 7, Bytes(32))).empty());
  uint8_t request[link::kEchoCountersRequestBytes];
  link::encode_counters_request(0xcafe0001, request);
  const Bytes reply =
      answer(udp_frame(50000, link::kEchoCountersPort, Bytes(request, request + sizeof(request))));
  ASSERT_EQ(reply.size(), kUdpPayload + link::kEchoCountersReplyBytes);
  uint32_t tag;
  size_t known;
  link::EchoCounters counters;
  ASSERT_TRUE(link::decode_counters_reply(reply.data() + kUdpPayload, reply.size() - kUdpPayload,
                                          &tag, &counters, &known));
  EXPECT_EQ(tag, 0xcafe0001u);
  EXPECT_EQ(counters[Counter::echo_replies], 1u);
  EXPECT_EQ(counters[Counter::rx_transfers], 77u);
  EXPECT_EQ(counters[Counter::frames_received], 2u);
  const Bytes payload(reply.begin() + 42, reply.end());
  EXPECT_EQ(
      reply,
      ethernet(
          kHostMac, kDeviceMac, 0x0800,
          ip_packet(kDeviceIp, kHostIp, 17,
                    udp_datagram(kDeviceIp, kHostIp, link::kEchoCountersPort, 50000, payload), 1)));
  drops(udp_frame(50000, link::kEchoCountersPort, Bytes(12)), Counter::dropped_udp_length);
}

TEST_F(EchoStackTest, SamplerIsAskedOverUdp) {
  SamplerFixture f;
  const auto ask = [&](link::SamplerCommand command) {
    return answer(udp_frame(50000, link::kSamplerPort, f.request(command)));
  };
  EXPECT_EQ(ask(link::SamplerCommand::info)[34], 3u);  // ICMP unreachable: nobody there
  stack.set_sampler(&f.sampler);
  const Bytes reply = ask(link::SamplerCommand::start);
  ASSERT_EQ(reply.size(), kUdpPayload + link::kSamplerStatusBytes);
  EXPECT_TRUE(f.port.running);
  const Bytes payload(reply.begin() + kUdpPayload, reply.end());
  EXPECT_EQ(
      reply,
      ethernet(kHostMac, kDeviceMac, 0x0800,
               ip_packet(kDeviceIp, kHostIp, 17,
                         udp_datagram(kDeviceIp, kHostIp, link::kSamplerPort, 50000, payload), 1)));
  f.memory.stored_words = 600;
  const Bytes words = ask(link::SamplerCommand::read);
  EXPECT_EQ(words.size(), kUdpPayload + link::kSamplerReplyBytes);  // 256 of the 1,000 asked for
  drops(udp_frame(50000, link::kSamplerPort, Bytes(12)), Counter::dropped_udp_length);
  port.room = 0;  // a request that cannot be answered is not acted upon
  drops(udp_frame(50000, link::kSamplerPort, f.request(link::SamplerCommand::stop)),
        Counter::dropped_no_room);
  EXPECT_TRUE(f.port.running);
}

TEST_F(EchoStackTest, DhcpGoesThroughTheStack) {
  Bytes discover = Bytes{1, 1, 6, 0, 1, 2, 3, 4} + Bytes(20) + kHostMac + Bytes(10) + Bytes(192) +
                   be32(0x63825363) + Bytes{53, 1, 1, 255};
  const Bytes request =
      ethernet(Bytes(6, 0xff), kHostMac, 0x0800,
               ip_packet(0, 0xffffffff, 17, udp_datagram(0, 0xffffffff, 68, 67, discover)));
  const Bytes reply = answer(request);
  ASSERT_EQ(reply.size(), 342u);
  const Bytes payload(reply.begin() + 42, reply.end());
  EXPECT_EQ(reply, ethernet(kHostMac, kDeviceMac, 0x0800,
                            ip_packet(kDeviceIp, kHostIp, 17,
                                      udp_datagram(kDeviceIp, kHostIp, 67, 68, payload))));
  EXPECT_EQ(stack.counters()[Counter::dhcp_replies], 1u);
}

TEST_F(EchoStackTest, MdnsGoesToTheGroup) {
  const Bytes group = {0x01, 0x00, 0x5e, 0x00, 0x00, 0xfb};
  const Bytes query = be16(0) + be16(0) + be16(1) + Bytes(6) + Bytes{8} + text("millrace") +
                      Bytes{5} + text("local") + Bytes{0} + be16(1) + be16(1);
  const Bytes request = ethernet(
      group, kHostMac, 0x0800,
      ip_packet(kHostIp, kMdnsGroup, 17, udp_datagram(kHostIp, kMdnsGroup, 5353, 5353, query)));
  const Bytes reply = answer(request);
  ASSERT_GT(reply.size(), 42u);
  EXPECT_EQ(Bytes(reply.begin(), reply.begin() + 6), group);
  EXPECT_EQ(reply[22], 255) << "time to live";
  EXPECT_EQ(load_be32(reply.data() + 30), kMdnsGroup);
}

TEST_F(EchoStackTest, TheNameIsAnnouncedWhenTheLinkComesUp) {
  port.link_up = true;
  EXPECT_FALSE(stack.poll());
  ASSERT_EQ(port.sent.size(), 1u);
  EXPECT_EQ(load_be16(port.sent[0].data() + 36), kMdnsPort);
  EXPECT_EQ(port.flushes, 1u);
}

TEST_F(EchoStackTest, PollTakesNothingThatItCouldNotAnswer) {
  for (int i = 0; i < 5; ++i) port.incoming.push_back(udp_frame(50000, 7, Bytes(32)));
  port.room = 2;
  EXPECT_TRUE(stack.poll());
  EXPECT_EQ(port.incoming.size(), 3u);
  EXPECT_FALSE(stack.poll());
  port.room = SIZE_MAX;
  EXPECT_TRUE(stack.poll());
  EXPECT_TRUE(port.incoming.empty());
  EXPECT_EQ(stack.counters()[Counter::dropped_no_room], 0u);
}

TEST_F(EchoStackTest, PollEndsAfterItsShare) {
  for (int i = 0; i < 5; ++i) port.incoming.push_back(udp_frame(50000, 7, Bytes(32)));
  EXPECT_TRUE(stack.poll(3));
  EXPECT_EQ(port.incoming.size(), 2u);
}

TEST_F(EchoStackTest, WithoutRoomTheAnswerIsDroppedAndCounted) {
  port.room = 0;
  drops(udp_frame(50000, 7, Bytes(32)), Counter::dropped_no_room);
}

TEST_F(EchoStackTest, TheLoadRunsOncePerEcho) {
  EchoStack heavy(port, config(), [](const uint8_t* payload, size_t size) {
    return static_cast<uint32_t>(payload[0] + size);
  });
  const Bytes request = udp_frame(50000, 7, Bytes(32, 5));
  heavy.on_frame(request.data(), request.size());
  heavy.on_frame(request.data(), request.size());
  EXPECT_EQ(heavy.counters()[Counter::load_runs], 2u);
  EXPECT_EQ(heavy.counters()[Counter::load_result], 37u);
}

}  // namespace
}  // namespace millrace::firmware
