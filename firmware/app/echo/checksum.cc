// SPDX-License-Identifier: Apache-2.0
// Four bytes at a time into 64 bits, folded at the end: a carry then costs nothing (RFC 1071,
// 2(C)).
#include "firmware/app/echo/checksum.h"

#include "millrace/link/bytes.h"

namespace millrace::firmware {
namespace {

uint32_t fold(uint64_t sum) {
  uint32_t folded = static_cast<uint32_t>(sum) & 0xffffu;
  folded += static_cast<uint32_t>(sum >> 16) & 0xffffu;
  folded += static_cast<uint32_t>(sum >> 32);
  folded = (folded & 0xffffu) + (folded >> 16);
  return (folded & 0xffffu) + (folded >> 16);
}

}  // namespace

uint32_t checksum_add(uint32_t sum, const uint8_t* data, size_t size) {
  uint64_t total = sum;
  for (; size >= 16; size -= 16, data += 16) {
    total += link::load_le32(data);
    total += link::load_le32(data + 4);
    total += link::load_le32(data + 8);
    total += link::load_le32(data + 12);
  }
  for (; size >= 4; size -= 4, data += 4) total += link::load_le32(data);
  if (size >= 2) {
    total += link::load_le16(data);
    size -= 2;
    data += 2;
  }
  if (size != 0) total += *data;
  return fold(total);
}

uint32_t udp_pseudo_sum(const uint8_t* addresses, size_t udp_bytes) {
  const uint8_t rest[4] = {0, 17, static_cast<uint8_t>(udp_bytes >> 8),
                           static_cast<uint8_t>(udp_bytes)};
  return checksum_add(checksum_add(0, addresses, 8), rest, sizeof(rest));
}

void store_checksum(uint8_t* p, uint32_t sum) { link::store_le16(p, static_cast<uint16_t>(~sum)); }

}  // namespace millrace::firmware
