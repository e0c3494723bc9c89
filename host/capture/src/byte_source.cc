// SPDX-License-Identifier: Apache-2.0
#include "millrace/capture/byte_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "millrace/host/text.h"
#include "raw_input.h"

namespace millrace::capture {
namespace {

using host::Error;
using host::ErrorCode;
using host::Result;

// Unbuffered: the window of the reader is the buffer.
class FileSource final : public ByteSource {
 public:
  FileSource(std::FILE* file, std::string name, bool owns, std::function<bool()> keep_going)
      : file_(file), name_(std::move(name)), owns_(owns), keep_going_(std::move(keep_going)) {}
  ~FileSource() override {
    if (owns_) std::fclose(file_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<size_t> read(uint8_t* to, size_t size) override {
    const ptrdiff_t got = read_available(file_, to, size, keep_going_);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EINTR) return Error{ErrorCode::interrupted, "interrupted"};
    return Error{ErrorCode::io, fmt::format("read {}: {} (is the medium all right?)", name_,
                                            std::strerror(errno))};
  }

 private:
  std::FILE* file_;
  std::string name_;
  bool owns_;
  std::function<bool()> keep_going_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_capture(const std::string& path,
                                                 std::function<bool()> keep_going) {
  if (path == "-") {
    make_stdin_binary();
    return std::unique_ptr<ByteSource>(
        std::make_unique<FileSource>(stdin, "standard input", false, std::move(keep_going)));
  }
  const std::string name = host::printable(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Error{ErrorCode::usage,
                 fmt::format("open {}: is a folder (name a capture in it)", name)};
  }
  std::FILE* file = open_input(path.c_str());
  if (file != nullptr) {
    return std::unique_ptr<ByteSource>(
        std::make_unique<FileSource>(file, name, true, std::move(keep_going)));
  }
  const int number = errno;
  if (number == EINTR)
    return Error{ErrorCode::interrupted, fmt::format("open {}: interrupted", name)};
  if (number == ENOENT || number == ENOTDIR) {
    return Error{ErrorCode::not_found,
                 fmt::format("open {}: no such file (a bus is named usbmon1, usbmon2, ...)", name)};
  }
  if (number == EACCES || number == EPERM) {
    return Error{ErrorCode::permission,
                 fmt::format("open {}: permission denied (make it readable for you)", name)};
  }
  return Error{ErrorCode::io, fmt::format("open {}: {}", name, std::strerror(number))};
}

Result<size_t> MemorySource::read(uint8_t* to, size_t size) {
  const size_t taken = std::min({size, piece_, bytes_.size()});
  if (taken != 0) std::memcpy(to, bytes_.data(), taken);
  bytes_ = bytes_.subspan(taken);
  return taken;
}

}  // namespace millrace::capture
