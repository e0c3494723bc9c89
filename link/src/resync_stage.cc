// SPDX-License-Identifier: Apache-2.0
// The stages of the search, smallest window and nearest places first.
//   0, 1  up to 2, then 16 bytes lost, inserted or damaged; the return to where the stream stood
//   2..   damage in place; every place within 504 bytes (a hash table); then both ways through the
//         stream: 4 KB with 64 bytes received, 16 KB with 128, ... 4 MB with 1,024, and
//         limits.search_bytes with a full window.
// While foreign bytes go on, the k-th further window (1,536 bytes each) is looked for within 8 KB
// times the largest power of 2 that divides k. Places within r bytes are thus looked at once every
// 3/8 r bytes: often enough that the stream, which moves on while nobody has found it, cannot stay
// ahead of the search. Far searches, here and across faults, draw on a credit that received bytes
// earn, so that the work per received byte stays bounded; the end of more than 2 KB of foreign
// bytes may be noticed late.
#include "millrace/link/stream_verifier.h"
#include "resync.h"
#include "verifier_limits.h"
#include "verifier_resync.h"

namespace millrace::link {
namespace {

constexpr uint64_t kFreeRadius = 65536;
constexpr uint64_t kLeastSourceRadius = 4096;
// How near the stream is looked for after dropped bytes: a sparse table makes a miss cheap.
constexpr size_t kFloodBytes = 128;
// With 512 bytes, so that a burst of flipped bits up to that length is one fault.
constexpr size_t kBitStage = 5;

uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

}  // namespace

// Examines the first `size` bytes of the window; resynchronises and returns true on success.
bool StreamVerifier::run_stage(size_t stage, size_t size) {
  Resync found{0, at_};
  bool ok = search_return(size, &found);
  if (!ok && stage < 2) {
    if (foreign_ > 0) return false;
    const size_t most = stage == 0 ? 2 : 16;
    read_expected(at_, most + kMiddleKey);
    const LocalMatch match =
        find_nearest(window_, size, expected_, expected_size_, stage == 0 ? 1 : 3, most);
    ok = match.index != kNowhere;
    if (ok) {
      found.index = match.index;
      found.stream.skip(match.skip);
      if (match.index != match.skip && !is_alignment(match.index, match.skip)) {
        search_source(match.index, &found);
      }
    }
  } else if (!ok) {
    ok = search_local(stage, size, &found) || search_far(size, stage_radius(stage), &found);
  }
  if (ok) resync(found);
  return ok;
}

// Stream bytes behind `cursor` that this run can have.
uint64_t StreamVerifier::available(const StreamCursor& cursor) const {
  if (place_ == Place::ahead && at_.offset() >= end_) return ~uint64_t{0};
  return cursor.offset() < end_ ? end_ - cursor.offset() : 0;
}

void StreamVerifier::read_expected(const StreamCursor& from, size_t size) {
  expected_size_ = static_cast<size_t>(smaller(size, available(from)));
  StreamCursor reader = from;
  reader.read(expected_, expected_size_);
}

// A piece from elsewhere ends, and the stream goes on where it stood, or as if the piece had taken
// the place of its bytes.
bool StreamVerifier::search_return(size_t size, Resync* out) {
  if (place_ == Place::normal || foreign_ > 0 || size < kMiddleKey) return false;
  StreamCursor reader = high_;
  if (available(high_) >= kMiddleKey && reader.match(window_, kMiddleKey) == kMiddleKey) {
    *out = Resync{0, high_};
    return true;
  }
  const uint64_t piece = at_.offset() - segment_start_;
  if (place_ != Place::behind || piece > kOlderBytes) return false;
  StreamCursor behind_piece = high_;
  behind_piece.skip(piece);
  reader = behind_piece;
  if (available(behind_piece) < kMiddleKey || reader.match(window_, kMiddleKey) != kMiddleKey) {
    return false;
  }
  *out = Resync{0, behind_piece};
  return true;
}

bool StreamVerifier::search_local(size_t stage, size_t size, Resync* out) {
  const size_t first = foreign_ > 0 && searched_ < size ? searched_ : 0;
  const uint8_t* const window = window_ + first;
  size_t index = kNowhere;
  StreamCursor in_place = foreign_ == 0 ? at_ : in_place_;
  in_place.skip(first);
  const size_t key = foreign_ == 0 ? kShortKey : kLocalKey;
  const size_t same = find_in_place(window, size - first, in_place, available(in_place), key);
  if (same != kNowhere) {
    index = same;
    out->stream = in_place;
    out->stream.skip(same);
  }
  const StreamCursor* const anchors[2] = {&at_, &high_};
  for (size_t i = 0; i < (place_ == Place::normal ? 1 : 2); ++i) {
    read_expected(*anchors[i], (foreign_ == 0 ? kLocalBytes : kFloodBytes) + kLocalKey);
    const LocalMatch match = find_among(window, size - first, expected_, expected_size_, slots_);
    if (match.index >= index) continue;
    index = match.index;
    out->stream = *anchors[i];
    out->stream.skip(match.skip);
  }
  if (index != kNowhere) index += first;
  out->index = index;
  if (index == kNowhere) {
    // A line that drops one bit of every byte leaves few bytes equal, but most bits.
    const size_t bits = 8 * size;
    if (foreign_ > 0 || stage < kBitStage || size < 64 || size > available(at_) ||
        differing_bits(window_, size, at_) > bits / 4) {
      return false;
    }
    *out = Resync{size, at_};
    out->stream.skip(size);
    return true;
  }
  const bool damaged = out->stream.offset() == at_.offset() + foreign_ + index;
  if (!damaged && foreign_ == 0 && !is_alignment(index, out->stream.offset() - at_.offset())) {
    search_source(index, out);
  }
  return true;
}

// The first `size` window bytes are foreign, unless they are bytes of the stream from elsewhere.
void StreamVerifier::search_source(size_t size, Resync* out) {
  if (size < kLocalKey) return;
  const size_t key = size < kFarKey ? size : kFarKey;
  bool text = true;
  for (size_t i = 0; i < key && text; ++i) text = is_text(window_[i]);
  if (text) return;
  const uint64_t radius = smaller(limits_.search_bytes, search_credit_ / 2);
  if (radius < kLeastSourceRadius) return;
  FarSearch search{window_, size, key, 1, 0, 0};
  FarMatch match{0, at_};
  if (look_far(&search, stood(), radius, &match)) *out = Resync{0, match.stream};
}

bool StreamVerifier::search_far(size_t size, uint64_t radius, Resync* out) {
  if (size < kLeastFarKey) return false;
  FarSearch search{window_, size, size < kFarKey ? kLeastFarKey : kFarKey, 0, 0, 0};
  FarMatch match{0, at_};
  bool found = look_far(&search, stood(), radius, &match);
  if (!found && place_ != Place::normal) {
    found = look_far(&search, at_, smaller(radius, kFreeRadius), &match);
  }
  if (!found) return false;
  const uint64_t offset = match.stream.offset();
  uint64_t floor = 0;
  if (stood().offset() <= offset) floor = stood().offset();
  if (at_.offset() <= offset && at_.offset() > floor) floor = at_.offset();
  extend_back(window_, floor, &match);
  *out = Resync{match.index, match.stream};
  if (foreign_ == 0) search_source(match.index, out);
  return true;
}

bool StreamVerifier::look_far(FarSearch* search, const StreamCursor& origin, uint64_t radius,
                              FarMatch* out) {
  if (radius > kFreeRadius) {
    radius = smaller(radius, search_credit_ / 2);
    if (radius < kFreeRadius) radius = kFreeRadius;
  }
  // Only before the first byte of the run can there be bytes from behind its end: those of a longer
  // run before it.
  const uint64_t stood_at = stood().offset();
  search->forward_bytes = stood_at == start_ ? radius : smaller(radius, end_ - stood_at);
  // After that many foreign bytes hardly anything comes again.
  search->backward_bytes = smaller(foreign_ > 0 ? 4096 : radius, origin.offset());
  uint64_t looked_through = 0;
  const bool found = find_far(*search, origin, scratch(), out, &looked_through);
  search_credit_ -= smaller(looked_through, search_credit_);
  return found;
}

uint64_t StreamVerifier::stage_radius(size_t stage) {
  if (foreign_ == 0) {
    constexpr uint64_t kRadius[kStages] = {0, 0, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 22, 0};
    if (stage + 1 < kStages) return smaller(kRadius[stage], limits_.search_bytes);
    return limits_.search_bytes;
  }
  uint64_t radius = 8192;
  for (uint64_t k = slides_; (k & 1) == 0 && radius < limits_.search_bytes; k >>= 1) radius *= 2;
  return smaller(radius, limits_.search_bytes);
}

}  // namespace millrace::link
