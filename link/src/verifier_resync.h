// SPDX-License-Identifier: Apache-2.0
// What the search hands to the report.
#pragma once

#include "millrace/link/stream_verifier.h"

namespace millrace::link {

// window_[index] is the byte before which `stream` stands; what is before it in the window, and
// what was dropped from it, is foreign or damaged.
struct StreamVerifier::Resync {
  size_t index;
  StreamCursor stream;
};

inline bool is_text(uint8_t byte) {
  return (byte >= 0x20 && byte < 0x7f) || byte == '\r' || byte == '\n' || byte == '\t';
}

}  // namespace millrace::link
