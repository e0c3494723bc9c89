// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/control_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "millrace/link/bytes.h"
#include "millrace/link/crc32c.h"
#include "test_vector_file.h"

namespace millrace::link {
namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> vector_messages() {
  std::vector<Bytes> out;
  for (const std::vector<std::string>& words : read_vectors("stream.txt")) {
    out.push_back(from_hex(words[1]));
  }
  return out;
}

template <size_t N>
Bytes bytes_of(const uint8_t (&payload)[N]) {
  return Bytes(payload, payload + N);
}

// Decodes, compares each field with the vector's, and encodes again.
Bytes check_hello(const Message& m, const Fields& f) {
  Hello v;
  EXPECT_TRUE(decode(m.payload, m.payload_size, &v));
  const Fields decoded = {{"version", number(v.version)},
                          {"capabilities", number(v.capabilities)},
                          {"max_window_frames", number(v.max_window_frames)},
                          {"session_id", number(v.session_id)},
                          {"boot_counter", number(v.boot_counter)},
                          {"usb_speed_mbit", number(v.usb_speed_mbit)},
                          {"tx_buffer_bytes", number(v.tx_buffer_bytes)},
                          {"rx_buffer_bytes", number(v.rx_buffer_bytes)},
                          {"firmware_name", quoted(v.firmware_name)},
                          {"firmware_version", quoted(v.firmware_version)},
                          {"board", quoted(v.board)},
                          {"max_frame_bytes", number(v.max_frame_bytes)}};
  EXPECT_EQ(decoded, f);
  uint8_t payload[Hello::kBytes];
  encode(v, payload);
  return bytes_of(payload);
}

Bytes check_run(const Message& m, const Fields& f) {
  RunRequest v;
  EXPECT_TRUE(decode(m.payload, m.payload_size, &v));
  const Fields decoded = {{"session_id", number(v.session_id)},
                          {"run_id", number(v.run_id)},
                          {"direction", number(static_cast<uint64_t>(v.direction))},
                          {"flags", number(v.discard_mode ? 1 : 0)},
                          {"window_frames", number(v.window_frames)},
                          {"frame_size", number(v.frame_size)},
                          {"frame_count", number(v.frame_count)},
                          {"seed", number(v.seed)},
                          {"counters_interval_ms", number(v.counters_interval_ms)},
                          {"discard_after_ms", number(v.discard_after_ms)}};
  EXPECT_EQ(decoded, f);
  uint8_t payload[RunRequest::kBytes];
  encode(v, payload);
  return bytes_of(payload);
}

Bytes check_started(const Message& m, const Fields& f) {
  Started v;
  EXPECT_TRUE(decode(m.payload, m.payload_size, &v));
  const Fields decoded = {{"session_id", number(v.session_id)},
                          {"run_id", number(v.run_id)},
                          {"status", number(static_cast<uint64_t>(v.status))},
                          {"reason", quoted(v.reason)}};
  EXPECT_EQ(decoded, f);
  uint8_t payload[Started::kBytes];
  encode(v, payload);
  return bytes_of(payload);
}

Bytes check_counters(const Message& m, const Fields& f) {
  DeviceCounters v;
  EXPECT_TRUE(decode(m.payload, m.payload_size, &v));
  const Fields decoded = {{"session_id", number(v.session_id)},
                          {"run_id", number(v.run_id)},
                          {"boot_counter", number(v.boot_counter)},
                          {"state", number(v.state)},
                          {"in_offered_bytes", number(v.in_offered_bytes)},
                          {"in_accepted_bytes", number(v.in_accepted_bytes)},
                          {"in_discarded_bytes", number(v.in_discarded_bytes)},
                          {"short_writes", number(v.short_writes)},
                          {"discards", number(v.discards)},
                          {"longest_blocked_us", number(v.longest_blocked_us)},
                          {"frames_sent", number(v.frames_sent)},
                          {"total_blocked_us", number(v.total_blocked_us)},
                          {"run_us", number(v.run_us)},
                          {"acks_received", number(v.acks_received)},
                          {"out_frames", number(v.out_frames)},
                          {"out_received_bytes", number(v.out_received_bytes)},
                          {"out_verified_bytes", number(v.out_verified_bytes)},
                          {"out_lost_bytes", number(v.out_lost_bytes)},
                          {"out_duplicated_bytes", number(v.out_duplicated_bytes)},
                          {"out_inserted_bytes", number(v.out_inserted_bytes)},
                          {"out_altered_bytes", number(v.out_altered_bytes)},
                          {"out_faults", number(v.out_faults)},
                          {"out_first_fault_kind", number(v.out_first_fault_kind)},
                          {"out_first_fault_offset", number(v.out_first_fault_offset)},
                          {"foreign_bytes", number(v.foreign_bytes)},
                          {"first_foreign", to_hex(bytes_of(v.first_foreign))},
                          {"dropped_handshakes", number(v.dropped_handshakes)}};
  EXPECT_EQ(decoded, f);
  uint8_t payload[DeviceCounters::kBytes];
  encode(v, payload);
  return bytes_of(payload);
}

TEST(ControlMessage, VectorsDecodeAndEncode) {
  const std::map<std::string, MessageType> types = {
      {"HELLO", MessageType::hello},       {"RUN", MessageType::run},
      {"STARTED", MessageType::started},   {"REPORT", MessageType::report},
      {"COUNTERS", MessageType::counters}, {"GET_COUNTERS", MessageType::get_counters},
      {"STOP", MessageType::stop},         {"END", MessageType::end}};
  size_t lines = 0;
  for (const std::vector<std::string>& words : read_vectors("stream.txt")) {
    SCOPED_TRACE(words[0] + " " + words[1].substr(0, 40));
    const Bytes bytes = from_hex(words[1]);
    Fields fields;
    for (size_t i = 2; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      fields[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    }
    Message message;
    ASSERT_EQ(parse_message(bytes.data(), bytes.size(), &message), ParseStatus::complete);
    EXPECT_EQ(message.total_size, bytes.size());
    EXPECT_EQ(message.type, types.at(words[0]));
    Bytes payload;
    switch (message.type) {
      case MessageType::hello:
        payload = check_hello(message, fields);
        break;
      case MessageType::run:
        payload = check_run(message, fields);
        break;
      case MessageType::started:
        payload = check_started(message, fields);
        break;
      case MessageType::report:
      case MessageType::counters:
        payload = check_counters(message, fields);
        break;
      default:
        EXPECT_EQ(message.payload_size, 0u);
    }
    Bytes encoded(kMaxMessage);
    encoded.resize(encode_message(message.type, payload.data(), payload.size(), encoded.data(),
                                  encoded.size()));
    EXPECT_EQ(encoded, bytes);
    ++lines;
  }
  EXPECT_EQ(lines, 12u);
}

TEST(ControlMessage, EveryTruncationAsksForMore) {
  for (const Bytes& bytes : vector_messages()) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      // A copy of that size, so that reading beyond it is noticed.
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      Message message;
      EXPECT_EQ(parse_message(cut.data(), cut.size(), &message), ParseStatus::need_more) << size;
    }
  }
}

