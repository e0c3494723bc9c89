// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/echo/mdns_responder.h"

#include <gtest/gtest.h>

#include "firmware/app/echo/fake_frame_port.h"

namespace millrace::firmware {
namespace {

const Bytes kName = Bytes{8} + text("millrace") + Bytes{5} + text("local") + Bytes{0};
const Bytes kReverse = Bytes{1, '1', 1, '7', 3, '1', '6', '8', 3, '1', '9', '2', 7} +
                       text("in-addr") + Bytes{4} + text("arpa") + Bytes{0};
constexpr uint16_t kA = 1, kPtr = 12, kAaaa = 28, kNsec = 47, kAny = 255;
constexpr uint16_t kIn = 1, kFlush = 0x8001, kUnicastIn = 0x8001;

Bytes query(const Bytes& questions, size_t count, uint16_t id = 0) {
  return be16(id) + be16(0) + be16(count) + Bytes(6) + questions;
}
Bytes question(const Bytes& name, uint16_t type, uint16_t asked_class = kIn) {
  return name + be16(type) + be16(asked_class);
}
Bytes response(const Bytes& records, size_t count) {
  return be16(0) + be16(0x8400) + be16(0) + be16(count) + Bytes(4) + records;
}
Bytes record(const Bytes& name, uint16_t type, const Bytes& data) {
  return name + be16(type) + be16(kFlush) + be32(120) + be16(data.size()) + data;
}
const Bytes kAddressRecord = record(kName, kA, {192, 168, 7, 1});
const Bytes kPointerRecord = record(kReverse, kPtr, kName);
// RFC 4034, 4.1.2: window 0, one byte, type 1 is its bit 40h.
const Bytes kNoOtherTypes = record(kName, kNsec, kName + Bytes{0, 1, 0x40});

struct MdnsAnswer {
  Bytes bytes;
  bool unicast = false;
};
MdnsAnswer mdns_ask(const Bytes& message, uint16_t port = kMdnsPort) {
  MdnsAnswer a;
  a.bytes.resize(kMdnsMaxBytes);
  const Bytes exact(message);
  const MdnsReply reply =
      answer_mdns(NetworkConfig(), exact.data(), exact.size(), port, a.bytes.data());
  a.bytes.resize(reply.size);
  a.unicast = reply.unicast;
  return a;
}

TEST(MdnsResponder, AddressOfTheName) {
  const MdnsAnswer a = mdns_ask(query(question(kName, kA), 1));
  EXPECT_EQ(a.bytes, response(kAddressRecord, 1));
  EXPECT_FALSE(a.unicast);
}

TEST(MdnsResponder, NameOfTheAddress) {
  EXPECT_EQ(mdns_ask(query(question(kReverse, kPtr), 1)).bytes, response(kPointerRecord, 1));
}

TEST(MdnsResponder, LettersOfBothCasesAreTheSame) {
  Bytes name = kName;
  name[1] = 'M';
  name[10] = 'L';
  EXPECT_EQ(mdns_ask(query(question(name, kA), 1)).bytes, response(kAddressRecord, 1));
}

TEST(MdnsResponder, IPv6IsDeniedAtOnce) {
  EXPECT_EQ(mdns_ask(query(question(kName, kA) + question(kName, kAaaa), 2)).bytes,
            response(kAddressRecord + kNoOtherTypes, 2));
}

TEST(MdnsResponder, AnyTypeAndAllQuestionsInOneAnswer) {
  EXPECT_EQ(mdns_ask(query(question(kName, kAny) + question(kReverse, kAny, kAny), 2)).bytes,
            response(kAddressRecord + kPointerRecord, 2));
}

TEST(MdnsResponder, UnicastIfAskedFor) {
  const MdnsAnswer a = mdns_ask(query(question(kName, kA, kUnicastIn), 1));
  EXPECT_EQ(a.bytes, response(kAddressRecord, 1));
  EXPECT_TRUE(a.unicast);
  EXPECT_FALSE(mdns_ask(query(question(kName, kA, kUnicastIn) + question(kName, kA), 2)).unicast);
}

// RFC 6762, 6.7: its id and question come back, the time to live is short, no flush bit.
TEST(MdnsResponder, PlainResolversGetAPlainAnswer) {
  const MdnsAnswer a = mdns_ask(query(question(kName, kA), 1, 0x1234), 40000);
  const Bytes want = be16(0x1234) + be16(0x8400) + be16(1) + be16(1) + Bytes(4) +
                     question(kName, kA) + kName + be16(kA) + be16(kIn) + be32(10) + be16(4) +
                     Bytes{192, 168, 7, 1};
  EXPECT_EQ(a.bytes, want);
  EXPECT_TRUE(a.unicast);
}

TEST(MdnsResponder, CompressedNamesAreRead) {
  // The first question is x.local; the second is "millrace" and a pointer to its "local" at 14.
  const Bytes first = Bytes{1, 'x', 5} + text("local") + Bytes{0};
  const Bytes second = Bytes{8} + text("millrace") + Bytes{0xc0, 14};
  EXPECT_EQ(mdns_ask(query(question(first, kA) + question(second, kA), 2)).bytes,
            response(kAddressRecord, 1));
}

TEST(MdnsResponder, PointersThatDoNotGoBackEndTheQuery) {
  EXPECT_TRUE(mdns_ask(query(question({0xc0, 12}, kA), 1)).bytes.empty()) << "to itself";
  EXPECT_TRUE(mdns_ask(query(question({0xc0, 20}, kA), 1)).bytes.empty()) << "forward";
  EXPECT_TRUE(mdns_ask(query(question({1, 'x', 0xc0, 12}, kA), 1)).bytes.empty()) << "a loop";
}

TEST(MdnsResponder, OtherNamesResponsesAndClassesAreNotAnswered) {
  EXPECT_TRUE(
      mdns_ask(
          query(question(Bytes{8} + text("millracf") + Bytes{5} + text("local") + Bytes{0}, kA), 1))
          .bytes.empty());
  EXPECT_TRUE(
      mdns_ask(query(question(Bytes{8} + text("millrace") + Bytes{0}, kA), 1)).bytes.empty());
  EXPECT_TRUE(mdns_ask(query(question(kName, kA, 3), 1)).bytes.empty());
  EXPECT_TRUE(mdns_ask(response(kAddressRecord, 1)).bytes.empty());
}

TEST(MdnsResponder, EveryTruncationIsSafe) {
  const Bytes whole = query(question(kName, kA) + question(kReverse, kPtr), 2);
  const size_t first_ends = 12 + kName.size() + 4;
  for (size_t size = 0; size < whole.size(); ++size) {
    const MdnsAnswer a = mdns_ask(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
    EXPECT_EQ(a.bytes, size < first_ends ? Bytes() : response(kAddressRecord, 1)) << size;
  }
}

TEST(MdnsResponder, AnnouncementHasBothRecords) {
  Bytes out(kMdnsMaxBytes);
  out.resize(write_mdns_announcement(NetworkConfig(), out.data()));
  EXPECT_EQ(out, response(kAddressRecord + kPointerRecord, 2));
}

TEST(MdnsResponder, TheLongestNameFits) {
  NetworkConfig config;
  const std::string longest(63, 'n');
  config.name = longest.c_str();
  config.address = 0xffffffff;
  const Bytes name = Bytes{63} + text(longest) + Bytes{5} + text("local") + Bytes{0};
  const Bytes three = {3, '2', '5', '5'};
  const Bytes reverse = three + three + three + three + Bytes{7} + text("in-addr") + Bytes{4} +
                        text("arpa") + Bytes{0};
  const Bytes message = query(question(name, kAny) + question(name, kAaaa) +
                                  question(reverse, kAny) + question(reverse, kA),
                              4);
  Bytes out(kMdnsMaxBytes);
  EXPECT_GT(answer_mdns(config, message.data(), message.size(), kMdnsPort, out.data()).size, 400u);
}

}  // namespace
}  // namespace millrace::firmware
