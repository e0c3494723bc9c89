// SPDX-License-Identifier: Apache-2.0
// What is decided on weaker evidence because no more bytes come, or none for now: a few pending
// bytes, shorter than any key, that fit the expected place or the end of the run.
#include <string.h>

#include "millrace/link/stream_verifier.h"
#include "resync.h"
#include "verifier_limits.h"
#include "verifier_resync.h"

namespace millrace::link {
namespace {

size_t equal_bytes(const uint8_t* window, size_t size, StreamCursor stream) {
  size_t equal = 0;
  for (size_t i = 0; i < size; ++i) {
    const size_t same = stream.match(window + i, 1);
    equal += same;
    if (same == 0) stream.skip(1);
  }
  return equal;
}

}  // namespace

// The window ends with the run: if half of it is right, the rest was damaged in place.
bool StreamVerifier::accept_damaged_end() {
  if (2 * equal_bytes(window_, window_size_, at_) < window_size_) return false;
  Resync found{window_size_, at_};
  found.stream.skip(window_size_);
  resync(found);
  return true;
}

// Bytes are left in the window that no stage could place. True when it decided something.
bool StreamVerifier::decide_rest(bool last) {
  if (foreign_ == 0) {
    Resync found{0, at_};
    if (place_rest(last, &found)) {
      resync(found);
      return true;
    }
  }
  if (!last || window_size_ + foreign_ == 0) return false;
  decide_place(true);
  const Resync nowhere{window_size_, at_};
  resync(nowhere);
  return true;
}

bool StreamVerifier::place_rest(bool last, Resync* out) {
  const size_t size = window_size_;
  const uint64_t left = available(at_);
  // A few bytes lost, inserted or damaged, and all that is behind them as expected.
  const size_t most = size < 16 ? size : 16;
  read_expected(at_, size + most < sizeof(expected_) ? size + most : sizeof(expected_));
  for (size_t off = 1; off <= most; ++off) {
    for (size_t less = off + 1; less-- > 0;) {
      for (size_t swap = 0; swap < 2; ++swap) {
        const size_t index = swap == 0 ? less : off;
        const size_t skip = swap == 0 ? off : less;
        const size_t rest = size - index;
        const size_t least = off <= 1 ? 1 : 2;
        if (index > size || rest < least || skip + rest > expected_size_) continue;
        if (memcmp(window_ + index, expected_ + skip, rest) != 0) continue;
        out->index = index;
        out->stream.skip(skip);
        return true;
      }
    }
  }
  // Damaged up to the last byte received. Bytes that end with the run, or for now with a frame, are
  // as many as they should be, whatever they are.
  const bool fills =
      last ? left == size
           : (at_.byte_in_frame() + static_cast<uint32_t>(size)) % shape_.frame_size == 0;
  if (left >= size && place_ == Place::normal &&
      (2 * equal_bytes(window_, size, at_) > size || fills)) {
    out->index = size;
    out->stream.skip(size);
    return true;
  }
  // All of it is the end of the run.
  if (!last || left < size || left > limits_.search_bytes) return false;
  out->stream.skip(left - size);
  StreamCursor reader = out->stream;
  if (reader.match(window_, size) == size) return true;
  out->stream = at_;
  return false;
}

// A piece from elsewhere with which the received bytes end.
void StreamVerifier::decide_place(bool last) {
  if (place_ == Place::behind && last) settle_behind(FaultKind::duplicated);
  if (place_ != Place::ahead) return;
  const uint64_t piece = at_.offset() - segment_start_;
  const bool at_start = high_.offset() == start_;
  // A short piece from far ahead with which nothing began: an earlier run left it.
  const bool stale = at_.offset() > end_ || segment_start_ >= end_ ||
                     (at_start && at_.offset() != end_ && piece < held_.length);
  if (stale && !last) return;
  settle_ahead(!stale);
}

}  // namespace millrace::link
