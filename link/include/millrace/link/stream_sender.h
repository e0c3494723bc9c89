// SPDX-License-Identifier: Apache-2.0
// One stream of spec/link_protocol.md, sending side: a ring of finished frames that the producer
// fills, the port is fed from, and retransmissions are taken from. A payload byte is copied once.
//
// One thread or loop uses a sender and the LinkPeer it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/link_frame.h"

namespace millrace::link {

struct SenderSlot {
  uint64_t offset = 0;      // of the first payload byte
  uint32_t at = 0;          // of the frame in the ring
  uint32_t bytes = 0;       // of the frame
  uint32_t sent_order = 0;  // of the last transmission, counted over all frames of the link
  uint32_t sent_us = 0;
  FrameType type{};
  bool acked = false;
  bool lost = false;
  uint8_t times_sent = 0;  // in this connection; stays at 255
};

struct SenderOptions {
  uint8_t stream = 0;
  const char* name = "";        // at most 8 characters
  uint8_t priority = 0;         // 0 goes first
  uint32_t unit_bytes = 1;      // a sample; 1..max_payload
  uint32_t max_payload = 4096;  // of a frame
  // A frame that is not full goes out when its first byte is so old.
  uint32_t age_limit_us = 1000;
};

struct SenderMemory {
  uint8_t* ring = nullptr;  // stays the caller's; at least max_payload + kLinkOverhead bytes
  size_t ring_bytes = 0;
  SenderSlot* slots = nullptr;
  uint32_t slot_count = 0;  // frames that may be unreleased; a power of 2, at most 512
};

struct SenderCounters {
  uint64_t frames = 0;  // sent for the first time
  uint64_t payload_bytes = 0;
  uint64_t frames_again = 0;
  uint64_t bytes_again = 0;  // wire bytes
  uint64_t gaps = 0;
  uint64_t gap_bytes = 0;
  uint64_t bad_acks = 0;       // of what was never sent
  size_t most_ring_bytes = 0;  // high-water mark
};

// What an ACK told about round trips.
struct AckEffect {
  bool progress = false;    // something was acknowledged or released for the first time
  bool has_sample = false;  // of a frame that was sent once
  uint32_t sample_sent_us = 0;
};

class StreamSender {
 public:
  StreamSender(const SenderMemory& memory, const SenderOptions& options);
  StreamSender(const StreamSender&) = delete;
  StreamSender& operator=(const StreamSender&) = delete;

  // --- The producer ---

  // Takes as much as there is room for, in whole units, and returns the bytes taken.
  size_t write(const uint8_t* data, size_t size, uint64_t now_us);
  // Takes all or nothing. What is not taken is lost: it becomes part of one gap record with exact
  // first and last unit. After a loss nothing is taken until a quarter of the ring is free, so that
  // an overrun makes one gap and not hundreds. REQUIRES: size is a multiple of unit_bytes.
  bool write_or_drop(const uint8_t* data, size_t size, uint64_t now_us);
  // The place where the next bytes go, for producers that make them there (DMA); null: no room.
  // *size is at least one unit. commit() says how many were made.
  uint8_t* reserve(size_t* size);
  void commit(size_t size, uint64_t now_us);
  // What was written goes out at once, and the receiver sees the boundary. The only flush.
  // Nothing written since the last one: no effect.
  void end_of_message();
  // No more bytes will come. False: no room for the record at the moment, call again.
  bool end();
  bool ended() const { return ended_; }
  // Of the next byte written, gaps included.
  uint64_t offset() const { return offset_; }
  // write() would take so many bytes at least.
  size_t free_bytes() const;
  // Everything written was released by the receiver.
  bool drained() const { return first_ == next_ && !open_ && pending_gap_ == 0; }

  const SenderOptions& options() const { return options_; }
  const SenderCounters& counters() const { return counters_; }
  size_t ring_bytes() const { return memory_.ring_bytes; }
  uint32_t slot_count() const { return memory_.slot_count; }
  size_t used_bytes() const;

