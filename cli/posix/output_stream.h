// SPDX-License-Identifier: Apache-2.0
// A file that grows during a run. The first failure is kept for the end: a full disk stops the run
// with a sentence and does not lose what was measured.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "millrace/host/result.h"

namespace millrace::cli {

class OutputStream {
 public:
  // `option`: what the user wrote, for sentences. A FIFO needs a reader. Errors: usage for "-",
  // since reports go to stdout; io.
  host::Status open(const std::string& option, const std::string& path);
  void write(std::span<const uint8_t> bytes);
  void flush();
  bool is_open() const { return file_ != nullptr; }
  bool failed() const { return error_ != 0; }
  // Nothing if it was not opened.
  host::Status close();

 private:
  std::string option_, path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
  int error_ = 0;
};

}  // namespace millrace::cli
