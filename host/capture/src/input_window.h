// SPDX-License-Identifier: Apache-2.0
// The part of the input that a parser looks at: a buffer of 1 MiB that is refilled in large reads,
// so that a record is parsed where it lies and memory does not grow with the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "millrace/capture/byte_source.h"

namespace millrace::capture {

class InputWindow {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;

  explicit InputWindow(ByteSource* source)
      : source_(source), buffer_(std::make_unique_for_overwrite<uint8_t[]>(kBytes)) {}

  // Bytes at data() afterwards, fewer than `size` only where the input ends or fails.
  // REQUIRES: size <= kBytes.
  size_t ensure(size_t size) {
    if (end_ - begin_ < size) fill(size);
    return end_ - begin_;
  }
  const uint8_t* data() const { return buffer_.get() + begin_; }
  // REQUIRES: size <= what ensure() returned.
  void consume(size_t size) { begin_ += size; }
  // Goes over bytes of which there may be more than the window holds; returns how many there were.
  uint64_t skip(uint64_t size);
  // Of data() in the input.
  uint64_t offset() const { return read_ - (end_ - begin_); }
  // Why the input ended before its end.
  const std::optional<host::Error>& error() const { return error_; }

 private:
  void fill(size_t size);

  ByteSource* source_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t begin_ = 0, end_ = 0;
  uint64_t read_ = 0;
  bool at_end_ = false;
  std::optional<host::Error> error_;
};

}  // namespace millrace::capture
