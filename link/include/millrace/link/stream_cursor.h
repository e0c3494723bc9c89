// SPDX-License-Identifier: Apache-2.0
// A place in the frame stream of spec/classic_stream.md that can move both ways.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/jsf32.h"

namespace millrace::link {

struct StreamShape {
  uint32_t seed = 42;
  uint32_t frame_size = 0;   // bytes, at least 1
  uint32_t frame_count = 0;  // at least 1
  uint64_t size_bytes() const { return static_cast<uint64_t>(frame_size) * frame_count; }
};

// Stands before a byte of the stream. Copying is cheap (a few words); no allocation, no history.
// Stepping costs about 1 ns a word on a PC in both directions.
class StreamCursor {
 public:
  // REQUIRES: shape.frame_size >= 1. Stands before byte 0.
  explicit StreamCursor(const StreamShape& shape);

  uint64_t offset() const { return offset_; }           // stream bytes before the cursor
  uint32_t frame() const { return frame_; }             // of the next byte, from 0
  uint32_t byte_in_frame() const { return in_frame_; }  // of the next byte
  uint32_t word_in_frame() const { return in_frame_ / 4; }

  // Writes the next `size` bytes of the stream and moves behind them. Runs on past the last frame.
  void read(uint8_t* out, size_t size);
  // Moves forward without writing.
  void skip(uint64_t size);
  // Moves back. REQUIRES: size <= offset().
  void rewind(uint64_t size);
  // Compares with the next bytes and moves behind the equal ones; returns how many were equal.
  // The fast path of verification (bench/verify_speed).
  size_t match(const uint8_t* data, size_t size);

 private:
  uint32_t span(uint64_t wanted) const;
  uint32_t left_in_word() const;
  void move_in_word(uint32_t size);
  void count_words(uint32_t size);
  uint32_t match_words(const uint8_t* data, uint32_t size);

  Jsf32 generator_;  // current() is the word that holds the next byte
  uint64_t offset_ = 0;
  uint32_t frame_size_;
  uint32_t frame_ = 0;
  uint32_t in_frame_ = 0;
};

}  // namespace millrace::link
