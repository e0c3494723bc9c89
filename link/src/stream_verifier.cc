// SPDX-License-Identifier: Apache-2.0
// Received bytes are compared with the generated stream as they come. That is all there is to it
// until the first byte differs; from then on bytes go through a window of 2,048 until it is known
// where the stream goes on. The window is examined when it has reached certain sizes (kStageBytes),
// each time with a search that looks further (resync_stage.cc), so that a damaged byte is settled
// after a few more bytes and a loss of megabytes after a full window; and because only these sizes
// count, cutting the input differently changes no result. Foreign bytes are dropped from the front
// of a full window; the last 512 stay.
//
// Control messages are transparent: wherever a complete one stands in the window, it is delivered
// and taken out as if it had never been there. As the stream has no marks, a message can begin with
// bytes that happen to be what the stream would have had (one byte in 256): look_back_for_sync()
// takes these back.
//
// The place where the stream goes on is normal, behind the place where it stood (bytes come again,
// or are stale) or ahead of it (bytes are lost, or these are stale). Which of the two it was shows
// later: a piece from behind that runs on into the place where the stream stood was duplicated, one
// that ends before that was stale; a piece from ahead that goes on for kHoldBytes was a loss, one
// that ends with a return to where the stream stood was stale. At the very start, where the bytes
// of an earlier run come first, a piece from ahead may be as long as what a kernel buffers. A jump
// of less than kSureJump bytes ahead is always a loss: a tty that eats single bytes makes one every
// hundred bytes, and no buffer returns stale data from so near.
#include "millrace/link/stream_verifier.h"

#include <string.h>

#include "millrace/link/bytes.h"
#include "resync.h"
#include "verifier_limits.h"

namespace millrace::link {
namespace {

uint64_t first_credit(const VerifierLimits& limits) { return 8 * limits.search_bytes; }

}  // namespace

StreamVerifier::StreamVerifier(const StreamShape& shape, const VerifierSink& sink,
                               const VerifierLimits& limits)
    : StreamVerifier(shape, StreamCursor(shape), sink, limits) {}

StreamVerifier::StreamVerifier(const StreamShape& shape, const StreamCursor& start,
                               const VerifierSink& sink, const VerifierLimits& limits)
    : shape_(shape),
      sink_(sink),
      limits_(limits),
      start_(start.offset()),
      end_(shape.size_bytes()),
      at_(start),
      high_(start),
      in_place_(start),
      looked_back_at_(~uint64_t{0}),
      search_credit_(first_credit(limits)) {}

uint64_t StreamVerifier::accounted_bytes() const {
  const uint64_t offset = stood().offset();
  return offset > accounted_floor_ ? offset : accounted_floor_;
}

uint64_t StreamVerifier::frames_complete() const {
  const uint64_t frames = stood().frame();
  return frames > frames_floor_ ? frames : frames_floor_;
}

void StreamVerifier::feed(const uint8_t* data, size_t size) {
  count_received(size);
  for (;;) {
    if (window_size_ == 0 && foreign_ == 0) {
      const size_t equal = clean(data, size);
      data += equal;
      size -= equal;
      if (size == 0) return;
      begin_fault();
    }
    const size_t room = wanted() - window_size_;
    const size_t step = size < room ? size : room;
    if (step > 0) memcpy(window_ + window_size_, data, step);
    window_size_ += step;
    data += step;
    size -= step;
    while (process_window(false)) {
    }
    if (size == 0) return;
  }
}

size_t StreamVerifier::feed_matching(const uint8_t* data, size_t size) {
  if (window_size_ > 0 || foreign_ > 0) return 0;
  const size_t equal = clean(data, size);
  count_received(equal);
  return equal;
}

void StreamVerifier::count_received(size_t size) {
  totals_.received_bytes += size;
  search_credit_ += uint64_t{kCreditPerByte} * size;
  if (search_credit_ > first_credit(limits_)) search_credit_ = first_credit(limits_);
}

void StreamVerifier::settle() {
  decide_window(false);
  if (window_size_ > 0 && !hold_ && decide_rest(false)) decide_window(false);
  if (window_size_ + foreign_ == 0) decide_place(false);
}

void StreamVerifier::finish() {
  do {
    decide_window(true);
  } while (window_size_ + foreign_ > 0 && decide_rest(true));
  decide_place(true);
  if (at_.offset() >= end_) return;
  Fault fault = fault_at(FaultKind::missing_tail, at_);
  fault.length = end_ - at_.offset();
  report(&fault);
}

// Compares with the stream; returns how many bytes of `data` were equal.
size_t StreamVerifier::clean(const uint8_t* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const uint64_t limit = clean_limit();
    if (limit == 0) break;
    const size_t left = size - done;
    const size_t step = limit < left ? static_cast<size_t>(limit) : left;
    const size_t equal = at_.match(data + done, step);
    if (place_ == Place::normal) totals_.verified_bytes += equal;
    matched_run_ += equal;
    done += equal;
    if (equal == limit) reach_limit();
    if (equal < step) break;
  }
  return done;
}

