// SPDX-License-Identifier: Apache-2.0
// Finds the frames of spec/link_protocol.md in what a port delivers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/link/link_frame.h"

namespace millrace::link {

struct ScannerCounters {
  uint64_t bytes = 0;             // all that came
  uint64_t frames = 0;            // intact and of this connection
  uint64_t skipped_bytes = 0;     // of no intact frame
  uint64_t damaged_frames = 0;    // right header, wrong CRC
  uint64_t oversized_frames = 0;  // right header, more payload than was agreed on
  uint64_t old_frames = 0;        // intact, of an earlier connection: left over or replayed
  uint64_t echoed_frames = 0;     // intact, sent by ourselves: the other side is a mirror
  uint64_t other_version_headers = 0;
};

struct FrameView {
  FrameHeader header;
  const uint8_t* payload = nullptr;  // into the buffer, until the next space()
};

class FrameScanner {
 public:
  // `buffer` stays the caller's and must outlive the scanner.
  // REQUIRES: size >= kLinkMaxControl + kLinkOverhead. DATA frames with up to
  // max_payload() = size - kLinkOverhead bytes are found; twice that size is faster.
  FrameScanner(uint8_t* buffer, size_t size, bool we_are_host);

  uint32_t max_payload() const { return max_payload_; }
  // Larger frames are damage. Reduces at most to what the buffer holds.
  void limit_payload(uint32_t payload);

  // Where the next received bytes go (at least one byte), and how many came.
  uint8_t* space(size_t* size);
  void received(size_t size);

  // The tag of frames from now on; 0: of no session, and only HELLO, WELCOME and NOTICE are
  // frames. The tags before are kept to recognise old frames.
  void set_tag(uint32_t tag);

  // The next intact frame; false: nothing more yet. Damage costs the frame it is in: the search
  // goes on one byte behind the start of what proved to be no frame.
  bool next(FrameView* out);
  // There are bytes that may be the start of a frame.
  bool waiting() const { return begin_ < end_; }
  // For a silent link: if an intact frame stands inside the one that is awaited, that one was no
  // frame. True: call next().
  bool rescue();
  void clear() { begin_ = end_ = 0; }

  const ScannerCounters& counters() const { return counters_; }
  // The first bytes that were no frame, and the version of the last header of another version.
  const uint8_t* foreign(size_t* size) const;
  void forget_foreign() { foreign_size_ = 0; }
  uint8_t other_version() const { return other_version_; }

 private:
  static constexpr size_t kKnownTags = 4;
  enum class Trailer : uint8_t { right, old, wrong };
  Trailer check(const uint8_t* frame, const FrameHeader& header) const;
  void skip(size_t size);
  size_t to_next_sync(size_t from) const;

  uint8_t* buffer_;
  size_t size_;
  uint32_t max_payload_;
  bool we_are_host_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint32_t tag_ = 0;
  uint32_t old_tags_[kKnownTags] = {};
  uint8_t other_version_ = 0;
  uint8_t foreign_size_ = 0;
  uint8_t foreign_[64] = {};
  ScannerCounters counters_;
};

}  // namespace millrace::link
