// SPDX-License-Identifier: Apache-2.0
// Any bytes as a message and as each payload; what decodes must encode to the same again. The first
// byte chooses whether the rest is taken as it is or gets a right header and CRC first.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "millrace/link/classic_stream.h"
#include "millrace/link/control_message.h"

namespace {

using namespace millrace::link;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

template <typename T>
void decode_and_encode(const uint8_t* payload, size_t size) {
  T value;
  if (!decode(payload, size, &value)) return;
  uint8_t first[T::kBytes];
  encode(value, first);
  T again;
  require(decode(first, sizeof(first), &again), "what was encoded decodes");
  uint8_t second[T::kBytes];
  encode(again, second);
  require(std::memcmp(first, second, sizeof(first)) == 0, "encoding is stable");
}

void parse(const uint8_t* data, size_t size) {
  Message message;
  if (parse_message(data, size, &message) != ParseStatus::complete) return;
  require(message.total_size <= size && message.total_size <= kMaxMessage, "inside the bytes");
  std::vector<uint8_t> again(message.total_size);
  require(encode_message(message.type, message.payload, message.payload_size, again.data(),
                         again.size()) == again.size(),
          "a parsed message can be encoded");
  require(std::memcmp(again.data(), data, again.size()) == 0, "to the same bytes");
  Message shorter;
  require(parse_message(data, message.total_size - 1, &shorter) == ParseStatus::need_more,
          "one byte less is not enough");
  decode_and_encode<Hello>(message.payload, message.payload_size);
  decode_and_encode<RunRequest>(message.payload, message.payload_size);
  decode_and_encode<Started>(message.payload, message.payload_size);
  decode_and_encode<DeviceCounters>(message.payload, message.payload_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const uint8_t kind = data[0];
  ++data;
  --size;
  parse(data, size);
  if (size <= kMaxPayload) {
    std::vector<uint8_t> whole(size + kMessageOverhead);
    const MessageType type = static_cast<MessageType>(1 + kind % 8);
    require(encode_message(type, data, size, whole.data(), whole.size()) == whole.size(),
            "every payload up to the limit can be sent");
    parse(whole.data(), whole.size());
  }
  if (size >= kHandshakeBytes) {
    uint8_t again[kHandshakeBytes];
    encode_handshake(decode_handshake(data), again);
    require(std::memcmp(again, data, kHandshakeBytes) == 0, "a handshake has no other form");
  }
  ProbeMatcher probe;
  for (size_t i = 0; i < size; ++i) probe.push(data[i]);
  return 0;
}
