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

// Length of the UTF-8 sequence at `at`; 0 when it is none.
size_t utf8_length(const std::string& text, size_t at, uint32_t* code) {
  const auto lead = static_cast<uint8_t>(text[at]);
  *code = lead;
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead >= 0xf5 || at + length > text.size()) return 0;
  *code = lead & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (!continues(text[at + i])) return 0;
    *code = (*code << 6U) | (static_cast<uint8_t>(text[at + i]) & 0x3fU);
  }
  const uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = *code >= 0xd800 && *code < 0xe000;
  return *code < smallest || *code > 0x10ffff || surrogate ? 0 : length;
}

bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

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

std::string printable(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    uint32_t code = 0;
    const size_t length = utf8_length(text, at, &code);
    if (length == 0 || is_control(code)) {
      out += '?';
    } else {
      out.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string printable_sentence(const std::string& text) {
  const std::string line = printable(text);
  if (line.size() <= 2 * kSentenceEnds) return line;
  size_t end = kSentenceEnds;
  size_t begin = line.size() - kSentenceEnds;
  while (continues(line[end])) --end;
  while (continues(line[begin])) ++begin;
  return line.substr(0, end) + " ... " + line.substr(begin);
}

}  // namespace millrace::cli
