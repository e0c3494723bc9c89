// SPDX-License-Identifier: Apache-2.0
// Moves through the frame stream. A frame takes ceil(frame size / 4) words, so with a frame size
// that is a multiple of 4 the words simply run on and frames are only counted; otherwise the words
// run on up to the end of a frame, whose last word is cut. Both cases share one loop: a "span" is
// what can be handled as whole consecutive words.
#include "millrace/link/stream_cursor.h"

#include "millrace/link/bytes.h"

namespace millrace::link {
namespace {

// Words compared between two looks at the result. Less often saves branches, more often saves
// work at the end of a match; 16 to 64 measure the same.
constexpr size_t kWordsPerCheck = 32;
// Keeps byte counts of one step within 32 bits, for targets without a 64-bit division.
constexpr uint32_t kMaxStep = uint32_t{1} << 30;

}  // namespace

StreamCursor::StreamCursor(const StreamShape& shape)
    : generator_(shape.seed), frame_size_(shape.frame_size) {
  generator_.next();
}

// Bytes from a word boundary of the stream that are whole consecutive words; below 4 the word is
// cut by the end of the frame.
uint32_t StreamCursor::span(uint64_t wanted) const {
  const uint32_t size = wanted < kMaxStep ? static_cast<uint32_t>(wanted) : kMaxStep;
  if ((frame_size_ & 3) == 0) return size;
  const uint32_t left = frame_size_ - in_frame_;
  return size < left ? size : left;
}

// Bytes left of the word the cursor stands in.
uint32_t StreamCursor::left_in_word() const {
  const uint32_t in_word = 4 - (in_frame_ & 3);
  const uint32_t in_frame = frame_size_ - in_frame_;
  return in_word < in_frame ? in_word : in_frame;
}

// Counts `size` bytes, at most left_in_word(), and steps to the next word behind the last of them.
void StreamCursor::move_in_word(uint32_t size) {
  offset_ += size;
  in_frame_ += size;
  if (in_frame_ == frame_size_) {
    in_frame_ = 0;
    ++frame_;
    generator_.next();
  } else if ((in_frame_ & 3) == 0) {
    generator_.next();
  }
}

// Counts bytes of whole words that the generator has already passed.
void StreamCursor::count_words(uint32_t size) {
  offset_ += size;
  const uint32_t left = frame_size_ - in_frame_;
  if (size < left) {
    in_frame_ += size;
    return;
  }
  const uint32_t behind = size - left;
  frame_ += 1 + behind / frame_size_;
  in_frame_ = behind % frame_size_;
}

void StreamCursor::read(uint8_t* out, size_t size) {
  while (size > 0) {
    const uint32_t bulk = (in_frame_ & 3) == 0 ? span(size) & ~uint32_t{3} : 0;
    if (bulk > 0) {
      Jsf32 generator = generator_;
      for (uint32_t i = 0; i < bulk; i += 4) {
        store_le32(out + i, generator.current());
        generator.next();
      }
      generator_ = generator;
      count_words(bulk);
      out += bulk;
      size -= bulk;
      continue;
    }
    const uint32_t left = left_in_word();
    const uint32_t step = size < left ? static_cast<uint32_t>(size) : left;
    uint32_t word = generator_.current() >> (8 * (in_frame_ & 3));
    for (uint32_t i = 0; i < step; ++i, word >>= 8) out[i] = static_cast<uint8_t>(word);
    move_in_word(step);
    out += step;
    size -= step;
  }
}

void StreamCursor::skip(uint64_t size) {
  while (size > 0) {
    const uint32_t bulk = (in_frame_ & 3) == 0 ? span(size) & ~uint32_t{3} : 0;
    if (bulk > 0) {
      Jsf32 generator = generator_;
      for (uint32_t i = 0; i < bulk; i += 4) generator.next();
      generator_ = generator;
      count_words(bulk);
      size -= bulk;
      continue;
    }
    const uint32_t left = left_in_word();
    const uint32_t step = size < left ? static_cast<uint32_t>(size) : left;
    move_in_word(step);
    size -= step;
  }
}

void StreamCursor::rewind(uint64_t size) {
  offset_ -= size;
  while (size > 0) {
    if (in_frame_ == 0) {
      --frame_;
      in_frame_ = frame_size_;
      // The end of a cut last word is not the start of a word.
      if ((frame_size_ & 3) != 0) generator_.step_back();
    }
    const uint32_t step = size < in_frame_ ? static_cast<uint32_t>(size) : in_frame_;
    const uint32_t words = in_frame_ / 4 - (in_frame_ - step) / 4;
    Jsf32 generator = generator_;
    for (uint32_t i = 0; i < words; ++i) generator.step_back();
    generator_ = generator;
    in_frame_ -= step;
    size -= step;
  }
}

size_t StreamCursor::match(const uint8_t* data, size_t size) {
  const uint8_t* const begin = data;
  const uint8_t* const end = data + size;
  while (data != end) {
    const size_t left_in_data = static_cast<size_t>(end - data);
    const uint32_t bulk = (in_frame_ & 3) == 0 ? span(left_in_data) & ~uint32_t{3} : 0;
    if (bulk > 0) {
      const uint32_t equal = match_words(data, bulk);
      data += equal;
      if (equal == bulk) continue;
    }
    const uint32_t left = left_in_word();
    const size_t behind = static_cast<size_t>(end - data);
    const uint32_t step = behind < left ? static_cast<uint32_t>(behind) : left;
    const uint32_t word = generator_.current() >> (8 * (in_frame_ & 3));
    uint32_t equal = 0;
    while (equal < step && data[equal] == static_cast<uint8_t>(word >> (8 * equal))) ++equal;
    if (equal > 0) move_in_word(equal);
    data += equal;
    if (equal < step) break;
  }
  return static_cast<size_t>(data - begin);
}

// Moves behind the equal words at `data`; returns their bytes.
uint32_t StreamCursor::match_words(const uint8_t* data, uint32_t size) {
  constexpr uint32_t kBytesPerCheck = 4 * kWordsPerCheck;
  Jsf32 generator = generator_;
  uint32_t done = 0;
  while (size - done >= kBytesPerCheck) {
    const Jsf32 before = generator;
    uint32_t difference = 0;
    for (size_t i = 0; i < kWordsPerCheck; ++i) {
      difference |= load_le32(data + done + 4 * i) ^ generator.current();
      generator.next();
    }
    if (difference != 0) {
      generator = before;
      break;
    }
    done += kBytesPerCheck;
  }
  while (done < size && load_le32(data + done) == generator.current()) {
    generator.next();
    done += 4;
  }
  generator_ = generator;
  if (done > 0) count_words(done);
  return done;
}

}  // namespace millrace::link
