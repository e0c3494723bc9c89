// SPDX-License-Identifier: Apache-2.0
// A record that is wrong in any way refuses the whole file: firmware with a hole runs until the
// hole. So do two records for one byte, even if they agree: it is two images in one file. What
// follows the end record may be any text, but no record.
#include "image/hex_image.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::board {
namespace {

constexpr size_t kMinRecordChars = 11;  // :LLAAAATTCC
constexpr uint64_t kAddressSpace = uint64_t{1} << 32;

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view without_line_end(std::string_view line) {
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  return line;
}

// Takes the next line from `rest`, without its end (LF, CR LF or CR).
std::string_view take_line(std::string_view* rest) {
  const size_t end = rest->find_first_of("\r\n");
  const std::string_view line = rest->substr(0, end);
  if (end == std::string_view::npos) {
    *rest = {};
    return line;
  }
  const bool two = (*rest)[end] == '\r' && end + 1 < rest->size() && (*rest)[end + 1] == '\n';
  rest->remove_prefix(end + (two ? 2 : 1));
  return line;
}

bool has_shape(std::string_view line) {
  if (line.size() < kMinRecordChars || line[0] != ':' || line.size() % 2 == 0) return false;
  return std::all_of(line.begin() + 1, line.end(), [](char c) { return digit(c) >= 0; });
}

class HexParser {
 public:
  HexParser(const std::string& path, Image* out) : path_(path), out_(*out) {}

  std::string parse(std::string_view text) {
    while (!text.empty()) {
      const std::string_view line = without_line_end(take_line(&text));
      ++line_;
      if (line.empty()) continue;
      std::string problem = end_line_ == 0 ? record(line) : after_end(line);
      if (!problem.empty()) return problem;
    }
    if (end_line_ == 0) {
      return fmt::format(
          "{}: ends after line {} without the end record :00000001FF, so something is missing "
          "(build or copy it again)",
          path_, line_);
    }
    if (pieces_.empty()) return path_ + ": no data record (give the firmware's HEX file)";
    if (text_after_end_ != 0) {
      out_.notes.push_back(
          fmt::format("text after the end record of line {} was left out", end_line_));
    }
    return join();
  }

 private:
  // What one data record brings. In order of the file until join().
  struct Piece {
    uint32_t address;
    uint32_t line;
    uint32_t offset;  // in data_
    uint32_t size;
  };

  std::string at_line(const std::string& problem) const {
    return fmt::format("{} line {}: {} (build or copy it again)", path_, line_, problem);
  }

  std::string record(std::string_view line) {
    if (line[0] != ':') return at_line("does not begin with \":\", so it is no HEX record");
    for (const char c : line.substr(1)) {
      if (digit(c) < 0) return at_line("holds something that is no hex digit");
    }
    if (line.size() < kMinRecordChars || line.size() % 2 == 0) {
      return at_line(fmt::format("{} hex digits are no whole record", line.size() - 1));
    }
    bytes_.clear();
    uint32_t sum = 0;
    for (size_t i = 1; i < line.size(); i += 2) {
      bytes_.push_back(static_cast<uint8_t>(digit(line[i]) * 16 + digit(line[i + 1])));
      sum += bytes_.back();
    }
    const size_t length = bytes_.size() - 5;  // without length, address, type, checksum
    if (bytes_[0] != length) {
      return at_line(fmt::format("says {} data bytes and has {}", bytes_[0], length));
    }
    if ((sum & 0xFF) != 0) {
      return at_line(fmt::format("checksum {:02X} should be {:02X}", bytes_.back(),
                                 (bytes_.back() - sum) & 0xFF));
    }
    return take(length);
  }

