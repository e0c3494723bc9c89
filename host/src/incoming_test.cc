// SPDX-License-Identifier: Apache-2.0
#include "incoming.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::host {
namespace {

std::vector<uint8_t> message(link::MessageType type, const std::string& payload) {
  std::vector<uint8_t> wire(link::kMaxMessage);
  wire.resize(link::encode_message(type, reinterpret_cast<const uint8_t*>(payload.data()),
                                   payload.size(), wire.data(), wire.size()));
  return wire;
}

// "x" for other bytes, "<payload>" for messages.
std::string drain(Incoming& incoming) {
  std::string out;
  for (;;) {
    const Incoming::Item item = incoming.next();
    if (item.kind == Incoming::Item::Kind::none) return out;
    if (item.kind == Incoming::Item::Kind::other) {
      out.append(item.other.begin(), item.other.end());
    } else {
      out += '<';
      out.append(item.message.payload, item.message.payload + item.message.payload_size);
      out += '>';
    }
  }
}

TEST(Incoming, FindsMessagesBetweenOtherBytesHoweverTheyAreCut) {
  std::vector<uint8_t> wire = {'a', 'b', 0xf1, 'c'};
  const auto first = message(link::MessageType::hello, "one");
  const auto second = message(link::MessageType::report, "two");
  wire.insert(wire.end(), first.begin(), first.end());
  wire.push_back('d');
  wire.insert(wire.end(), second.begin(), second.end());
  wire.push_back('e');
  for (size_t cut = 0; cut <= wire.size(); ++cut) {
    Incoming incoming;
    incoming.append(std::span(wire).first(cut));
    std::string seen = drain(incoming);
    incoming.append(std::span(wire).subspan(cut));
    seen += drain(incoming);
    EXPECT_EQ(seen,
              "ab\xf1"
              "c<one>d<two>e")
        << "cut at " << cut;
  }
}

TEST(Incoming, DamagedMessageIsOtherBytes) {
  std::vector<uint8_t> wire = message(link::MessageType::hello, "one");
  wire[9] ^= 1;
  Incoming incoming;
  incoming.append(wire);
  EXPECT_EQ(drain(incoming), std::string(wire.begin(), wire.end()));
}

TEST(Incoming, RestBehindAMessageIsHandedOver) {
  std::vector<uint8_t> wire = message(link::MessageType::started, "s");
  wire.push_back(0xf1);  // could be the start of a message, but the stream begins here
  Incoming incoming;
  incoming.append(wire);
  ASSERT_EQ(incoming.next().kind, Incoming::Item::Kind::message);
  EXPECT_EQ(incoming.take_rest().size(), 1u);
  EXPECT_EQ(incoming.take_rest().size(), 0u);
}

}  // namespace
}  // namespace millrace::host
