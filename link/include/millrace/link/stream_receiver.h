// SPDX-License-Identifier: Apache-2.0
// One stream of spec/link_protocol.md, receiving side: puts every payload where its offset says,
// and hands bytes to the application in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/link_frame.h"

namespace millrace::link {

struct ReceiverSlot {
  uint64_t gap = 0;
  uint32_t offset = 0;
  uint32_t payload = 0;
  FrameType type{};
  bool filled = false;
  bool end_of_message = false;
};

struct ReceiverMemory {
  uint8_t* ring = nullptr;  // stays the caller's; at least one frame's payload
  uint32_t ring_bytes = 0;  // a power of 2, at most 2^30: what the sender has as credit
  ReceiverSlot* slots = nullptr;
  uint32_t slot_count = 0;  // a power of 2, at most 512
};

enum class ChunkKind : uint8_t {
  none,  // nothing has come in order that was not consumed
  data,
  gap,  // the sender lost bytes: the application of the other side outran the link
  end,  // no more will come
};

struct Chunk {
  ChunkKind kind = ChunkKind::none;
  const uint8_t* data = nullptr;  // data: into the ring, until consume()
  size_t size = 0;
  uint64_t offset = 0;          // in the stream, gaps included
  bool end_of_message = false;  // data: behind the last byte of this chunk
  uint64_t gap_bytes = 0;       // gap
};

struct ReceiverCounters {
  uint64_t frames = 0;
  uint64_t payload_bytes = 0;
  uint64_t duplicates = 0;     // frames that were there already
  uint64_t out_of_window = 0;  // frames for which no room was promised
  uint64_t out_of_order = 0;   // frames that came behind a missing one
  uint64_t gaps = 0;
  uint64_t gap_bytes = 0;
  uint64_t mismatches = 0;  // offset, sequence and length contradict each other
};

enum class [[nodiscard]] ReceiveStatus : uint8_t{
    in_order,
    out_of_order,  // kept; something before it is missing
    duplicate,    out_of_window,
    mismatch,  // the sender breaks the specification
};

class StreamReceiver {
 public:
  StreamReceiver(const ReceiverMemory& memory, uint8_t stream);
  StreamReceiver(const StreamReceiver&) = delete;
  StreamReceiver& operator=(const StreamReceiver&) = delete;

  // --- The application ---

  // The next bytes in order; size is up to the end of a message, a frame behind a gap, or the end
  // of the ring.
  Chunk peek() const;
  // Releases the first `size` bytes of the chunk (a gap or the end: any size): the sender may
  // forget whole frames from then on. What was not released is sent again after a crash.
  void consume(size_t size);
  // All before this offset was taken by the application.
  uint64_t offset() const { return read_offset_; }
  bool ended() const { return ended_; }
  const ReceiverCounters& counters() const { return counters_; }
  uint8_t stream() const { return stream_; }

  // --- The link ---

  // Starts anew: `sequence` and `offset` of the next frame.
  void reset(uint32_t sequence, uint64_t offset);
  // A new connection: what came out of order is sent again.
  void reconnect();
  ReceiveStatus on_frame(const FrameHeader& header, const uint8_t* payload);
  void fill_ack(AckEntry* entry) const;
  uint32_t next_sequence() const { return next_; }
  uint64_t next_offset() const { return next_offset_; }
  uint32_t released_sequence() const { return read_; }
  uint32_t highest_sequence() const { return highest_; }  // behind the highest that came
  // There is a hole before something that came.
  bool has_hole() const { return highest_ != next_; }
  uint32_t ring_bytes() const { return memory_.ring_bytes; }

 private:
  ReceiverSlot& slot(uint32_t sequence) {
    return memory_.slots[sequence & (memory_.slot_count - 1)];
  }
  const ReceiverSlot& slot(uint32_t sequence) const {
    return memory_.slots[sequence & (memory_.slot_count - 1)];
  }
  bool advance();
  void forget_from(uint32_t sequence);

  ReceiverMemory memory_;
  uint8_t stream_;
  uint32_t read_ = 0;      // first frame that was not consumed whole
  uint32_t next_ = 0;      // next in order
  uint32_t highest_ = 0;   // behind the highest that came
  uint32_t in_frame_ = 0;  // consumed bytes of frame read_
  uint64_t read_offset_ = 0;
  uint64_t frame_offset_ = 0;  // of frame read_
  uint64_t next_offset_ = 0;
  bool ended_ = false;
  ReceiverCounters counters_;
};

}  // namespace millrace::link
