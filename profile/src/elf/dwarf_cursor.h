// SPDX-License-Identifier: Apache-2.0
// Reads DWARF's encodings from bytes of which nothing is trusted. Reading beyond the end gives
// zeros and is remembered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace millrace::profile {

class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(std::span<const uint8_t> bytes, uint64_t at = 0) : bytes_(bytes) { seek(at); }

  bool ok() const { return ok_; }
  bool at_end() const { return at_ >= bytes_.size(); }
  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }
  void seek(uint64_t at) {
    if (at > bytes_.size()) {
      ok_ = false;
      at = bytes_.size();
    }
    at_ = static_cast<size_t>(at);
  }
  void skip(uint64_t count) {
    if (count > left()) {
      ok_ = false;
      at_ = bytes_.size();
    } else {
      at_ += static_cast<size_t>(count);
    }
  }

  uint8_t u8() { return static_cast<uint8_t>(fixed(1)); }
  uint16_t u16() { return static_cast<uint16_t>(fixed(2)); }
  uint32_t u32() { return static_cast<uint32_t>(fixed(4)); }
  uint64_t u64() { return fixed(8); }
  uint64_t fixed(unsigned size) {
    if (size > left()) {
      skip(size);
      return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= uint64_t{bytes_[at_ + i]} << 8 * i;
    at_ += size;
    return value;
  }
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; at_ < bytes_.size(); shift += 7) {
      const uint8_t byte = bytes_[at_++];
      if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80u) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; at_ < bytes_.size();) {
      const uint8_t byte = bytes_[at_++];
      if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
      shift += 7;
      if ((byte & 0x80u) == 0) {
        if (shift < 64 && (byte & 0x40u) != 0) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
      }
    }
    ok_ = false;
    return 0;
  }
  // Up to a zero byte, which is skipped. Nothing longer than 64 KB: many records can name one
  // string, and a damaged one would be searched to the end of the file each time.
  std::string_view string() {
    const uint8_t* begin = bytes_.data() + at_;
    const auto most = static_cast<size_t>(std::min<uint64_t>(left(), 65536));
    const void* end = most == 0 ? nullptr : std::memchr(begin, 0, most);
    if (end == nullptr) {
      skip(left() + 1);
      return {};
    }
    const auto size = static_cast<size_t>(static_cast<const uint8_t*>(end) - begin);
    at_ += size + 1;
    return {reinterpret_cast<const char*>(begin), size};
  }
  std::span<const uint8_t> block(uint64_t size) {
    const size_t begin = at_;
    skip(size);
    return ok_ ? bytes_.subspan(begin, static_cast<size_t>(size)) : std::span<const uint8_t>();
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace millrace::profile