// Stream bytes after which something is decided.
uint64_t StreamVerifier::clean_limit() const {
  const uint64_t offset = at_.offset();
  if (place_ == Place::normal) return offset < end_ ? end_ - offset : 0;
  if (place_ == Place::behind) return high_.offset() - offset;
  // A piece from behind the end of the run is nothing that could be lost.
  if (segment_start_ >= end_) return ~uint64_t{0};
  const bool at_start = high_.offset() == start_;
  const uint64_t held = (at_start ? kHoldBytesAtStart : kHoldBytes) - (offset - segment_start_);
  if (at_start || held < end_ - offset) return held;
  return end_ - offset;
}

void StreamVerifier::reach_limit() {
  if (place_ == Place::behind) {
    settle_behind(FaultKind::duplicated);
  } else if (place_ == Place::ahead) {
    settle_ahead(true);
  } else {
    return;
  }
  matched_run_ = 0;
}

void StreamVerifier::begin_fault() {
  stage_ = 0;
  scanned_ = 0;
  searched_ = 0;
  sample_size_ = 0;
  foreign_ = 0;
  foreign_bits_ = 0;
  foreign_is_text_ = true;
  slides_ = 0;
  hold_ = false;
  looked_back_ = false;
}

// The window size at which there is something new to do.
size_t StreamVerifier::wanted() const {
  if (hold_) {
    // Not beyond the byte that may show that it is no message.
    if (window_size_ < kMessageHeaderBytes) return window_size_ + 1;
    const size_t whole = load_le16(window_ + 6) + kMessageOverhead;
    return window_size_ < whole ? whole : window_size_ + 1;
  }
  size_t size = kStageBytes[stage_];
  // The end of the run is looked at by itself, whatever follows it.
  if (place_ == Place::normal && foreign_ == 0 && end_ - at_.offset() < size &&
      end_ - at_.offset() > window_size_) {
    size = static_cast<size_t>(end_ - at_.offset());
  }
  return size;
}

// True when something was decided and there may be more to decide.
bool StreamVerifier::process_window(bool last) {
  if (window_size_ == 0) return false;
  if (replay_) {
    replay_ = false;
    consume(clean(window_, window_size_));
    if (window_size_ == 0) return false;
    begin_fault();
  }
  if (take_message(last)) return true;
  if (hold_) return false;
  while (window_size_ >= kStageBytes[stage_]) {
    if (run_stage(stage_, kStageBytes[stage_])) return true;
    if (stage_ + size_t{1} == kStages) {
      slide();
      return true;
    }
    ++stage_;
  }
  return place_ == Place::normal && foreign_ == 0 && window_size_ >= 2 &&
         window_size_ == end_ - at_.offset() && accept_damaged_end();
}

