// SPDX-License-Identifier: Apache-2.0
// A file that grows during a run: a capture or a trace. It grows beside its place, as PATH.part,
// and takes the name PATH when it is whole: an older PATH is not lost to a disk that is full. The
// first failure is kept for the end: it stops the run with a sentence and does not lose what was
// measured.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "cli/posix/replacement.h"
#include "millrace/host/result.h"

namespace millrace::cli {

class OutputStream {
 public:
  // What others see before close(): nothing (they keep an older file), or all that came so far, as
  // of a log that somebody follows.
  enum class Growth { replaced_whole, in_sight };

  OutputStream() = default;
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  // `option`: what the user wrote, for sentences. What is there and is no regular file (/dev/full,
  // a FIFO with a reader) is written to directly. Errors: usage (a folder, "-", since reports go to
  // stdout), io.
  host::Status open(const std::string& option, const std::string& path,
                    Growth growth = Growth::replaced_whole);
  void write(std::span<const uint8_t> bytes);
  void flush();
  bool is_open() const { return file_ != nullptr; }
  bool failed() const { return error_ != 0; }
  // Nothing if it was not opened. After a failure PATH.part holds what was written; it is valid.
  // Without a close() nothing is left.
  host::Status close();

 private:
  host::Error cannot_open(int number) const;

  std::string option_, path_;
  Replacement replacement_;  // not open: written directly
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
  int error_ = 0;
};

}  // namespace millrace::cli
