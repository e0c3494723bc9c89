// SPDX-License-Identifier: Apache-2.0
// The ring is addressed by stream offset, so a frame that comes early is copied once, to its place,
// and nothing is moved when the missing one arrives. Slots, one a sequence number, say what stands
// there.
#include "millrace/link/stream_receiver.h"

#include <string.h>

namespace millrace::link {

StreamReceiver::StreamReceiver(const ReceiverMemory& memory, uint8_t stream)
    : memory_(memory), stream_(stream) {
  forget_from(0);
}

void StreamReceiver::forget_from(uint32_t sequence) {
  for (uint32_t i = 0; i < memory_.slot_count; ++i) {
    // Of the slots in use, those before `sequence` stay.
    if (i < sequence - read_) continue;
    slot(read_ + i).filled = false;
  }
  highest_ = sequence;
}

void StreamReceiver::reset(uint32_t sequence, uint64_t offset) {
  read_ = next_ = sequence;
  in_frame_ = 0;
  read_offset_ = frame_offset_ = next_offset_ = offset;
  ended_ = false;
  forget_from(sequence);
}

void StreamReceiver::reconnect() { forget_from(next_); }

ReceiveStatus StreamReceiver::on_frame(const FrameHeader& header, const uint8_t* payload) {
  const int32_t ahead = wrapped_difference(header.sequence, next_);
  if (ahead < 0) {
    ++counters_.duplicates;
    return ReceiveStatus::duplicate;
  }
  if (ended_ || header.sequence - read_ >= memory_.slot_count) {
    ++counters_.out_of_window;
    return ReceiveStatus::out_of_window;
  }
  ReceiverSlot& s = slot(header.sequence);
  if (s.filled) {
    ++counters_.duplicates;
    return ReceiveStatus::duplicate;
  }
  const bool is_data = header.type == FrameType::data;
  const uint32_t distance = header.offset - static_cast<uint32_t>(next_offset_);
  uint64_t gap = 0;
  if (header.type == FrameType::gap) {
    GapRecord record;
    const bool right = decode(payload, header.payload, &record) &&
                       static_cast<uint32_t>(record.offset) == header.offset;
    if (!right) {
      ++counters_.mismatches;
      return ReceiveStatus::mismatch;
    }
    gap = record.bytes;
  }
  if (ahead == 0 && distance != 0) {
    ++counters_.mismatches;
    return ReceiveStatus::mismatch;
  }
  if (is_data) {
    const uint64_t end = next_offset_ + distance + header.payload;
    if (distance >= uint32_t{1} << 31 || end > frame_offset_ + memory_.ring_bytes) {
      ++counters_.out_of_window;
      return ReceiveStatus::out_of_window;
    }
    const uint32_t at = static_cast<uint32_t>(next_offset_ + distance) & (memory_.ring_bytes - 1);
    const uint32_t to_end = memory_.ring_bytes - at;
    const uint32_t first = header.payload < to_end ? header.payload : to_end;
    memcpy(memory_.ring + at, payload, first);
    memcpy(memory_.ring, payload + first, header.payload - first);
  }
  s.filled = true;
  s.type = header.type;
  s.offset = header.offset;
  s.payload = is_data ? header.payload : 0;
  s.gap = gap;
  s.end_of_message = header.end_of_message;
  ++counters_.frames;
  counters_.payload_bytes += s.payload;
  if (wrapped_difference(header.sequence + 1, highest_) > 0) highest_ = header.sequence + 1;
  if (ahead > 0) {
    ++counters_.out_of_order;
    return ReceiveStatus::out_of_order;
  }
  return advance() ? ReceiveStatus::in_order : ReceiveStatus::mismatch;
}

// False: a frame that came early does not begin where the one before it ends; it is forgotten.
bool StreamReceiver::advance() {
  while (next_ != highest_ && slot(next_).filled && !ended_) {
    ReceiverSlot& s = slot(next_);
    if (s.offset != static_cast<uint32_t>(next_offset_)) {
      s.filled = false;
      ++counters_.mismatches;
      return false;
    }
    next_offset_ += s.payload + s.gap;
    if (s.gap != 0) {
      ++counters_.gaps;
      counters_.gap_bytes += s.gap;
    }
    ++next_;
    ended_ = s.type == FrameType::end;
  }
  if (ended_) highest_ = next_;
  return true;
}

Chunk StreamReceiver::peek() const {
  Chunk chunk;
  if (read_ == next_) return chunk;
  const ReceiverSlot* s = &slot(read_);
  chunk.offset = read_offset_;
  if (s->type == FrameType::gap) {
    chunk.kind = ChunkKind::gap;
    chunk.gap_bytes = s->gap - (read_offset_ - frame_offset_);
    return chunk;
  }
  if (s->type == FrameType::end) {
    chunk.kind = ChunkKind::end;
    return chunk;
  }
  chunk.kind = ChunkKind::data;
  const uint32_t at = static_cast<uint32_t>(read_offset_) & (memory_.ring_bytes - 1);
  const uint32_t to_end = memory_.ring_bytes - at;
  chunk.data = memory_.ring + at;
  chunk.size = s->payload - in_frame_;
  chunk.end_of_message = s->end_of_message;
  for (uint32_t sequence = read_ + 1; !chunk.end_of_message && sequence != next_; ++sequence) {
    s = &slot(sequence);
    if (s->type != FrameType::data || chunk.size >= to_end) break;
    chunk.size += s->payload;
    chunk.end_of_message = s->end_of_message;
  }
  if (chunk.size > to_end) {
    chunk.size = to_end;
    chunk.end_of_message = false;
  }
  return chunk;
}

void StreamReceiver::consume(size_t size) {
  if (read_ == next_) return;
  ReceiverSlot* s = &slot(read_);
  if (s->type != FrameType::data) {
    frame_offset_ += s->gap;
    read_offset_ = frame_offset_;
    s->filled = false;
    ++read_;
    return;
  }
  while (size > 0 && read_ != next_ && slot(read_).type == FrameType::data) {
    s = &slot(read_);
    const uint32_t rest = s->payload - in_frame_;
    const uint32_t piece = size < rest ? static_cast<uint32_t>(size) : rest;
    in_frame_ += piece;
    read_offset_ += piece;
    size -= piece;
    if (in_frame_ < s->payload) break;
    frame_offset_ = read_offset_;
    in_frame_ = 0;
    s->filled = false;
    ++read_;
  }
}

void StreamReceiver::fill_ack(AckEntry* entry) const {
  entry->stream = stream_;
  entry->window_frames = static_cast<uint16_t>(memory_.slot_count);
  entry->next = next_;
  entry->released = read_;
  entry->credit = memory_.ring_bytes;
  entry->words = 0;
  const uint32_t beyond = highest_ - next_;  // frames next .. highest - 1; next itself is missing
  if (beyond < 2) return;
  const uint32_t bits =
      beyond - 1 < 32 * AckEntry::kMaxWords ? beyond - 1 : 32 * AckEntry::kMaxWords;
  entry->words = static_cast<uint8_t>((bits + 31) / 32);
  for (uint32_t word = 0; word < entry->words; ++word) entry->bitmap[word] = 0;
  for (uint32_t i = 0; i < bits; ++i) {
    if (slot(next_ + 1 + i).filled) entry->bitmap[i / 32] |= uint32_t{1} << (i % 32);
  }
}

}  // namespace millrace::link
