// SPDX-License-Identifier: Apache-2.0
// The stream is cut where any fault starts or ends; between two cuts all bytes are treated alike,
// so a plan with a few faults costs one copy.
#include "firmware/ports/pc/stream_mangler.h"

#include <algorithm>

namespace millrace::firmware {
namespace {

constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint64_t kLine = 32;
constexpr size_t kMaxPiece = 65536;

// Start of the occurrence of a fault that `at` is in or after, kNever before the first.
uint64_t last_start(uint64_t offset, uint64_t every, uint64_t at) {
  if (at < offset) return kNever;
  return every == 0 ? offset : offset + (at - offset) / every * every;
}

bool starts_at(uint64_t offset, uint64_t every, uint64_t at) {
  return last_start(offset, every, at) == at;
}

bool covers(const FaultSpan& span, uint64_t at) {
  const uint64_t start = last_start(span.offset, span.every, at);
  return start != kNever && at - start < span.length;
}

// The next place behind `at` where the fault starts or ends.
uint64_t next_edge(uint64_t offset, uint64_t every, uint64_t length, uint64_t at) {
  const uint64_t start = last_start(offset, every, at);
  if (start == kNever) return offset;
  if (at - start < length) return start + length;
  return every == 0 ? kNever : start + every;
}

// Which bit of the byte at `at` is flipped: any, but the same in every run.
uint8_t flip_mask(uint64_t at) {
  return static_cast<uint8_t>(1u << ((at * 0x9e3779b97f4a7c15u) >> 61));
}

}  // namespace

StreamMangler::StreamMangler(const FaultPlan& plan) : plan_(plan) {
  alters_ = !plan.drops.empty() || !plan.flips.empty() || !plan.dups.empty() ||
            !plan.inserts.empty() || !plan.stales.empty() || plan.mangle.any();
  uint64_t needed = 0;
  for (const FaultSpan& dup : plan.dups) needed = std::max(needed, dup.length);
  for (const FaultStale& stale : plan.stales) needed = std::max(needed, stale.lag);
  if (needed == 0) return;
  size_t size = kMaxPiece;
  while (size < needed + kMaxPiece) size *= 2;
  history_.resize(size);
}

uint64_t StreamMangler::uniform_bytes() const {
  uint64_t edge = kNever;
  const auto consider = [&](uint64_t offset, uint64_t every, uint64_t length) {
    edge = std::min(edge, next_edge(offset, every, length, offset_));
  };
  for (const FaultSpan& span : plan_.drops) consider(span.offset, span.every, span.length);
  for (const FaultSpan& span : plan_.flips) consider(span.offset, span.every, span.length);
  for (const FaultSpan& span : plan_.dups) consider(span.offset, span.every, span.length);
  for (const FaultInsert& insert : plan_.inserts) consider(insert.offset, insert.every, 0);
  for (const FaultStale& stale : plan_.stales) consider(stale.offset, 0, stale.lines * kLine);
  return edge == kNever ? kNever : edge - offset_;
}

void StreamMangler::feed(const uint8_t* data, size_t size, std::vector<uint8_t>* out) {
  while (size > 0) {
    start_events(out);
    const uint64_t uniform = std::min<uint64_t>(uniform_bytes(), kMaxPiece);
    const size_t piece = static_cast<size_t>(std::min<uint64_t>(size, uniform));
    if (!history_.empty()) {
      for (size_t i = 0; i < piece; ++i) {
        history_[(offset_ + i) & (history_.size() - 1)] = data[i];
      }
    }
    emit(data, piece, out);
    offset_ += piece;
    data += piece;
    size -= piece;
    end_events(out);
  }
}

void StreamMangler::start_events(std::vector<uint8_t>* out) {
  for (const FaultInsert& insert : plan_.inserts) {
    if (starts_at(insert.offset, insert.every, offset_)) {
      out->insert(out->end(), insert.bytes.begin(), insert.bytes.end());
    }
  }
}

void StreamMangler::end_events(std::vector<uint8_t>* out) {
  for (const FaultSpan& dup : plan_.dups) {
    if (offset_ < dup.length || !starts_at(dup.offset, dup.every, offset_ - dup.length)) continue;
    for (uint64_t at = offset_ - dup.length; at < offset_; ++at) out->push_back(past(at));
  }
}

void StreamMangler::emit(const uint8_t* data, size_t size, std::vector<uint8_t>* out) const {
  for (const FaultSpan& drop : plan_.drops) {
    if (covers(drop, offset_)) return;
  }
  const size_t first = out->size();
  out->insert(out->end(), data, data + size);
  for (const FaultStale& stale : plan_.stales) {
    if (offset_ < stale.offset || offset_ >= stale.offset + stale.lines * kLine) continue;
    for (size_t i = 0; i < size; ++i) (*out)[first + i] = past(offset_ + i - stale.lag);
  }
  for (const FaultSpan& flip : plan_.flips) {
    if (!covers(flip, offset_)) continue;
    for (size_t i = 0; i < size; ++i) (*out)[first + i] ^= flip_mask(offset_ + i);
  }
  if (!plan_.mangle.any()) return;
  size_t kept = first;
  for (size_t i = first; i < out->size(); ++i) {
    uint8_t byte = (*out)[i];
    if (plan_.mangle.istrip) byte &= 0x7f;
    if (plan_.mangle.igncr && byte == 0x0d) continue;
    if (plan_.mangle.icrnl && byte == 0x0d) byte = 0x0a;
    if (plan_.mangle.ixon && (byte == 0x11 || byte == 0x13)) continue;
    (*out)[kept++] = byte;
  }
  out->resize(kept);
}

}  // namespace millrace::firmware
