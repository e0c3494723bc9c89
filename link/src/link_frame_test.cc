// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/link_frame.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "millrace/link/bytes.h"
#include "test_vector_file.h"

namespace millrace::link {
namespace {

using Bytes = std::vector<uint8_t>;

std::string entry_name(size_t n) { return std::string("entry").append(number(n)); }

std::string joined(const std::vector<uint64_t>& values) {
  std::string out;
  for (const uint64_t value : values) {
    if (!out.empty()) out += '/';
    out += number(value);
  }
  return out;
}

struct Vector {
  std::string name;
  Bytes bytes;
  uint32_t tag = 0;
  Fields fields;
};

std::vector<Vector> vectors() {
  std::vector<Vector> out;
  for (const std::vector<std::string>& words : read_vectors("link_protocol.txt")) {
    Vector v;
    v.name = words[0];
    v.bytes = from_hex(words[1]);
    for (size_t i = 2; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      v.fields[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    }
    v.tag = static_cast<uint32_t>(std::stoul(v.fields.at("tag")));
    v.fields.erase("tag");
    out.push_back(v);
  }
  return out;
}

// The fields as decoded, and the payload encoded again from them.
Fields decode_hello(const uint8_t* p, size_t size, Bytes* again) {
  LinkHello v;
  EXPECT_TRUE(decode(p, size, &v));
  again->resize(encode(v, again->data()));
  return {{"version_min", number(v.version_min)},
          {"version_max", number(v.version_max)},
          {"nonce", number(v.nonce)},
          {"host_instance", number(v.host_instance)},
          {"session", number(v.session)},
          {"boot_id", number(v.boot_id)},
          {"max_payload", number(v.max_payload)}};
}

Fields decode_welcome(const uint8_t* p, size_t size, Bytes* again) {
  LinkWelcome v;
  EXPECT_TRUE(decode(p, size, &v));
  again->resize(encode(v, again->data()));
  Fields fields = {{"status", number(static_cast<uint8_t>(v.status))},
                   {"nonce", number(v.nonce)},
                   {"host_instance", number(v.host_instance)},
                   {"session", number(v.session)},
                   {"new_tag", number(v.tag)},
                   {"boot_id", number(v.boot_id)},
                   {"boot_counter", number(v.boot_counter)},
                   {"max_payload", number(v.max_payload)},
                   {"device", quoted(v.device)}};
  for (size_t i = 0; i < v.stream_count; ++i) {
    const LinkStreamEntry& e = v.streams[i];
    fields[entry_name(i)] =
        joined({e.stream, e.from_host, e.priority, e.ended, e.unit_bytes, e.buffer_bytes,
                e.window_frames, e.max_payload, e.first_sequence, e.first_offset})
            .append("/")
            .append(e.name);
  }
  return fields;
}

Fields decode_ack(const FrameHeader& header, const uint8_t* p, size_t size, Bytes* again) {
  Fields fields = {{"host", number(header.from_host)},
                   {"sequence", number(header.sequence)},
                   {"echo", number(load_le32(p))}};
  store_le32(again->data(), load_le32(p));
  size_t at = kAckFixedBytes;
  size_t out = kAckFixedBytes;
  AckEntry e;
  for (size_t n = 0; decode_ack_entry(p, size, &at, &e); ++n) {
    std::vector<uint64_t> values = {e.stream, e.window_frames, e.next, e.released, e.credit};
    values.insert(values.end(), e.bitmap, e.bitmap + e.words);
    fields[entry_name(n)] = joined(values);
    out += encode_ack_entry(e, again->data() + out);
  }
  EXPECT_EQ(at, size);
  again->resize(out);
  return fields;
}

TEST(LinkFrame, EveryVectorDecodesAndEncodesToTheSameBytes) {
  size_t lines = 0;
  for (const Vector& v : vectors()) {
    SCOPED_TRACE(v.name + number(lines));
    FrameHeader header;
    ASSERT_EQ(parse_header(v.bytes.data(), v.bytes.size(), &header), HeaderStatus::complete);
    ASSERT_EQ(header.frame_bytes(), v.bytes.size());
    const uint8_t* p = v.bytes.data() + kLinkHeaderBytes;
    Bytes again(2000);
    Fields fields;
    switch (header.type) {
      case FrameType::hello:
        EXPECT_EQ(v.name, "HELLO");
        fields = decode_hello(p, header.payload, &again);
        break;
      case FrameType::welcome:
        EXPECT_EQ(v.name, "WELCOME");
        fields = decode_welcome(p, header.payload, &again);
        break;
      case FrameType::notice: {
        EXPECT_EQ(v.name, "NOTICE");
        LinkNotice n;
        ASSERT_TRUE(decode(p, header.payload, &n));
        again.resize(encode(n, again.data()));
        fields = {{"code", number(static_cast<uint8_t>(n.code))},
                  {"version_min", number(n.version_min)},
                  {"version_max", number(n.version_max)}};
        break;
      }
      case FrameType::data:
        EXPECT_EQ(v.name, "DATA");
        again.assign(p, p + header.payload);
        fields = {{"stream", number(header.stream)},
                  {"host", number(header.from_host)},
                  {"end", number(header.end_of_message)},
                  {"sequence", number(header.sequence)},
                  {"offset", number(header.offset)},
                  {"size", number(header.payload)},
                  {"sum", number(std::accumulate(p, p + header.payload, uint64_t{0}))}};
        break;
      case FrameType::gap: {
        EXPECT_EQ(v.name, "GAP");
        GapRecord g;
        ASSERT_TRUE(decode(p, header.payload, &g));
        again.resize(encode(g, again.data()));
        EXPECT_EQ(header.offset, static_cast<uint32_t>(g.offset));
        fields = {{"stream", number(header.stream)},    {"sequence", number(header.sequence)},
                  {"gap_offset", number(g.offset)},     {"gap_bytes", number(g.bytes)},
                  {"first_unit", number(g.first_unit)}, {"last_unit", number(g.last_unit)}};
        break;
      }
      case FrameType::end:
        EXPECT_EQ(v.name, "END");
        again.clear();
        fields = {{"stream", number(header.stream)},
                  {"host", number(header.from_host)},
                  {"sequence", number(header.sequence)},
                  {"offset", number(header.offset)}};
        break;
      case FrameType::ack:
        EXPECT_EQ(v.name, "ACK");
        fields = decode_ack(header, p, header.payload, &again);
        break;
      case FrameType::probe:
        EXPECT_EQ(v.name, "PROBE");
        again.clear();
        fields = {{"host", number(header.from_host)}, {"sequence", number(header.sequence)}};
        break;
      case FrameType::bye:
        EXPECT_EQ(v.name, "BYE");
        again.assign(p, p + 1);
        fields = {{"ends", number(p[0])}};
        break;
    }
    EXPECT_EQ(fields, v.fields);
    Bytes frame(kLinkHeaderBytes);
    frame.insert(frame.end(), again.begin(), again.end());
    frame.resize(frame.size() + kLinkTrailerBytes);
    ASSERT_EQ(finish_frame(header, v.tag, frame.data()), v.bytes.size());
    EXPECT_EQ(frame, v.bytes);
    ++lines;
  }
  EXPECT_EQ(lines, 20u);
}

TEST(LinkFrame, EveryTruncatedHeaderAsksForMore) {
  for (const Vector& v : vectors()) {
    FrameHeader header;
    for (size_t size = 0; size < kLinkHeaderBytes; ++size) {
      EXPECT_EQ(parse_header(v.bytes.data(), size, &header), HeaderStatus::need_more);
    }
  }
}

TEST(LinkFrame, EverySingleBitFlipInAHeaderIsRefused) {
  for (const Vector& v : vectors()) {
    for (size_t bit = 0; bit < 8 * kLinkHeaderBytes; ++bit) {
      Bytes damaged(v.bytes.begin(), v.bytes.begin() + kLinkHeaderBytes);
      damaged[bit / 8] = static_cast<uint8_t>(damaged[bit / 8] ^ (1u << (bit % 8)));
      FrameHeader header;
      EXPECT_EQ(parse_header(damaged.data(), damaged.size(), &header), HeaderStatus::not_one);
    }
  }
}

TEST(LinkFrame, ShortAndAbsurdPayloadsAreRefused) {
  for (const Vector& v : vectors()) {
    const uint8_t* p = v.bytes.data() + kLinkHeaderBytes;
    const size_t size = v.bytes.size() - kLinkOverhead;
    for (size_t cut = 0; cut < size && size < 800; ++cut) {
      LinkHello hello;
      LinkWelcome welcome;
      LinkNotice notice;
      GapRecord gap;
      if (v.name == "HELLO") {
        EXPECT_FALSE(decode(p, cut, &hello));
      }
      if (v.name == "WELCOME") {
        EXPECT_FALSE(decode(p, cut, &welcome));
      }
      if (v.name == "NOTICE") {
        EXPECT_FALSE(decode(p, cut, &notice));
      }
      if (v.name == "GAP") {
        EXPECT_FALSE(decode(p, cut, &gap));
      }
    }
  }
  GapRecord empty;
  uint8_t payload[GapRecord::kBytes] = {};
  EXPECT_FALSE(decode(payload, sizeof(payload), &empty));  // 0 bytes lost
  store_le64(payload + 8, ~uint64_t{0});
  EXPECT_FALSE(decode(payload, sizeof(payload), &empty));  // would wrap the offset
}

TEST(LinkFrame, OverheadIsAtMostOnePercentAtTwoKilobytes) { EXPECT_LE(kLinkOverhead * 100, 2048u); }

}  // namespace
}  // namespace millrace::link