  // `length`: of the data in bytes_, which begins at index 4.
  std::string take(size_t length) {
    static constexpr size_t kLengths[] = {0, 0, 2, 4, 2, 4};  // by type; type 0: any
    const uint8_t type = bytes_[3];
    if (type > 5) return at_line(fmt::format("record type {:02X} is none of 00 to 05", type));
    if (type != 0 && length != kLengths[type]) {
      return at_line(fmt::format("a record of type {:02X} has {} data bytes, not {}", type,
                                 kLengths[type], length));
    }
    const uint32_t offset = uint32_t{bytes_[1]} << 8 | bytes_[2];
    const uint32_t high = length >= 2 ? uint32_t{bytes_[4]} << 8 | bytes_[5] : 0;
    switch (type) {
      case 0:
        return data(offset, static_cast<uint32_t>(length));
      case 1:
        end_line_ = line_;
        return {};
      case 2:
        base_ = high << 4;
        segmented_ = true;
        return {};
      case 3:
        if (out_.notes.size() < kMaxNotes) {
          out_.notes.push_back(
              fmt::format("the start address of line {} is for an x86 and was left out", line_));
        }
        return {};
      case 4:
        base_ = high << 16;
        segmented_ = false;
        return {};
      default:
        out_.entry = high << 16 | uint32_t{bytes_[6]} << 8 | bytes_[7];
        return {};
    }
  }

  std::string data(uint32_t offset, uint32_t length) {
    // With a segment base the offset wraps at 64 KB, with a linear base it runs on (page 6).
    const uint32_t before_wrap = segmented_ ? std::min(length, 0x10000 - offset) : length;
    const uint32_t stored = static_cast<uint32_t>(data_.size());
    data_.insert(data_.end(), bytes_.begin() + 4, bytes_.begin() + 4 + length);
    if (uint64_t{base_} + offset + before_wrap > kAddressSpace) {
      return at_line("data reaches beyond the 32-bit address space");
    }
    if (before_wrap > 0) pieces_.push_back({base_ + offset, line_, stored, before_wrap});
    if (length > before_wrap) {
      pieces_.push_back({base_, line_, stored + before_wrap, length - before_wrap});
    }
    return {};
  }

  std::string after_end(std::string_view line) {
    if (has_shape(line)) {
      return fmt::format(
          "{} line {}: a record after the end record of line {}, so these are two files in one "
          "(separate them)",
          path_, line_, end_line_);
    }
    text_after_end_ = line_;
    return {};
  }

  std::string join() {
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const Piece& a, const Piece& b) { return a.address < b.address; });
    uint64_t end = 0;
    const Piece* before = nullptr;
    for (const Piece& piece : pieces_) {
      if (before != nullptr && piece.address < end) {
        const auto [first, second] = std::minmax(before->line, piece.line);
        return fmt::format(
            "{}: lines {} and {} both hold the byte at 0x{:08X} (two images in one file: give the "
            "one to run)",
            path_, first, second, piece.address);
      }
      if (before == nullptr || piece.address != end) {
        if (out_.segments.size() == kMaxImageSegments) {
          return fmt::format(
              "{}: more than {} separate pieces, which no linker makes (give the "
              "firmware's HEX file)",
              path_, kMaxImageSegments);
        }
        out_.segments.push_back({piece.address, {}});
      }
      const auto from = data_.begin() + piece.offset;
      std::vector<uint8_t>& bytes = out_.segments.back().bytes;
      bytes.insert(bytes.end(), from, from + piece.size);
      end = uint64_t{piece.address} + piece.size;
      before = &piece;
    }
    return {};
  }

  static constexpr size_t kMaxNotes = 8;

  const std::string& path_;
  Image& out_;
  uint32_t line_ = 0;
  uint32_t end_line_ = 0;  // 0: not yet
  uint32_t text_after_end_ = 0;
  uint32_t base_ = 0;
  bool segmented_ = false;
  std::vector<uint8_t> bytes_;  // of the record at hand
  std::vector<uint8_t> data_;
  std::vector<Piece> pieces_;
};

}  // namespace

bool is_hex(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = without_line_end(take_line(&text));
    if (!line.empty()) return has_shape(line);
  }
  return false;
}

std::string parse_hex(const std::string& path, std::string_view text, Image* out) {
  out->kind = Image::Kind::hex;
  return HexParser(path, out).parse(text);
}

}  // namespace millrace::board
