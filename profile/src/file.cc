// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "millrace/profile/error.h"

namespace millrace::profile {

std::string printable(const std::string& text, size_t limit) {
  std::string out;
  for (const char c : text) {
    if (out.size() == limit) return out + "...";
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= ' ' && byte != 0x7F ? c : '?';
  }
  return out;
}

std::string grouped(uint64_t number) {
  std::string out = std::to_string(number);
  for (size_t at = out.size(); at > 3;) out.insert(at -= 3, 1, ',');
  return out;
}

std::string counted(uint64_t count, const std::string& noun) {
  return grouped(count) + ' ' + noun + (count == 1 ? "" : "s");
}

Failure read_file(const std::string& path, size_t max_bytes, std::vector<uint8_t>* out) {
  const std::string shown = printable(path);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error || !std::filesystem::exists(status)) {
    return Error{Error::Kind::unreadable,
                 fmt::format("{}: {} (check the name)", shown,
                             error ? error.message() : std::string("no such file"))};
  }
  if (!std::filesystem::is_regular_file(status)) {
    return Error{Error::Kind::unreadable, shown + ": not a regular file (name a file)"};
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    return Error{Error::Kind::unreadable,
                 fmt::format("open {}: {} (check its permissions)", shown, std::strerror(errno))};
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > max_bytes) {
    return Error{Error::Kind::malformed,
                 fmt::format("{}: {} bytes, more than the {} MB that are read (cut it into parts)",
                             shown, size, max_bytes >> 20)};
  }
  out->resize(error ? 0 : static_cast<size_t>(size));
  const size_t got = out->empty() ? 0 : std::fread(out->data(), 1, out->size(), file.get());
  if (std::ferror(file.get()) != 0) {
    return Error{Error::Kind::unreadable, fmt::format("read {}: {}", shown, std::strerror(errno))};
  }
  out->resize(got);
  if (out->empty())
    return Error{Error::Kind::malformed, shown + ": the file is empty (give one that is complete)"};
  return {};
}

}  // namespace millrace::profile
