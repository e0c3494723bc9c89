// SPDX-License-Identifier: Apache-2.0
// For tests: the stream as spec/classic_stream.md words it, one frame after the other, and a sink
// that keeps what a verifier says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/link/jsf32.h"
#include "millrace/link/stream_verifier.h"

namespace millrace::link {

using Bytes = std::vector<uint8_t>;

// The first `frames` frames.
inline Bytes make_stream(uint32_t seed, uint32_t frame_size, uint32_t frames) {
  Jsf32 generator(seed);
  Bytes out;
  for (uint32_t frame = 0; frame < frames; ++frame) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < frame_size; ++i) {
      if (i % 4 == 0) word = generator.next();
      out.push_back(static_cast<uint8_t>(word >> (8 * (i % 4))));
    }
  }
  return out;
}

inline Bytes slice(const Bytes& bytes, size_t from, size_t to) {
  return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from),
               bytes.begin() + static_cast<std::ptrdiff_t>(to));
}

inline void append(Bytes* to, const Bytes& bytes) {
  to->insert(to->end(), bytes.begin(), bytes.end());
}

inline Bytes text(const std::string& s) { return Bytes(s.begin(), s.end()); }

inline Bytes message(MessageType type, const Bytes& payload = {}) {
  Bytes out(payload.size() + kMessageOverhead);
  const size_t size = encode_message(type, payload.data(), payload.size(), out.data(), out.size());
  return size == out.size() ? out : Bytes();
}

struct Heard {
  std::vector<Fault> faults;
  std::vector<Bytes> payloads;
  std::vector<MessageType> types;

  VerifierSink sink() {
    VerifierSink out;
    out.context = this;
    out.on_fault = [](void* context, const Fault& fault) {
      static_cast<Heard*>(context)->faults.push_back(fault);
    };
    out.on_message = [](void* context, const Message& m) {
      static_cast<Heard*>(context)->payloads.emplace_back(m.payload, m.payload + m.payload_size);
      static_cast<Heard*>(context)->types.push_back(m.type);
    };
    return out;
  }
};

// Feeds in pieces of `piece` bytes.
inline void feed_pieces(StreamVerifier* verifier, const Bytes& bytes, size_t piece) {
  for (size_t at = 0; at < bytes.size(); at += piece) {
    verifier->feed(bytes.data() + at, std::min(piece, bytes.size() - at));
  }
}

}  // namespace millrace::link
