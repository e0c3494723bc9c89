// SPDX-License-Identifier: Apache-2.0
// Any bytes as a request for counters and as a reply with them: what decodes encodes to a message
// that decodes to the same, and no bytes are both.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "millrace/link/echo_counters.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::link;
  uint32_t tag = 0;
  const bool is_request = decode_counters_request(data, size, &tag);
  if (is_request) {
    uint8_t again[kEchoCountersRequestBytes];
    encode_counters_request(tag, again);
    uint32_t same = 0;
    if (!decode_counters_request(again, sizeof again, &same) || same != tag) std::abort();
  }
  EchoCounters counters;
  size_t known = 0;
  if (!decode_counters_reply(data, size, &tag, &counters, &known)) return 0;
  if (is_request || known > kEchoCounters || size < kEchoCountersHeaderBytes + 4 * known) {
    std::abort();
  }
  for (size_t i = known; i < kEchoCounters; ++i) {
    if (counters.values[i] != 0) std::abort();
  }
  uint8_t again[kEchoCountersReplyBytes];
  encode_counters_reply(tag, counters, again);
  uint32_t same = 0;
  EchoCounters read;
  if (!decode_counters_reply(again, sizeof again, &same, &read, &known) || same != tag ||
      std::memcmp(read.values, counters.values, sizeof read.values) != 0) {
    std::abort();
  }
  return 0;
}
