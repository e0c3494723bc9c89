// SPDX-License-Identifier: Apache-2.0
#include "core/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace millrace::board {
namespace {

constexpr size_t kPage = 4096;
constexpr uint8_t kFilled = 0;
constexpr uint8_t kVerbatim = 1;

bool all_equal(const uint8_t* data, size_t size) {
  return size < 2 || std::memcmp(data, data + 1, size - 1) == 0;
}

}  // namespace

void Snapshot::put(uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

bool Snapshot::get(uint64_t* value, size_t size) {
  if (bytes_.size() - position_ < size) return false;
  *value = 0;
  for (size_t i = 0; i < size; ++i) *value |= uint64_t{bytes_[position_ + i]} << (8 * i);
  position_ += size;
  return true;
}

void Snapshot::fail(std::string_view name, std::string_view problem) {
  if (error_.empty()) {
    error_ = fmt::format("snapshot: the field {} at byte {} {}", name, position_, problem);
  }
}

bool Snapshot::header(std::string_view name, size_t* size) {
  if (!ok()) return false;
  const size_t length = std::min<size_t>(name.size(), 255);
  if (!restoring_) {
    put(length, 1);
    bytes_.insert(bytes_.end(), name.begin(), name.begin() + static_cast<ptrdiff_t>(length));
    put(*size, 4);
    return true;
  }
  uint64_t stored_length = 0;
  uint64_t stored_size = 0;
  if (!get(&stored_length, 1) || bytes_.size() - position_ < stored_length) {
    fail(name, "is missing (the snapshot is truncated)");
    return false;
  }
  if (stored_length != length || std::memcmp(&bytes_[position_], name.data(), length) != 0) {
    fail(name, "has another name there (the snapshot is of another version)");
    return false;
  }
  position_ += length;
  if (!get(&stored_size, 4) || bytes_.size() - position_ < stored_size) {
    fail(name, "is cut short (the snapshot is truncated)");
    return false;
  }
  *size = static_cast<size_t>(stored_size);
  return true;
}

bool Snapshot::integer(std::string_view name, uint64_t& value, size_t size) {
  size_t stored = size;
  if (!header(name, &stored)) return false;
  if (!restoring_) {
    put(value, size);
    return true;
  }
  if (stored != size) {
    fail(name, "has another size there (the snapshot is of another version)");
    return false;
  }
  return get(&value, size);
}

void Snapshot::memory(std::string_view name, uint8_t* data, size_t size) {
  uint64_t total = size;
  if (!integer(name, total, 8)) return;
  if (total != size) return fail(name, "has another size on this board");
  for (size_t at = 0; at < size; at += kPage) {
    const size_t count = std::min(kPage, size - at);
    if (!restoring_) {
      if (all_equal(data + at, count)) {
        put(kFilled, 1);
        put(data[at], 1);
      } else {
        put(kVerbatim, 1);
        bytes_.insert(bytes_.end(), data + at, data + at + count);
      }
      continue;
    }
    uint64_t kind = 0;
    uint64_t fill = 0;
    if (!get(&kind, 1) || kind > kVerbatim) return fail(name, "is damaged");
    if (kind == kFilled) {
      if (!get(&fill, 1)) return fail(name, "is cut short (the snapshot is truncated)");
      std::memset(data + at, static_cast<int>(fill), count);
    } else {
      if (bytes_.size() - position_ < count) {
        return fail(name, "is cut short (the snapshot is truncated)");
      }
      std::memcpy(data + at, &bytes_[position_], count);
      position_ += count;
    }
  }
}

}  // namespace millrace::board
