// SPDX-License-Identifier: Apache-2.0
// The ring holds whole frames as they go over the wire, header and CRC included, so that sending
// and sending again are a pointer and a length. A frame never wraps round the end of the ring: what
// does not fit there is left unused.
//
// Losses are found without timers. A serial link keeps the order, so a frame that was sent before
// one that arrived is lost; each transmission has a number for this. Frames sent more than once do
// not tell which copy arrived and are left out of it, as they are left out of round-trip times.
#include "millrace/link/stream_sender.h"

#include <string.h>

#include "millrace/link/bytes.h"

namespace millrace::link {
namespace {

constexpr size_t aligned(size_t n) { return (n + 3) & ~size_t{3}; }

// Bit by bit: a 64-bit division would need the compiler's library, and gaps are rare.
uint64_t divided(uint64_t value, uint32_t by) {
  uint64_t quotient = 0;
  uint64_t rest = 0;
  for (int bit = 63; bit >= 0; --bit) {
    rest = rest << 1 | (value >> bit & 1);
    if (rest < by) continue;
    rest -= by;
    quotient |= uint64_t{1} << bit;
  }
  return quotient;
}

}  // namespace

StreamSender::StreamSender(const SenderMemory& memory, const SenderOptions& options)
    : memory_(memory), options_(options) {
  capacity_ = options_.max_payload - options_.max_payload % options_.unit_bytes;
}

// --- The producer ---

bool StreamSender::place_for(size_t bytes, uint32_t* at) const {
  const size_t size = memory_.ring_bytes;
  if (first_ == next_) {
    *at = 0;
    return bytes <= size;
  }
  const size_t tail = slot(first_).at;
  if (head_ > tail) {
    if (size >= head_ && size - head_ >= bytes) {
      *at = static_cast<uint32_t>(head_);
      return true;
    }
    *at = 0;
    return tail >= bytes;
  }
  *at = static_cast<uint32_t>(head_);
  return tail - head_ >= bytes;  // head_ == tail: full
}

// An open frame counts whole: it may grow to that.
size_t StreamSender::used_bytes() const {
  if (first_ == next_) return open_ ? aligned(capacity_ + kLinkOverhead) : 0;
  const size_t tail = slot(first_).at;
  const size_t head = open_ ? open_at_ + aligned(capacity_ + kLinkOverhead) : head_;
  return head > tail ? head - tail : memory_.ring_bytes - tail + head;
}

// Room for payload, behind a gap record if there is to be one first.
size_t StreamSender::room(bool behind_gap) const {
  const size_t in_open = open_ ? capacity_ - open_bytes_ : 0;
  const uint32_t used_slots = next_ - first_ + (open_ ? 1 : 0) + (behind_gap ? 1 : 0);
  if (used_slots >= memory_.slot_count) return in_open;
  const size_t used =
      used_bytes() + (behind_gap ? aligned(GapRecord::kBytes + kLinkOverhead) : size_t{0});
  const size_t free = memory_.ring_bytes > used ? memory_.ring_bytes - used : 0;
  // A frame may be lost to the end of the ring.
  const size_t frames = free / aligned(capacity_ + kLinkOverhead);
  const size_t slots = memory_.slot_count - used_slots;
  const size_t whole = frames < slots ? frames : slots;
  if (first_ == next_ && !open_) return whole * capacity_;
  return in_open + (whole > 1 ? (whole - 1) * capacity_ : 0);
}

size_t StreamSender::free_bytes() const {
  if (ended_ || !accepting_) return 0;
  return room(pending_gap_ != 0);
}

bool StreamSender::open_frame(uint64_t now_us) {
  if (!accepting_ || ended_ || (pending_gap_ != 0 && !push_gap())) return false;
  if (next_ - first_ >= memory_.slot_count) return false;
  if (!place_for(capacity_ + kLinkOverhead, &open_at_)) return false;
  open_ = true;
  open_bytes_ = 0;
  open_since_us_ = now_us;
  return true;
}

void StreamSender::finish(const FrameHeader& header, uint32_t at) {
  finish_frame(header, tag_, memory_.ring + at);
  SenderSlot& s = slot(next_);
  s = SenderSlot();
  s.offset = offset_;
  s.at = at;
  s.bytes = static_cast<uint32_t>(header.frame_bytes());
  s.type = header.type;
  head_ = at + aligned(header.frame_bytes());
  ++next_;
  const size_t used = used_bytes();
  if (used > counters_.most_ring_bytes) counters_.most_ring_bytes = used;
}

void StreamSender::close_frame(bool end_of_message) {
  FrameHeader header;
  header.type = FrameType::data;
  header.stream = options_.stream;
  header.from_host = from_host_;
  header.end_of_message = end_of_message;
  header.sequence = next_;
  header.payload = open_bytes_;
  open_ = false;
  offset_ -= open_bytes_;
  header.offset = static_cast<uint32_t>(offset_);
  finish(header, open_at_);
  offset_ += open_bytes_;
}

bool StreamSender::push_record(FrameType type, const uint8_t* payload, uint32_t size) {
  uint32_t at = 0;
  if (next_ - first_ >= memory_.slot_count || !place_for(size + kLinkOverhead, &at)) return false;
  if (size > 0) memcpy(memory_.ring + at + kLinkHeaderBytes, payload, size);
  FrameHeader header;
  header.type = type;
  header.stream = options_.stream;
  header.from_host = from_host_;
  header.sequence = next_;
  header.offset = static_cast<uint32_t>(offset_);
  header.payload = size;
  finish(header, at);
  return true;
}

bool StreamSender::push_gap() {
  GapRecord record;
  record.offset = offset_ - pending_gap_;
  record.bytes = pending_gap_;
  record.first_unit = divided(record.offset, options_.unit_bytes);
  record.last_unit = divided(offset_, options_.unit_bytes) - 1;
  uint8_t payload[GapRecord::kBytes];
  const uint32_t size = static_cast<uint32_t>(encode(record, payload));
  offset_ -= pending_gap_;
  const bool pushed = push_record(FrameType::gap, payload, size);
  offset_ += pending_gap_;
  if (!pushed) return false;
  ++counters_.gaps;
  pending_gap_ = 0;
  return true;
}

uint8_t* StreamSender::reserve(size_t* size) {
  if (open_ && open_bytes_ == capacity_) close_frame(false);
  if (!open_ && !open_frame(0)) return nullptr;
  *size = capacity_ - open_bytes_;
  return memory_.ring + open_at_ + kLinkHeaderBytes + open_bytes_;
}

void StreamSender::commit(size_t size, uint64_t now_us) {
  if (!open_) return;  // a new session began in between
  if (open_bytes_ == 0) open_since_us_ = now_us;
  open_bytes_ += static_cast<uint32_t>(size);
  offset_ += size;
  counters_.payload_bytes += size;
}

size_t StreamSender::write(const uint8_t* data, size_t size, uint64_t now_us) {
  size -= size % options_.unit_bytes;
  size_t done = 0;
  while (done < size) {
    size_t room = 0;
    uint8_t* to = reserve(&room);
    if (to == nullptr) break;
    const size_t piece = size - done < room ? size - done : room;
    memcpy(to, data + done, piece);
    commit(piece, now_us);
    done += piece;
  }
  return done;
}

bool StreamSender::write_or_drop(const uint8_t* data, size_t size, uint64_t now_us) {
  if (!accepting_ || ended_) return false;
  if (pending_gap_ != 0 && !(gap_is_over() && room(true) >= size && push_gap())) {
    drop(size);
    return false;
  }
  if (free_bytes() < size) {
    if (open_ && open_bytes_ > 0) close_frame(false);
    open_ = false;
    drop(size);
    return false;
  }
  return write(data, size, now_us) == size;
}

bool StreamSender::gap_is_over() const {
  return memory_.ring_bytes - used_bytes() >= memory_.ring_bytes / 4;
}

void StreamSender::drop(size_t size) {
  pending_gap_ += size;
  offset_ += size;
  counters_.gap_bytes += size;
}

void StreamSender::end_of_message() {
  if (open_ && open_bytes_ > 0) close_frame(true);
}

bool StreamSender::end() {
  if (ended_ || !accepting_) return ended_;
  if (open_ && open_bytes_ > 0) close_frame(false);
  open_ = false;
  if (pending_gap_ != 0 && !push_gap()) return false;
  ended_ = push_record(FrameType::end, nullptr, 0);
  return ended_;
}

// --- The link ---

void StreamSender::reset(uint32_t sequence, uint64_t offset) {
  first_ = acked_ = unsent_ = ever_sent_ = next_ = sequence;
  lost_ = 0;
  head_ = 0;
  open_ = ended_ = false;
  offset_ = offset;
  pending_gap_ = 0;
  limit_ = offset;
  window_ = 0;
  accepting_ = true;
}

void StreamSender::close() {
  reset(next_, 0);
  accepting_ = false;
}

uint64_t StreamSender::first_offset() const {
  if (first_ != next_) return slot(first_).offset;
  return offset_ - (open_ ? open_bytes_ : 0) - pending_gap_;
}

bool StreamSender::fits(uint32_t peer_max_payload) const {
  return options_.max_payload <= peer_max_payload ||
         (first_ == next_ && !open_ && options_.unit_bytes <= peer_max_payload);
}

void StreamSender::reconnect(bool from_host, uint32_t tag, uint32_t peer_max_payload) {
  const uint32_t change = tag_ ^ tag;
  for (uint32_t sequence = first_; sequence != next_; ++sequence) {
    SenderSlot& s = slot(sequence);
    uint8_t* trailer = memory_.ring + s.at + s.bytes - kLinkTrailerBytes;
    store_le32(trailer, load_le32(trailer) ^ change);
    s.acked = s.lost = false;
    s.times_sent = 0;
  }
  tag_ = tag;
  from_host_ = from_host;
  acked_ = unsent_ = first_;
  lost_ = 0;
  any_order_acked_ = false;
  limit_ = first_offset();
  window_ = 0;
  if (first_ == next_ && !open_ && peer_max_payload < options_.max_payload) {
    options_.max_payload = peer_max_payload;
    capacity_ = options_.max_payload - options_.max_payload % options_.unit_bytes;
  }
}

bool StreamSender::age_due(uint64_t* due_us) const {
  if (!open_ || open_bytes_ == 0) return false;
  *due_us = open_since_us_ + options_.age_limit_us;
  return true;
}

void StreamSender::close_due(uint64_t now_us) {
  if (pending_gap_ != 0 && !open_ && gap_is_over()) push_gap();
  uint64_t due_us = 0;
  if (age_due(&due_us) && now_us >= due_us) close_frame(false);
}

bool StreamSender::may_send(uint32_t sequence) const {
  if (sequence - first_ >= window_) return false;
  const SenderSlot& s = slot(sequence);
  return s.type != FrameType::data || s.offset + (s.bytes - kLinkOverhead) <= limit_;
}

bool StreamSender::pick(uint32_t* sequence) const {
  if (lost_ > 0) {
    for (uint32_t at = acked_; at != unsent_; ++at) {
      if (!slot(at).lost) continue;
      *sequence = at;
      return true;
    }
  }
  if (unsent_ == next_ || !may_send(unsent_)) return false;
  *sequence = unsent_;
  return true;
}

const uint8_t* StreamSender::frame(uint32_t sequence, uint32_t* bytes) const {
  const SenderSlot& s = slot(sequence);
  *bytes = s.bytes;
  return memory_.ring + s.at;
}

size_t StreamSender::bytes_behind(uint32_t sequence, size_t limit) const {
  if (lost_ > 0 || (unsent_ != sequence && unsent_ != sequence + 1)) return 0;
  size_t bytes = 0;
  uint32_t end = slot(sequence).at + slot(sequence).bytes;
  for (uint32_t at = sequence + 1; at != next_ && bytes < limit && may_send(at); ++at) {
    if (slot(at).at != end) break;
    bytes += slot(at).bytes;
    end += slot(at).bytes;
  }
  return bytes;
}

void StreamSender::mark_sent(uint32_t sequence, uint32_t order, uint32_t now_us) {
  SenderSlot& s = slot(sequence);
  if (sequence == unsent_) {
    ++unsent_;
    if (wrapped_difference(unsent_, ever_sent_) > 0) {
      ever_sent_ = unsent_;
      ++counters_.frames;
    } else {
      ++counters_.frames_again;
      counters_.bytes_again += s.bytes;
    }
  } else {
    ++counters_.frames_again;
    counters_.bytes_again += s.bytes;
  }
  if (s.lost) {
    s.lost = false;
    --lost_;
  }
  if (s.times_sent < 255) ++s.times_sent;
  s.sent_order = order;
  s.sent_us = now_us;
}

AckEffect StreamSender::on_ack(const AckEntry& entry) {
  AckEffect effect;
  const uint32_t known = ever_sent_ - first_;
  if (wrapped_difference(entry.released, first_) < 0 || entry.next - first_ > known ||
      entry.released - first_ > entry.next - first_) {
    // Older than what is known already, or of what was never sent.
    if (wrapped_difference(entry.next, ever_sent_) > 0) ++counters_.bad_acks;
    return effect;
  }
  const auto arrived = [&](uint32_t sequence) {
    SenderSlot& s = slot(sequence);
    if (s.acked) return;
    s.acked = true;
    effect.progress = true;
    if (s.lost) {
      s.lost = false;
      --lost_;
    }
    if (s.times_sent != 1) return;
    if (!any_order_acked_ || wrapped_difference(s.sent_order, acked_order_) > 0) {
      acked_order_ = s.sent_order;
      any_order_acked_ = true;
      effect.has_sample = true;
      effect.sample_sent_us = s.sent_us;
    }
  };
  // After a reconnection the receiver may have more than was sent since.
  if (entry.next - first_ > unsent_ - first_) unsent_ = entry.next;
  if (entry.next - first_ > acked_ - first_) {
    for (uint32_t at = acked_; at != entry.next; ++at) arrived(at);
    acked_ = entry.next;
  }
  bool gap = false;
  for (uint32_t word = 0; word < entry.words; ++word) {
    for (uint32_t bits = entry.bitmap[word], i = 0; bits != 0; bits >>= 1, ++i) {
      const uint32_t sequence = entry.next + 1 + 32 * word + i;
      if ((bits & 1) == 0 || sequence - first_ >= unsent_ - first_) continue;
      gap = true;
      if (sequence - first_ >= acked_ - first_) arrived(sequence);
    }
  }
  effect.progress = effect.progress || entry.released != first_;
  first_ = entry.released;
  const uint64_t limit = first_offset() + entry.credit;
  if (limit > limit_) limit_ = limit;
  window_ = entry.window_frames < memory_.slot_count ? entry.window_frames : memory_.slot_count;
  if (gap && any_order_acked_) lose_before(acked_order_);
  return effect;
}

uint32_t StreamSender::lose_before(uint32_t order) {
  const uint32_t before = lost_;
  for (uint32_t at = acked_; at != unsent_; ++at) {
    SenderSlot& s = slot(at);
    if (s.acked || s.lost || wrapped_difference(s.sent_order, order) >= 0) continue;
    s.lost = true;
    ++lost_;
  }
  return lost_ - before;
}

bool StreamSender::waits() const { return first_ != next_; }

}  // namespace millrace::link
