// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/classic_stream.h"

#include "millrace/link/bytes.h"

namespace millrace::link {
namespace {

constexpr char kLetters[] = "MILLRACE";

constexpr uint8_t probe_byte(size_t i) {
  const size_t block = i / kHandshakeBytes;
  const size_t at = i % kHandshakeBytes;
  if (at == 0) return static_cast<uint8_t>(kLetters[2 * block]);
  if (at == kHandshakeBytes - 1) return static_cast<uint8_t>(kLetters[2 * block + 1]);
  return 0;
}

}  // namespace

void encode_handshake(const Handshake& handshake, uint8_t (&out)[kHandshakeBytes]) {
  store_le32(out, handshake.frame_size);
  store_le32(out + 4, handshake.frame_count);
  out[8] = handshake.acknowledge;
}

Handshake decode_handshake(const uint8_t* in) {
  Handshake handshake;
  handshake.frame_size = load_le32(in);
  handshake.frame_count = load_le32(in + 4);
  handshake.acknowledge = in[8];
  return handshake;
}

void encode_probe(uint8_t (&out)[kProbeBytes]) {
  for (size_t i = 0; i < kProbeBytes; ++i) out[i] = probe_byte(i);
}

bool ProbeMatcher::push(uint8_t byte) {
  // `M` stands only at the start of a probe, so a mismatch can restart nowhere but there.
  if (byte != probe_byte(matched_)) matched_ = 0;
  if (byte != probe_byte(matched_)) return false;
  if (++matched_ < kProbeBytes) return false;
  matched_ = 0;
  return true;
}

}  // namespace millrace::link