// Delivers the first complete message of the window and takes it out.
bool StreamVerifier::take_message(bool last) {
  hold_ = false;
  if (sink_.on_message == nullptr) return false;
  if (look_back_for_sync()) looked_back_ = true;
  size_t open = window_size_;  // the first place where a message may begin
  for (size_t i = scanned_; i < window_size_; ++i) {
    if (window_[i] != kMessageSync[0]) continue;
    Message message;
    const ParseStatus status = parse_message(window_ + i, window_size_ - i, &message);
    if (status == ParseStatus::need_more) {
      if (i < open) open = i;
      continue;
    }
    if (status == ParseStatus::not_one) continue;
    const uint32_t size = static_cast<uint32_t>(message.total_size);
    totals_.message_bytes += size;
    sink_.on_message(sink_.context, message);
    window_size_ -= size;
    memmove(window_ + i, window_ + i + size, window_size_ - i);
    remember_removed(i, size);
    scanned_ = i;
    if (searched_ + kLocalKey > i) searched_ = i > kLocalKey ? i - kLocalKey : 0;
    if (i == 0) {
      matched_run_ = 0;
      looked_back_ = false;
      looked_back_at_ = ~uint64_t{0};
    }
    if (foreign_ == 0) {
      stage_ = 0;
      replay_ = i == 0;
    }
    return true;
  }
  scanned_ = open;
  hold_ = open == 0 && !last;
  if (looked_back_ && !hold_) {
    // No message: these bytes were the stream's after all.
    looked_back_ = false;
    replay_ = true;
    return true;
  }
  return false;
}

// If the last matched bytes and the window together begin a message, moves these bytes back.
bool StreamVerifier::look_back_for_sync() {
  for (size_t k = 1; k < sizeof(kMessageSync); ++k) {
    if (looked_back_at_ == at_.offset() || foreign_ > 0 || matched_run_ < k) return false;
    if (window_[0] != kMessageSync[k]) continue;
    StreamCursor before = at_;
    before.rewind(k);
    StreamCursor reader = before;
    if (reader.match(kMessageSync, k) != k) continue;
    accounted_floor_ = accounted_bytes();
    frames_floor_ = frames_complete();
    looked_back_at_ = at_.offset();
    matched_run_ = 0;
    at_ = before;
    if (place_ == Place::normal) totals_.verified_bytes -= k;
    memmove(window_ + k, window_, window_size_);
    memcpy(window_, kMessageSync, k);
    window_size_ += k;
    for (size_t i = 0; i < removed_count_; ++i) {
      removed_[i].index = static_cast<uint16_t>(removed_[i].index + k);
    }
    scanned_ = 0;
    return true;
  }
  return false;
}

void StreamVerifier::remember_removed(size_t index, uint32_t size) {
  if (index == 0) {
    count_message_bytes(size);
  } else if (removed_count_ < kMaxRemoved) {
    removed_[removed_count_++] = Removed{static_cast<uint16_t>(index), static_cast<uint16_t>(size)};
  } else {
    Removed& last = removed_[kMaxRemoved - 1];
    last.size = static_cast<uint16_t>(last.size + size);
  }
}

// Only messages behind the first stream byte shift what follows on the wire: the device starts a
// new transfer for offset 0.
void StreamVerifier::count_message_bytes(uint32_t size) {
  if (stood().offset() > start_) {
    message_bytes_before_ += size;
  } else if (place_ == Place::ahead) {
    held_message_bytes_ += size;
  }
}

// Drops the front of the window.
void StreamVerifier::consume(size_t size) {
  window_size_ -= size;
  memmove(window_, window_ + size, window_size_);
  scanned_ = scanned_ > size ? scanned_ - size : 0;
  searched_ = searched_ > size ? searched_ - size : 0;
  size_t kept = 0;
  for (size_t i = 0; i < removed_count_; ++i) {
    if (removed_[i].index <= size) {
      count_message_bytes(removed_[i].size);
    } else {
      removed_[kept++] = Removed{static_cast<uint16_t>(removed_[i].index - size), removed_[i].size};
    }
  }
  removed_count_ = static_cast<uint8_t>(kept);
}

void StreamVerifier::slide() {
  searched_ = window_size_ - kLocalKey;
  note_foreign(window_size_ - kKeptBytes);
  consume(window_size_ - kKeptBytes);
  ++slides_;
}

// Runs every stage on what is there.
void StreamVerifier::decide_window(bool last) {
  for (;;) {
    while (process_window(last)) {
    }
    if (window_size_ == 0 || hold_) return;
    bool found = false;
    for (size_t stage = stage_; stage < kStages && !found; ++stage) {
      found = run_stage(stage, window_size_);
    }
    if (!found) return;
  }
}

}  // namespace millrace::link