TEST(ControlMessage, EverySingleBitFlipIsNoMessage) {
  for (const Bytes& bytes : vector_messages()) {
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      Bytes flipped = bytes;
      flipped[bit / 8] = static_cast<uint8_t>(flipped[bit / 8] ^ (1u << bit % 8));
      // Enough behind it for a size field that has become larger.
      flipped.resize(flipped.size() + 256);
      Message message;
      EXPECT_EQ(parse_message(flipped.data(), flipped.size(), &message), ParseStatus::not_one)
          << bit;
    }
  }
}

TEST(ControlMessage, BytesBehindAMessageAreLeftAlone) {
  for (const Bytes& bytes : vector_messages()) {
    Bytes more = bytes;
    more.insert(more.end(), {0xF1, 0x4D, 1});
    Message message;
    ASSERT_EQ(parse_message(more.data(), more.size(), &message), ParseStatus::complete);
    EXPECT_EQ(message.total_size, bytes.size());
  }
}

TEST(ControlMessage, PayloadsUpToTheLimitPass) {
  const Bytes payload(kMaxPayload + 1, 0x5a);
  for (const size_t size : {size_t{0}, size_t{1}, kMaxPayload - 1, kMaxPayload}) {
    Bytes out(size + kMessageOverhead);
    EXPECT_EQ(encode_message(MessageType::run, payload.data(), size, out.data(), out.size() - 1),
              0u);
    ASSERT_EQ(encode_message(MessageType::run, payload.data(), size, out.data(), out.size()),
              out.size());
    Message message;
    ASSERT_EQ(parse_message(out.data(), out.size(), &message), ParseStatus::complete);
    EXPECT_EQ(message.payload_size, size);
  }
  Bytes out(400);
  EXPECT_EQ(
      encode_message(MessageType::run, payload.data(), kMaxPayload + 1, out.data(), out.size()),
      0u);
}

