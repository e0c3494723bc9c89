// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/in_stream.h"

namespace millrace::firmware {

void InStream::start(const link::StreamShape& shape, bool frame_pieces) {
  shape_ = shape;
  cursor_ = link::StreamCursor(shape);
  frame_pieces_ = frame_pieces;
  stopped_ = false;
  frame_damaged_ = false;
  sent_in_frame_ = 0;
  frames_sent_ = 0;
  done_ = size_ = 0;
}

void InStream::stop() {
  stopped_ = true;
  done_ = size_ = 0;
}

void InStream::fill(uint32_t frame_limit, bool to_frame_end) {
  if (size() > 0 || stopped_) return;
  if (frame_limit > shape_.frame_count) frame_limit = shape_.frame_count;
  const uint32_t in_frame = cursor_.byte_in_frame();
  uint64_t bytes = 0;
  if (to_frame_end || frame_pieces_) {
    if (in_frame > 0 || cursor_.frame() < frame_limit) bytes = shape_.frame_size - in_frame;
  } else if (cursor_.frame() < frame_limit) {
    bytes = uint64_t{frame_limit - cursor_.frame()} * shape_.frame_size - in_frame;
  }
  done_ = 0;
  size_ = bytes < kPieceBytes ? static_cast<size_t>(bytes) : kPieceBytes;
  cursor_.read(piece_, size_);
}

void InStream::advance(const WriteResult& result) {
  done_ += result.done();
  if (result.discarded > 0) frame_damaged_ = true;
  sent_in_frame_ += static_cast<uint32_t>(result.done());
  if (sent_in_frame_ < shape_.frame_size) return;
  const uint32_t frames = sent_in_frame_ / shape_.frame_size;
  sent_in_frame_ -= frames * shape_.frame_size;
  // With discards a piece holds one frame at most.
  frames_sent_ += frame_damaged_ ? 0 : frames;
  frame_damaged_ = false;
}

void InStream::cut_at_frame_end() {
  const size_t left = sent_in_frame_ == 0 ? 0 : shape_.frame_size - sent_in_frame_;
  if (size() <= left) return;
  cursor_.rewind(size() - left);
  size_ = done_ + left;
}

void InStream::stop_at_frame_end() {
  cut_at_frame_end();
  if (between_frames()) stop();
}

}  // namespace millrace::firmware
