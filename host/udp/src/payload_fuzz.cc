// SPDX-License-Identifier: Apache-2.0
// Any bytes as a reply: what decodes encodes to the same bytes, and nothing else is called good.
#include <cstdlib>
#include <vector>

#include "millrace/link/bytes.h"
#include "millrace/udp/payload.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace;
  const uint32_t session = size >= 8 ? link::load_le32(data + 4) : 0;
  udp::Payload payload;
  if (udp::decode_payload({data, size}, session, &payload) != udp::PayloadStatus::good) return 0;
  std::vector<uint8_t> again(size);
  udp::encode_payload(payload, again);
  if (again != std::vector<uint8_t>(data, data + size)) std::abort();
  return 0;
}