  // --- The link ---

  // Starts anew at this place: forgets all that was written. Before the first reset() and after
  // close() there is no session and nothing is taken.
  void reset(uint32_t sequence, uint64_t offset);
  void close();
  // After reset() to a place behind END, which the receiver has: nothing more is taken.
  void set_ended() { ended_ = true; }
  // A new connection: all that is not released is to be sent again once an ACK says where the
  // receiver stands.
  void reconnect(bool from_host, uint32_t tag, uint32_t peer_max_payload);
  // Closes a frame that is old, records a gap that is over.
  void close_due(uint64_t now_us);
  // True: a frame is open, and *due_us is when it is to be closed.
  bool age_due(uint64_t* due_us) const;
  // The sequence number to send now; false: nothing, or nothing that may be sent.
  bool pick(uint32_t* sequence) const;
  const uint8_t* frame(uint32_t sequence, uint32_t* bytes) const;
  // How many bytes of frames that may be sent stand directly behind frame `sequence`, at most
  // `limit`, if pick() would name them next.
  size_t bytes_behind(uint32_t sequence, size_t limit) const;
  // The first byte of this transmission was handed to the port.
  void mark_sent(uint32_t sequence, uint32_t order, uint32_t now_us);
  AckEffect on_ack(const AckEntry& entry);
  // All that was sent before `order` and did not arrive is lost: the link keeps the order. Returns
  // how many frames that are.
  uint32_t lose_before(uint32_t order);
  // There are frames that credit holds back, or that were sent and not acknowledged, or not
  // released: the ACK that says so may be lost, and nothing else would bring another.
  bool waits() const;
  bool fits(uint32_t peer_max_payload) const;

  // The receiver can expect frame `sequence` next: all before it were sent, and it was not
  // released.
  bool was_sent(uint32_t sequence) const { return sequence - first_ <= ever_sent_ - first_; }

  uint32_t first_sequence() const { return first_; }
  uint64_t first_offset() const;
  uint32_t next_sequence() const { return next_; }

 private:
  SenderSlot& slot(uint32_t sequence) { return memory_.slots[sequence & (memory_.slot_count - 1)]; }
  const SenderSlot& slot(uint32_t sequence) const {
    return memory_.slots[sequence & (memory_.slot_count - 1)];
  }
  bool place_for(size_t bytes, uint32_t* at) const;
  bool open_frame(uint64_t now_us);
  void close_frame(bool end_of_message);
  bool push_record(FrameType type, const uint8_t* payload, uint32_t size);
  bool push_gap();
  void finish(const FrameHeader& header, uint32_t at);
  bool may_send(uint32_t sequence) const;
  void drop(size_t size);
  bool gap_is_over() const;
  size_t room(bool behind_gap) const;

  SenderMemory memory_;
  SenderOptions options_;
  uint32_t capacity_;  // of a frame: whole units
  bool from_host_ = false;
  uint32_t tag_ = 0;

  uint32_t first_ = 0;   // oldest that is not released
  uint32_t acked_ = 0;   // all before it arrived
  uint32_t unsent_ = 0;  // first that was not sent in this connection
  uint32_t ever_sent_ = 0;
  uint32_t next_ = 0;  // of the frame that is opened next, or is open
  uint32_t lost_ = 0;  // slots with lost
  uint32_t acked_order_ = 0;
  bool any_order_acked_ = false;
  uint64_t limit_ = 0;  // stream offset up to which credit reaches
  uint32_t window_ = 0;

  bool accepting_ = false;
  size_t head_ = 0;  // where the next frame goes
  bool open_ = false;
  uint32_t open_at_ = 0;
  uint32_t open_bytes_ = 0;
  uint64_t open_since_us_ = 0;
  uint64_t offset_ = 0;
  uint64_t pending_gap_ = 0;  // bytes lost at offset_ - pending_gap_
  bool ended_ = false;
  SenderCounters counters_;
};

}  // namespace millrace::link
