// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a capture come from: a file, a pipe, memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "millrace/host/result.h"

namespace millrace::capture {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Waits for at least one byte and stores up to `size`; 0: the end. Errors: io, interrupted.
  virtual host::Result<size_t> read(uint8_t* to, size_t size) = 0;
};

// A file, a FIFO or, as "-", standard input. While it waits for bytes it asks `keep_going` (null:
// always), and read() fails with `interrupted` where the answer is no. Errors: not_found,
// permission, usage (a folder), io.
host::Result<std::unique_ptr<ByteSource>> open_capture(const std::string& path,
                                                       std::function<bool()> keep_going = {});

// Bytes that stay where they are while the source is used, at most `piece` a call.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const uint8_t> bytes, size_t piece = SIZE_MAX)
      : bytes_(bytes), piece_(piece) {}
  host::Result<size_t> read(uint8_t* to, size_t size) override;

 private:
  std::span<const uint8_t> bytes_;
  size_t piece_;
};

}  // namespace millrace::capture
