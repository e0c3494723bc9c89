// SPDX-License-Identifier: Apache-2.0
// What it means that the stream goes on at a place: the transitions between normal, behind and
// ahead (essay in stream_verifier.cc). F foreign bytes stood between the place p where the stream
// stood and the place q where it goes on:
//   q = p      F bytes were inserted, or the last F bytes came again
//   q - p = F  the bytes were damaged in place
//   q > p      lost (F = 0) or mixed; far jumps are held until they can be told from stale bytes
//   q < p      a piece comes again; the F bytes before it were inserted
#include <string.h>

#include "millrace/link/stream_verifier.h"
#include "resync.h"
#include "verifier_limits.h"
#include "verifier_resync.h"

namespace millrace::link {
namespace {

// Fewer repeated bytes than this are called inserted: they may be equal by chance.
constexpr size_t kLeastRepeated = 4;

// How many of `size` (<= kLineBytes) stream bytes at two places are the same before one differs.
size_t equal_bytes(StreamCursor a, StreamCursor b, size_t size) {
  uint8_t bytes[kLineBytes];
  a.read(bytes, size);
  return b.match(bytes, size);
}

}  // namespace

void StreamVerifier::resync(const Resync& found) {
  const uint64_t q = found.stream.offset();
  if (place_ == Place::behind && q == at_.offset()) {
    // Foreign bytes within the piece that comes again.
    note_foreign(found.index);
    report_foreign(FaultKind::inserted, 0);
  } else {
    if (place_ == Place::behind && !settle_stale_in_place(found)) {
      settle_behind(q >= high_.offset() ? FaultKind::stale : FaultKind::duplicated);
    } else if (place_ == Place::ahead) {
      settle_ahead(q < high_.offset() || q >= segment_start_);
    }
    go_on(found);
  }
  at_ = found.stream;
  consume(found.index);
  begin_fault();
  matched_run_ = 0;
  replay_ = true;
}

// From the normal place.
void StreamVerifier::go_on(const Resync& found) {
  const uint64_t p = at_.offset();
  const uint64_t q = found.stream.offset();
  const uint64_t foreign = foreign_ + found.index;
  if (foreign > 0 && q - p == foreign && foreign_ == 0) {
    report_damage(at_, window_, found.index);
    return;
  }
  note_foreign(found.index);
  if (q == p) {
    if (repeats_last_bytes(found.index)) {
      StreamCursor source = at_;
      source.rewind(foreign);
      Fault fault = fault_at(FaultKind::duplicated, at_);
      fault.length = foreign;
      fault.source_offset = source.offset();
      report(&fault);
    } else if (foreign > 0) {
      report_foreign(FaultKind::inserted, 0);
    }
  } else if (q < p) {
    if (foreign > 0) report_foreign(FaultKind::inserted, 0);
    jump(Place::behind, found);
  } else if (q - p == foreign) {
    report_foreign(FaultKind::replaced, q - p);
  } else if (q - p >= kSureJump || q > end_) {
    jump(Place::ahead, found);
  } else if (foreign == 0) {
    report_lost(at_, found.stream);
  } else if (foreign > 32 || q - p > 32 ||
             !report_alignment(found.index, static_cast<size_t>(q - p))) {
    report_foreign(FaultKind::mixed, q - p);
  }
}

void StreamVerifier::jump(Place place, const Resync& found) {
  high_ = at_;
  place_ = place;
  segment_start_ = found.stream.offset();
  held_message_bytes_ = 0;
  held_ = fault_at(FaultKind::duplicated, at_);
  if (place == Place::behind) return;
  const uint64_t foreign = foreign_;
  held_.kind = foreign == 0 ? FaultKind::lost : FaultKind::mixed;
  held_.length = segment_start_ - at_.offset();
  held_.received_length = foreign;
  if (foreign > 0) {
    held_.is_text = foreign_is_text_;
    held_.sample_size = sample_size_;
    memcpy(held_.received, sample_, sample_size_);
  } else {
    StreamCursor reader = at_;
    reader.read(held_.expected, sizeof(held_.expected));
    reader = found.stream;
    reader.read(held_.received, sizeof(held_.received));
  }
}

// The piece from behind ends; the stream goes on where it stood.
void StreamVerifier::settle_behind(FaultKind kind) {
  held_.kind = kind;
  held_.length = at_.offset() - segment_start_;
  held_.source_offset = segment_start_;
  place_ = Place::normal;
  at_ = high_;
  if (held_.length > 0) report(&held_);
}

// The piece from ahead was the stream going on behind a loss, or it was stale.
void StreamVerifier::settle_ahead(bool lost) {
  const uint64_t piece = at_.offset() - segment_start_;
  place_ = Place::normal;
  // What is not within the run can only be stale.
  if (lost && segment_start_ < end_ && at_.offset() <= end_) {
    if (held_.kind == FaultKind::lost) {
      uint64_t size = sizeof(held_.received);
      if (size > held_.length) size = held_.length;
      if (size > piece) size = piece;
      held_.sample_size = static_cast<uint8_t>(size);
    }
    totals_.verified_bytes += piece;
    message_bytes_before_ += held_message_bytes_;
    report(&held_);
    return;
  }
  at_ = high_;
  if (held_.received_length > 0) {
    Fault inserted = held_;
    inserted.kind = FaultKind::inserted;
    inserted.length = held_.received_length;
    report(&inserted);
  }
  Fault stale = fault_at(FaultKind::stale, high_);
  stale.wire_offset = held_.wire_offset;
  stale.length = piece;
  stale.source_offset = segment_start_;
  if (piece > 0) report(&stale);
}

// A piece of older data stood in the place of as many bytes: whole cache lines, if bytes at both
// ends may be equal to the stream by chance.
bool StreamVerifier::settle_stale_in_place(const Resync& found) {
  const uint64_t piece = at_.offset() - segment_start_;
  if (found.index + foreign_ > 0 || found.stream.offset() != high_.offset() + piece) return false;
  const uint32_t lead = static_cast<uint32_t>(held_.wire_offset) % kLineBytes;
  if (lead > segment_start_ || piece < kLeastLineBytes) return false;
  StreamCursor first = high_;
  first.rewind(lead);
  StreamCursor source = at_;
  source.rewind(piece + lead);
  if (equal_bytes(first, source, lead) != lead) return false;

  // The piece ends with its last byte that differs from the stream.
  uint64_t differing = piece;
  StreamCursor last = found.stream;
  StreamCursor source_last = at_;
  do {
    last.rewind(1);
    source_last.rewind(1);
    if (equal_bytes(last, source_last, 1) == 0) break;
  } while (--differing > 1);
  const uint32_t over = static_cast<uint32_t>(lead + differing) % kLineBytes;
  const uint64_t length = lead + differing + (kLineBytes - over) % kLineBytes;
  if (length > lead + piece) {
    const size_t tail = static_cast<size_t>(length - lead - piece);
    if (equal_bytes(found.stream, at_, tail) != tail) return false;
  }

  totals_.verified_bytes += piece - differing;
  place_ = Place::normal;
  Fault fault = fault_at(FaultKind::stale_lines, first);
  fault.wire_offset = held_.wire_offset - lead;
  fault.length = length;
  fault.received_length = differing;
  fault.source_offset = segment_start_ - lead;
  fault.sample_size = length < 64 ? static_cast<uint8_t>(length) : uint8_t{64};
  first.read(fault.expected, fault.sample_size);
  source.read(fault.received, fault.sample_size);
  report(&fault);
  at_ = found.stream;
  return true;
}

// Takes the front of the window for bytes that are not of the stream, or damaged.
void StreamVerifier::note_foreign(size_t size) {
  if (size == 0) return;
  for (size_t i = 0; i < size && sample_size_ < sizeof(sample_); ++i) {
    sample_[sample_size_++] = window_[i];
  }
  for (size_t i = 0; i < size && foreign_is_text_; ++i) foreign_is_text_ = is_text(window_[i]);
  if (foreign_ == 0) in_place_ = at_;
  foreign_bits_ += differing_bits(window_, size, in_place_);
  in_place_.skip(size);
  foreign_ += size;
}

bool StreamVerifier::repeats_last_bytes(size_t size) const {
  if (foreign_ != size || size < kLeastRepeated || at_.offset() < size) return false;
  StreamCursor source = at_;
  source.rewind(size);
  return source.match(window_, size) == size;
}

}  // namespace millrace::link
