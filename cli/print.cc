// SPDX-License-Identifier: Apache-2.0
#include "cli/print.h"

#include <cerrno>
#include <cstdint>

namespace millrace::cli {

namespace {

constexpr size_t kSentenceEnds = 400;  // bytes kept of each end

int first_stdout_error = 0;

void note_failure(std::FILE* file) {
  if (file == stdout && first_stdout_error == 0) first_stdout_error = errno == 0 ? EIO : errno;
}

bool continues(char c) { return (static_cast<uint8_t>(c) & 0xc0U) == 0x80; }

}  // namespace

void write_text(std::FILE* file, const std::string& text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) note_failure(file);
}

void write_now(std::FILE* file, const std::string& text) {
  write_text(file, text);
  errno = 0;
  if (std::fflush(file) != 0) note_failure(file);
}

int stdout_error() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) note_failure(stdout);
  return first_stdout_error;
}

std::string printable_sentence(const std::string& text) {
  std::string line = printable(text);
  if (line.size() <= 2 * kSentenceEnds) return line;
  size_t end = kSentenceEnds;
  size_t begin = line.size() - kSentenceEnds;
  while (continues(line[end])) --end;
  while (continues(line[begin])) ++begin;
  return line.substr(0, end) + " ... " + line.substr(begin);
}

}  // namespace millrace::cli
