// SPDX-License-Identifier: Apache-2.0
// Finds where received bytes stand in the stream. Plain functions over a window of received bytes;
// what a find means is the verifier's business.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/stream_cursor.h"

namespace millrace::link {

inline constexpr size_t kNowhere = static_cast<size_t>(-1);

// Bytes that must be equal before two places count as the same. They grow with the number of
// candidates so that a match by chance stays below 1e-9 a fault.
inline constexpr size_t kShortKey = 4;   // up to 2 bytes off, or damaged in place
inline constexpr size_t kMiddleKey = 6;  // up to 16 bytes off
inline constexpr size_t kLocalKey = 8;   // up to kLocalBytes off
inline constexpr size_t kFarKey = 16;    // anywhere
inline constexpr size_t kLeastFarKey = 12;
inline constexpr size_t kLocalBytes = 504;
inline constexpr size_t kSlots = 1024;
inline constexpr size_t kFarBlock = 1024;

// window[index] is the stream byte `skip` bytes behind the anchor.
struct LocalMatch {
  size_t index = kNowhere;
  size_t skip = 0;
};

// Insertions, deletions and damage of at least `least` and at most `most` (<= 16) bytes, the
// smallest first. `expected` holds the stream from the anchor on, cut at the end of the run.
LocalMatch find_nearest(const uint8_t* window, size_t size, const uint8_t* expected,
                        size_t expected_size, size_t least, size_t most);

// The earliest window byte that is found among `expected` (<= kLocalBytes + kLocalKey bytes).
LocalMatch find_among(const uint8_t* window, size_t size, const uint8_t* expected,
                      size_t expected_size, uint16_t (&slots)[kSlots]);

// The earliest place where `key` bytes of the window are equal to the stream without any shift;
// only the first `available` bytes of the stream count. kNowhere if there is none.
size_t find_in_place(const uint8_t* window, size_t size, StreamCursor stream, uint64_t available,
                     size_t key);

// Bits that differ between the window and the stream at the same place.
uint32_t differing_bits(const uint8_t* window, size_t size, StreamCursor stream);

struct FarMatch {
  size_t index;         // into the window
  StreamCursor stream;  // stands before the same byte
};

struct FarSearch {
  const uint8_t* window;
  size_t size;
  size_t key;               // kFarKey, or kLeastFarKey for short windows
  size_t first_keys_only;   // 1: only the key at index 0; 0: four keys over the window
  uint64_t forward_bytes;   // how far to look from the origin
  uint64_t backward_bytes;  // at most origin.offset()
};

// Looks for keys of the window alternately forward and backward from `origin`, nearest first.
// `block` is working space of kFarBlock + 8 bytes. Adds the stream bytes looked through to
// *looked_through.
bool find_far(const FarSearch& search, const StreamCursor& origin, uint8_t* block, FarMatch* out,
              uint64_t* looked_through);

// Moves a match back over bytes that are equal before it, not below stream offset `floor`.
void extend_back(const uint8_t* window, uint64_t floor, FarMatch* match);

}  // namespace millrace::link
