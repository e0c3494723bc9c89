// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/sampler_control.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "test_vector_file.h"

namespace millrace::link {
namespace {

using Bytes = std::vector<uint8_t>;
using Words = std::vector<std::string>;

uint64_t value_of(const std::string& text) { return std::stoull(text); }

void check_sampler_request(const Words& words) {
  const Bytes bytes = from_hex(words[1]);
  SamplerRequest request;
  SamplerStatusCode result;
  ASSERT_TRUE(decode_sampler_request(bytes.data(), bytes.size(), &request, &result)) << words[1];
  EXPECT_EQ(static_cast<uint64_t>(result), value_of(words[2])) << words[1];
  EXPECT_EQ(static_cast<uint64_t>(request.command), value_of(words[3]));
  EXPECT_EQ(request.tag, value_of(words[4]));
  EXPECT_EQ(request.mode, value_of(words[5]));
  EXPECT_EQ(request.jitter_permille, value_of(words[6]));
  EXPECT_EQ(request.interval_ns, value_of(words[7]));
  EXPECT_EQ(request.seed, value_of(words[8]));
  EXPECT_EQ(request.first_word, value_of(words[9]));
  EXPECT_EQ(request.words, value_of(words[10]));
  if (result == SamplerStatusCode::cut_short || result == SamplerStatusCode::unknown_command)
    return;
  uint8_t again[kSamplerRequestBytes];
  const size_t size = encode_sampler_request(request, again);
  EXPECT_EQ(Bytes(again, again + size), bytes);
}

void check_status(const Words& words) {
  const Bytes bytes = from_hex(words[1]);
  SamplerReply reply;
  SamplerStatus s;
  ASSERT_TRUE(decode_sampler_reply(bytes.data(), bytes.size(), &reply));
  ASSERT_TRUE(decode_sampler_status(reply, &s)) << words[1];
  const uint64_t values[] = {static_cast<uint64_t>(reply.command),
                             reply.tag,
                             static_cast<uint64_t>(s.state),
                             s.mode,
                             s.jitter_permille,
                             s.capacity_words,
                             s.stored_words,
                             s.core_khz,
                             s.interval_cycles,
                             s.least_interval_ns,
                             s.most_interval_ns,
                             s.lost,
                             s.overruns,
                             s.run_cycles,
                             s.handler_cycles,
                             s.events,
                             s.run_number};
  for (size_t i = 0; i < std::size(values); ++i) EXPECT_EQ(values[i], value_of(words[2 + i])) << i;
  const Bytes identity(s.identity, s.identity + s.identity_bytes);
  EXPECT_EQ(identity, words[19] == "-" ? Bytes() : from_hex(words[19]));
  Bytes again(kSamplerStatusBytes);
  EXPECT_EQ(encode_sampler_status(reply.command, reply.tag, s, again.data()), bytes.size());
  EXPECT_EQ(again, bytes);
}

void check_words(const Words& words) {
  const Bytes bytes = from_hex(words[1]);
  SamplerReply reply;
  SamplerWords got;
  ASSERT_TRUE(decode_sampler_reply(bytes.data(), bytes.size(), &reply));
  ASSERT_TRUE(decode_sampler_words(reply, &got));
  EXPECT_EQ(reply.tag, value_of(words[2]));
  EXPECT_EQ(got.first_word, value_of(words[3]));
  EXPECT_EQ(got.run_number, value_of(words[4]));
  std::vector<uint32_t> want;
  std::istringstream list(words[5] == "-" ? "" : words[5]);
  for (std::string word; std::getline(list, word, ',');) {
    want.push_back(static_cast<uint32_t>(value_of(word)));
  }
  ASSERT_EQ(got.words, want.size());
  Bytes again(kSamplerReplyBytes);
  again.resize(encode_sampler_words(reply.tag, got.first_word, got.run_number, want.data(),
                                    got.words, again.data()));
  EXPECT_EQ(again, bytes);
  EXPECT_EQ(Bytes(got.data, got.data + 4 * want.size()),
            Bytes(bytes.begin() + kSamplerReadBytes, bytes.end()));
}

TEST(SamplerControl, EveryVectorDecodesAndEncodes) {
  size_t count = 0;
  for (const Words& words : read_vectors("sampler_control.txt")) {
    ++count;
    if (words[0] == "request") {
      check_sampler_request(words);
    } else if (words[0] == "status") {
      check_status(words);
    } else if (words[0] == "words") {
      check_words(words);
    } else {
      const Bytes bytes = from_hex(words[1]);
      SamplerReply reply;
      ASSERT_TRUE(decode_sampler_reply(bytes.data(), bytes.size(), &reply));
      EXPECT_EQ(static_cast<uint64_t>(reply.command), value_of(words[2]));
      EXPECT_EQ(reply.tag, value_of(words[3]));
      EXPECT_EQ(static_cast<uint64_t>(reply.result), value_of(words[4]));
      Bytes again(kSamplerHeaderBytes);
      encode_sampler_refusal(reply.command, reply.tag, reply.result, again.data());
      EXPECT_EQ(again, bytes);
    }
  }
  EXPECT_EQ(count, 21u);
}

Bytes whole_status() {
  SamplerStatus status;
  status.capacity_words = status.stored_words = 10;
  Bytes bytes(kSamplerStatusBytes);
  encode_sampler_status(SamplerCommand::info, 1, status, bytes.data());
  return bytes;
}

TEST(SamplerControl, EveryTruncationIsRefused) {
  const Bytes status = whole_status();
  const uint32_t two[] = {1, 2};
  Bytes words(kSamplerReadBytes + 8);
  encode_sampler_words(1, 0, 1, two, 2, words.data());
  SamplerReply reply;
  SamplerStatus decoded;
  SamplerWords got;
  for (size_t size = 0; size < status.size(); ++size) {
    const Bytes part(status.begin(), status.begin() + static_cast<long>(size));
    EXPECT_FALSE(decode_sampler_reply(part.data(), size, &reply) &&
                 decode_sampler_status(reply, &decoded))
        << size;
  }
  for (size_t size = 0; size < words.size(); ++size) {
    const Bytes part(words.begin(), words.begin() + static_cast<long>(size));
    EXPECT_FALSE(decode_sampler_reply(part.data(), size, &reply) &&
                 decode_sampler_words(reply, &got))
        << size;
  }
}

TEST(SamplerControl, EveryBitOfMagicVersionAndKindCounts) {
  uint8_t request[kSamplerRequestBytes];
  const size_t size = encode_sampler_request(SamplerRequest(), request);
  Bytes status = whole_status();
  SamplerRequest decoded;
  SamplerStatusCode result;
  SamplerReply reply;
  for (size_t bit = 0; bit < 48; ++bit) {
    const auto flip = static_cast<uint8_t>(1u << bit % 8);
    request[bit / 8] ^= flip;
    status[bit / 8] ^= flip;
    EXPECT_FALSE(decode_sampler_request(request, size, &decoded, &result)) << bit;
    EXPECT_FALSE(decode_sampler_reply(status.data(), status.size(), &reply)) << bit;
    request[bit / 8] ^= flip;
    status[bit / 8] ^= flip;
  }
}

TEST(SamplerControl, NonsenseInAStatusIsRefused) {
  SamplerReply reply;
  SamplerStatus status;
  const auto accepts = [&](size_t at, uint8_t value) {
    Bytes bytes = whole_status();
    bytes[at] = value;
    return decode_sampler_reply(bytes.data(), bytes.size(), &reply) &&
           decode_sampler_status(reply, &status);
  };
  EXPECT_TRUE(accepts(12, 2));
  EXPECT_FALSE(accepts(12, 3));   // state
  EXPECT_FALSE(accepts(13, 1));   // mode
  EXPECT_FALSE(accepts(20, 11));  // more stored than there is room for
  EXPECT_FALSE(accepts(84, 33));  // identity
  EXPECT_FALSE(accepts(7, 1));    // a refusal
  EXPECT_FALSE(accepts(6, 3));    // a reply to READ
}

}  // namespace
}  // namespace millrace::link