// A right CRC does not help a size that no message has.
TEST(ControlMessage, PayloadAboveTheLimitIsNoMessage) {
  Bytes bytes(kMaxMessage + 1);
  const Bytes head = {0xF1, 0x4D, 0x52, 0x5A, 1, 2, 241, 0};
  std::copy(head.begin(), head.end(), bytes.begin());
  const uint32_t crc = crc32c(bytes.data(), bytes.size() - 4);
  store_le32(bytes.data() + bytes.size() - 4, crc);
  Message message;
  EXPECT_EQ(parse_message(bytes.data(), bytes.size(), &message), ParseStatus::not_one);
}

TEST(ControlMessage, UnknownTypesAndVersionsAreNoMessages) {
  for (const unsigned type : {0u, 11u, 255u}) {
    Bytes bytes = {0xF1, 0x4D, 0x52, 0x5A, 1, static_cast<uint8_t>(type)};
    Message message;
    EXPECT_EQ(parse_message(bytes.data(), bytes.size(), &message), ParseStatus::not_one);
    bytes[4] = 2;
    bytes[5] = 1;
    EXPECT_EQ(parse_message(bytes.data(), bytes.size(), &message), ParseStatus::not_one);
  }
}

// spec/stream.md: one that is longer than listed has a rest to ignore, a shorter one is foreign.
TEST(ControlMessage, LongerPayloadsDecodeAndShorterOnesDoNot) {
  const Bytes payload(kMaxPayload, 1);
  Hello hello;
  RunRequest run;
  Started started;
  DeviceCounters counters;
  EXPECT_TRUE(decode(payload.data(), Hello::kBytes + 1, &hello));
  EXPECT_TRUE(decode(payload.data(), RunRequest::kBytes + 1, &run));
  EXPECT_TRUE(decode(payload.data(), Started::kBytes + 1, &started));
  EXPECT_TRUE(decode(payload.data(), DeviceCounters::kBytes + 1, &counters));
  hello.session_id = run.session_id = started.session_id = counters.session_id = 77;
  EXPECT_FALSE(decode(payload.data(), Hello::kBytes - 1, &hello));
  EXPECT_FALSE(decode(payload.data(), RunRequest::kBytes - 1, &run));
  EXPECT_FALSE(decode(payload.data(), Started::kBytes - 1, &started));
  EXPECT_FALSE(decode(payload.data(), DeviceCounters::kBytes - 1, &counters));
  EXPECT_EQ(hello.session_id, 77u);
  EXPECT_EQ(run.session_id, 77u);
  EXPECT_EQ(started.session_id, 77u);
  EXPECT_EQ(counters.session_id, 77u);
}

TEST(ControlMessage, ValuesThatAreNotListedDoNotDecode) {
  uint8_t payload[RunRequest::kBytes] = {};
  for (const unsigned direction : {0u, 4u, 255u}) {
    payload[8] = static_cast<uint8_t>(direction);
    RunRequest run;
    EXPECT_FALSE(decode(payload, sizeof(payload), &run));
  }
  uint8_t other[Started::kBytes] = {};
  for (const unsigned status : {7u, 255u}) {
    other[8] = static_cast<uint8_t>(status);
    Started started;
    ASSERT_TRUE(decode(other, sizeof(other), &started)) << "a later version may have it";
    EXPECT_EQ(static_cast<unsigned>(started.status), status);
  }
}

// A text of the full length has no 0 on the wire, and one in memory.
TEST(ControlMessage, TextsAlwaysEnd) {
  uint8_t payload[Hello::kBytes];
  std::fill(std::begin(payload), std::end(payload), uint8_t{'x'});
  Hello hello;
  ASSERT_TRUE(decode(payload, sizeof(payload), &hello));
  EXPECT_EQ(std::string(hello.firmware_name), std::string(24, 'x'));
  EXPECT_EQ(std::string(hello.firmware_version), std::string(16, 'x'));
  EXPECT_EQ(std::string(hello.board), std::string(24, 'x'));
}

}  // namespace
}  // namespace millrace::link
