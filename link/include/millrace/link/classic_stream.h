// SPDX-License-Identifier: Apache-2.0
// The handshake of spec/classic_stream.md and the probe of spec/stream.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

inline constexpr size_t kHandshakeBytes = 9;
inline constexpr size_t kProbeBytes = 36;
inline constexpr uint32_t kDefaultSeed = 42;
inline constexpr uint8_t kAckByte = 0x06;

struct Handshake {
  uint32_t frame_size = 0;   // bytes
  uint32_t frame_count = 0;  // 0: nothing is asked for
  uint8_t acknowledge = 0;   // not 0: one byte from the host after each frame
};

void encode_handshake(const Handshake& handshake, uint8_t (&out)[kHandshakeBytes]);
Handshake decode_handshake(const uint8_t* in);  // reads kHandshakeBytes
void encode_probe(uint8_t (&out)[kProbeBytes]);

// Finds the probe in a byte stream at any alignment.
class ProbeMatcher {
 public:
  // Takes the next byte; true when it completes a probe.
  bool push(uint8_t byte);
  // Bytes of a probe matched so far, 0..35: what came before the last `matched()` bytes is not
  // part of a probe that is under way.
  size_t matched() const { return matched_; }
  void reset() { matched_ = 0; }

 private:
  size_t matched_ = 0;
};

}  // namespace millrace::link
