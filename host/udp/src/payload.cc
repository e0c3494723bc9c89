// SPDX-License-Identifier: Apache-2.0
#include "millrace/udp/payload.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "millrace/link/bytes.h"
#include "millrace/link/crc32c.h"
#include "millrace/link/jsf32.h"

namespace millrace::udp {

using link::load_le16;
using link::load_le32;
using link::load_le64;

namespace {

constexpr std::array<uint8_t, 4> kMagic = {0xf2, 0x4d, 0x52, 0x55};
constexpr size_t kSession = 4, kSequence = 8, kStep = 12, kSize = 14, kStamp = 16, kCheck = 24,
                 kFiller = 28;

}  // namespace

void encode_payload(const Payload& payload, std::span<uint8_t> out) {
  std::copy(kMagic.begin(), kMagic.end(), out.begin());
  link::store_le32(&out[kSession], payload.session);
  link::store_le32(&out[kSequence], payload.sequence);
  link::store_le16(&out[kStep], payload.step);
  link::store_le16(&out[kSize], static_cast<uint16_t>(out.size()));
  link::store_le64(&out[kStamp], payload.stamp_ns);
  const uint32_t check = link::crc32c(out.data(), kCheck);
  link::store_le32(&out[kCheck], check);
  link::Jsf32 filler(check);
  size_t at = kFiller;
  for (; at + 4 <= out.size(); at += 4) link::store_le32(&out[at], filler.next());
  for (uint32_t last = filler.next(); at < out.size(); ++at, last >>= 8) {
    out[at] = static_cast<uint8_t>(last);
  }
}

PayloadStatus decode_payload(std::span<const uint8_t> bytes, uint32_t session, Payload* payload) {
  const size_t head = std::min<size_t>(bytes.size(), kMagic.size());
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(head), kMagic.begin())) {
    // One damaged magic must not pass for a stranger: the session still is ours then.
    const bool is_ours = bytes.size() >= kFiller && load_le32(&bytes[kSession]) == session;
    return is_ours ? PayloadStatus::altered : PayloadStatus::foreign;
  }
  if (bytes.size() < kLeastPayload) return PayloadStatus::altered;
  const uint32_t check = load_le32(&bytes[kCheck]);
  const bool is_whole = link::crc32c(bytes.data(), kCheck) == check;
  if (load_le32(&bytes[kSession]) != session) {
    return is_whole ? PayloadStatus::foreign : PayloadStatus::altered;
  }
  if (!is_whole || load_le16(&bytes[kSize]) != bytes.size()) return PayloadStatus::altered;
  link::Jsf32 filler(check);
  size_t at = kFiller;
  uint32_t wrong = 0;
  for (; at + 4 <= bytes.size(); at += 4) wrong |= load_le32(&bytes[at]) ^ filler.next();
  for (uint32_t last = filler.next(); at < bytes.size(); ++at, last >>= 8) {
    wrong |= bytes[at] ^ (last & 0xff);
  }
  if (wrong != 0) return PayloadStatus::altered;
  payload->session = session;
  payload->sequence = load_le32(&bytes[kSequence]);
  payload->step = load_le16(&bytes[kStep]);
  payload->stamp_ns = load_le64(&bytes[kStamp]);
  return PayloadStatus::good;
}

}  // namespace millrace::udp
