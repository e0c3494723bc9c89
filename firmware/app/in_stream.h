// SPDX-License-Identifier: Apache-2.0
// The IN stream of one run: generates it in pieces and knows where its frames end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/app/checked_writer.h"
#include "millrace/link/stream_cursor.h"

namespace millrace::firmware {

class InStream {
 public:
  // Two transmit buffers of the Teensyduino core: a piece is large enough that the calls for it
  // cost nothing beside the bytes.
  static constexpr size_t kPieceBytes = 4096;

  InStream() : cursor_(link::StreamShape{0, 1, 1}) {}

  // `frame_pieces`: a piece never goes on into the next frame (discard mode: one write a frame).
  // REQUIRES: shape.frame_size >= 1.
  void start(const link::StreamShape& shape, bool frame_pieces);
  // Nothing is left to send or to generate.
  void stop();

  // When the last piece is done with, generates the next one: as far as frame `frame_limit` (not
  // included), or to the end of the frame under way if `to_frame_end`. No effect otherwise.
  void fill(uint32_t frame_limit, bool to_frame_end);
  const uint8_t* data() const { return piece_ + done_; }
  size_t size() const { return size_ - done_; }
  void advance(const WriteResult& result);
  // Takes back what is generated behind the end of the frame under way: something goes before it.
  void cut_at_frame_end();
  // STOP: nothing follows the frame under way. Call again after every advance().
  void stop_at_frame_end();

  // A message may go out now.
  bool between_frames() const { return size() == 0 && (stopped_ || cursor_.byte_in_frame() == 0); }
  bool finished() const {
    return size() == 0 && (stopped_ || cursor_.frame() == shape_.frame_count);
  }
  // Frames generated completely, and frames of which the port took every byte.
  uint32_t frames_generated() const { return cursor_.frame(); }
  uint32_t frames_sent() const { return frames_sent_; }

 private:
  link::StreamShape shape_{0, 1, 0};
  link::StreamCursor cursor_;
  bool frame_pieces_ = false;
  bool stopped_ = true;
  bool frame_damaged_ = false;  // some of the frame under way was discarded
  uint32_t sent_in_frame_ = 0;  // bytes of the frame under way that are done with
  uint32_t frames_sent_ = 0;
  size_t done_ = 0;
  size_t size_ = 0;
  uint8_t piece_[kPieceBytes];
};

}  // namespace millrace::firmware
