// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/echo_counters.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "test_vector_file.h"

namespace millrace::link {
namespace {

using Bytes = std::vector<uint8_t>;
using Counts = std::map<std::string, uint32_t>;

Counts not_zero(const EchoCounters& counters) {
  Counts out;
  for (size_t i = 0; i < kEchoCounters; ++i) {
    if (counters.values[i] != 0) out[name_of(static_cast<EchoCounter>(i))] = counters.values[i];
  }
  return out;
}

uint32_t count_of(const std::string& text) { return static_cast<uint32_t>(std::stoul(text)); }

void check_request(const std::vector<std::string>& words) {
  const Bytes bytes = from_hex(words[1]);
  uint32_t tag = 0;
  ASSERT_TRUE(decode_counters_request(bytes.data(), bytes.size(), &tag));
  EXPECT_EQ(tag, count_of(words[2]));
  uint8_t again[kEchoCountersRequestBytes];
  encode_counters_request(tag, again);
  EXPECT_EQ(Bytes(again, again + sizeof(again)), bytes);
}

void check_reply(const std::vector<std::string>& words) {
  const Bytes bytes = from_hex(words[3]);
  Counts want;
  for (size_t i = 4; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    want[words[i].substr(0, equals)] = count_of(words[i].substr(equals + 1));
  }
  uint32_t tag = 0;
  EchoCounters counters;
  size_t known = 0;
  ASSERT_TRUE(decode_counters_reply(bytes.data(), bytes.size(), &tag, &counters, &known));
  EXPECT_EQ(tag, count_of(words[1]));
  EXPECT_EQ(known, count_of(words[2]));
  EXPECT_EQ(not_zero(counters), want);
  if (bytes.size() != kEchoCountersReplyBytes) return;
  Bytes again(kEchoCountersReplyBytes);
  encode_counters_reply(tag, counters, again.data());
  EXPECT_EQ(again, bytes);
}

TEST(EchoCounters, EveryVectorDecodesAndEncodes) {
  size_t replies = 0;
  for (const std::vector<std::string>& words : read_vectors("echo_counters.txt")) {
    if (words[0] == "request") {
      check_request(words);
    } else {
      check_reply(words);
      ++replies;
    }
  }
  EXPECT_EQ(replies, 6u);
}

TEST(EchoCounters, EveryTruncationIsRefused) {
  Bytes whole(kEchoCountersReplyBytes);
  encode_counters_reply(5, EchoCounters(), whole.data());
  uint32_t tag;
  EchoCounters counters;
  size_t known;
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<long>(size));
    EXPECT_FALSE(decode_counters_reply(part.data(), part.size(), &tag, &counters, &known)) << size;
    EXPECT_FALSE(decode_counters_request(part.data(), part.size(), &tag)) << size;
  }
}

TEST(EchoCounters, EveryBitOfMagicVersionAndKindCounts) {
  uint8_t request[kEchoCountersRequestBytes];
  encode_counters_request(5, request);
  uint32_t tag;
  for (size_t bit = 0; bit < 48; ++bit) {
    request[bit / 8] = static_cast<uint8_t>(request[bit / 8] ^ (1u << bit % 8));
    EXPECT_FALSE(decode_counters_request(request, sizeof(request), &tag)) << bit;
    request[bit / 8] = static_cast<uint8_t>(request[bit / 8] ^ (1u << bit % 8));
  }
  EXPECT_TRUE(decode_counters_request(request, sizeof(request), &tag));
}

}  // namespace
}  // namespace millrace::link
