// SPDX-License-Identifier: Apache-2.0
// Reads a file and finds its kind. Only regular files: a FIFO or a terminal would wait, a device
// may never end.
#include "millrace/board/image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "image/elf_image.h"
#include "image/hex_image.h"
#include "memory/physical_memory.h"

namespace millrace::board {
namespace {

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

std::string open_error(const std::string& path, int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return fmt::format("open {}: there is no such file (check the path)", path);
    case EACCES:
    case EPERM:
      return fmt::format("open {}: permission denied (make the file readable for this user)", path);
    default:
      return fmt::format("open {}: {} (check the path)", path, std::strerror(number));
  }
}

std::string too_large(const std::string& path) {
  return fmt::format("{}: larger than {} MB, which no image for this board is (give the firmware)",
                     path, kMaxImageBytes >> 20);
}

// Empty, or a sentence.
std::string read_file(const std::string& path, std::vector<uint8_t>* out) {
  Descriptor file;
  file.number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.number < 0) return open_error(path, errno);
  struct stat status {};
  if (::fstat(file.number, &status) != 0) return open_error(path, errno);
  if (S_ISDIR(status.st_mode)) return path + ": a folder (give the firmware file in it)";
  if (!S_ISREG(status.st_mode)) return path + ": not a regular file (copy it to one first)";
  if (static_cast<uint64_t>(status.st_size) > kMaxImageBytes) return too_large(path);
  // One byte more than the file had: it may grow meanwhile.
  out->resize(static_cast<size_t>(status.st_size) + 1);
  size_t filled = 0;
  while (filled < out->size()) {
    const ssize_t count = ::read(file.number, out->data() + filled, out->size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fmt::format("read {}: {} (copy it again)", path, std::strerror(errno));
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  if (filled == out->size()) return path + ": grows while it is read (wait for the build to end)";
  out->resize(filled);
  return {};
}

bool has_extension(const std::string& path, std::initializer_list<std::string_view> extensions) {
  const size_t dot = path.find_last_of("./");
  if (dot == std::string::npos || path[dot] != '.') return false;
  std::string extension = path.substr(dot + 1);
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view candidate : extensions) {
    if (extension == candidate) return true;
  }
  return false;
}

// What packs firmware for other loaders, or any file, by how it begins; empty: none of these.
std::string_view container_of(std::span<const uint8_t> bytes) {
  constexpr std::pair<std::string_view, std::string_view> kContainers[] = {
      {"UF2\n", "a UF2 file"},
      {"DfuSe", "a DfuSe file"},
      {"!<arch>\n", "a library of object files"},
      {"PK\x03\x04", "a ZIP archive"},
      {"\x1F\x8B", "compressed by gzip"},
      {"\xFD"
       "7zXZ",
       "compressed by xz"},
      {"BZh", "compressed by bzip2"},
      {"MZ", "a program for Windows"},
      {"\xEF\xBB\xBF:", "an Intel HEX file behind a byte order mark"},
  };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [magic, name] : kContainers) {
    if (text.starts_with(magic)) return name;
  }
  // S0, two digits of the record's length, four of an address.
  const bool is_record = text.size() > 8 && text[0] == 'S' && text[1] >= '0' && text[1] <= '3' &&
                         std::all_of(text.begin() + 2, text.begin() + 8, [](char c) {
                           return std::isxdigit(static_cast<unsigned char>(c)) != 0;
                         });
  return is_record ? "a Motorola S-record file" : "";
}

std::string parse_binary(const std::string& path, std::span<const uint8_t> bytes, uint32_t address,
                         Image* out) {
  // Loading a damaged HEX or ELF file as a binary would end in a misleading complaint.
  if (has_extension(path, {"hex", "ihex", "ihx"})) {
    return path +
           " line 1: not an Intel HEX record, though the file is named so (rename a binary "
           "to .bin; build or copy a HEX file again)";
  }
  if (has_extension(path, {"elf", "axf"})) {
    return path +
           " offset 0x0: no ELF magic 7F 45 4C 46, though the file is named so (rename a "
           "binary to .bin; build or copy an ELF file again)";
  }
  if (address == 0) {
    const std::string_view container = container_of(bytes);
    if (!container.empty()) {
      return fmt::format("{}: {} (give the ELF, Intel HEX or binary file of the same build)", path,
                         container);
    }
    address = kFlashBase;
  }
  if (uint64_t{address} + bytes.size() > uint64_t{1} << 32) {
    return fmt::format(
        "{}: {} bytes at 0x{:08X} reach beyond the address space (give a lower "
        "address)",
        path, bytes.size(), address);
  }
  out->kind = Image::Kind::binary;
  out->segments.push_back({address, {bytes.begin(), bytes.end()}});
  return {};
}

std::string parse(const std::string& path, std::span<const uint8_t> bytes, uint32_t binary_address,
                  Image* out) {
  if (bytes.empty()) return path + ": empty (build or copy it again)";
  if (bytes.size() > kMaxImageBytes) return too_large(path);
  if (is_elf(bytes)) return parse_elf(path, bytes, out);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_hex(text)) return parse_hex(path, text, out);
  return parse_binary(path, bytes, binary_address, out);
}

bool finish(const std::string& path, const std::string& message, Image* out, ImageError* error) {
  if (message.empty()) {
    out->path = path;
    return true;
  }
  *out = Image();
  error->message = message;
  return false;
}

}  // namespace

bool parse_image(const std::string& path, std::span<const uint8_t> bytes, uint32_t binary_address,
                 Image* out, ImageError* error) {
  *out = Image();
  *error = ImageError();
  return finish(path, parse(path, bytes, binary_address, out), out, error);
}

bool load_image(const std::string& path, uint32_t binary_address, Image* out, ImageError* error) {
  *error = ImageError();
  std::vector<uint8_t> bytes;
  const std::string problem = read_file(path, &bytes);
  if (!problem.empty()) {
    error->unreadable = problem != too_large(path);
    return finish(path, problem, out, error);
  }
  return parse_image(path, bytes, binary_address, out, error);
}

}  // namespace millrace::board
