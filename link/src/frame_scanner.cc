// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/frame_scanner.h"

#include <string.h>

#include "millrace/link/bytes.h"

namespace millrace::link {
namespace {

bool is_untagged(FrameType type) {
  return type == FrameType::hello || type == FrameType::welcome || type == FrameType::notice;
}

}  // namespace

FrameScanner::FrameScanner(uint8_t* buffer, size_t size, bool we_are_host)
    : buffer_(buffer), size_(size), max_payload_(kLinkMaxPayload), we_are_host_(we_are_host) {
  limit_payload(kLinkMaxPayload);
}

void FrameScanner::limit_payload(uint32_t payload) {
  const size_t room = size_ - kLinkOverhead;
  max_payload_ = payload < room ? payload : static_cast<uint32_t>(room);
}

uint8_t* FrameScanner::space(size_t* size) {
  if (begin_ == end_) begin_ = end_ = 0;
  // Moving is rare: what is left over is less than a frame.
  if (begin_ > 0 && size_ - end_ < size_ / 2) {
    memmove(buffer_, buffer_ + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  *size = size_ - end_;
  return buffer_ + end_;
}

void FrameScanner::received(size_t size) {
  end_ += size;
  counters_.bytes += size;
}

void FrameScanner::set_tag(uint32_t tag) {
  if (tag == tag_) return;
  for (size_t i = kKnownTags - 1; i > 0; --i) old_tags_[i] = old_tags_[i - 1];
  old_tags_[0] = tag_;
  tag_ = tag;
}

const uint8_t* FrameScanner::foreign(size_t* size) const {
  *size = foreign_size_;
  return foreign_;
}

// The trailer is the CRC with the tag on it, so its difference from the CRC is the tag, if nothing
// is damaged.
FrameScanner::Trailer FrameScanner::check(const uint8_t* frame, const FrameHeader& header) const {
  const uint32_t trailer = load_le32(frame + kLinkHeaderBytes + header.payload);
  const uint32_t tag = trailer ^ frame_crc(frame, header.payload);
  if (is_untagged(header.type)) return tag == 0 ? Trailer::right : Trailer::wrong;
  if (tag == 0) return Trailer::wrong;
  if (tag == tag_) return Trailer::right;
  for (const uint32_t old : old_tags_) {
    if (tag == old) return Trailer::old;
  }
  return Trailer::wrong;
}

void FrameScanner::skip(size_t size) {
  for (size_t i = 0; i < size && foreign_size_ < sizeof(foreign_); ++i) {
    foreign_[foreign_size_++] = buffer_[begin_ + i];
  }
  counters_.skipped_bytes += size;
  begin_ += size;
}

size_t FrameScanner::to_next_sync(size_t from) const {
  size_t at = from;
  while (at < end_ && buffer_[at] != kLinkSync0) ++at;
  return at;
}

bool FrameScanner::next(FrameView* out) {
  while (begin_ < end_) {
    const uint8_t* frame = buffer_ + begin_;
    FrameHeader header;
    const HeaderStatus status = parse_header(frame, end_ - begin_, &header);
    if (status == HeaderStatus::need_more) return false;
    if (status == HeaderStatus::other_version) {
      other_version_ = header_version(frame);
      ++counters_.other_version_headers;
    }
    if (status != HeaderStatus::complete) {
      skip(to_next_sync(begin_ + 1) - begin_);
      continue;
    }
    const bool is_data = header.type == FrameType::data;
    if (header.payload > max_payload_ && (is_data || header.frame_bytes() > size_)) {
      ++counters_.oversized_frames;
      skip(1);
      continue;
    }
    if (end_ - begin_ < header.frame_bytes()) return false;
    const Trailer trailer = check(frame, header);
    if (trailer == Trailer::wrong) {
      ++counters_.damaged_frames;
      skip(1);
      continue;
    }
    begin_ += header.frame_bytes();
    if (header.from_host == we_are_host_) {
      ++counters_.echoed_frames;
    } else if (trailer == Trailer::old) {
      ++counters_.old_frames;
    } else {
      ++counters_.frames;
      out->header = header;
      out->payload = frame + kLinkHeaderBytes;
      return true;
    }
  }
  return false;
}

bool FrameScanner::rescue() {
  FrameHeader header;
  for (size_t at = to_next_sync(begin_ + 1); at < end_; at = to_next_sync(at + 1)) {
    const uint8_t* frame = buffer_ + at;
    if (parse_header(frame, end_ - at, &header) != HeaderStatus::complete) continue;
    if (end_ - at < header.frame_bytes() || check(frame, header) != Trailer::right) continue;
    skip(at - begin_);
    return true;
  }
  return false;
}

}  // namespace millrace::link
