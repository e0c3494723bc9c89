// SPDX-License-Identifier: Apache-2.0
// What goes wrong with files that come from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::profile {

struct Error {
  enum class Kind {
    unreadable,  // the file is not there, is no regular file or cannot be read
    malformed,   // its content is not what it should be
    mismatch,    // two files that do not belong together
    usage,       // an option or a name that cannot be right
  };
  Kind kind = Kind::malformed;
  std::string message;  // one sentence: file, place, remedy
};

// Nothing, or why not.
using Failure = std::optional<Error>;

// Text of a file or a name that goes into a sentence: control bytes as '?', at most `limit` bytes.
std::string printable(const std::string& text, size_t limit = 200);
std::string grouped(uint64_t number);                          // 1,048,576
std::string counted(uint64_t count, const std::string& noun);  // "1 byte", "32,984 bytes"

// Reads a regular file of 1 to `max_bytes` bytes.
Failure read_file(const std::string& path, size_t max_bytes, std::vector<uint8_t>* out);

}  // namespace millrace::profile
