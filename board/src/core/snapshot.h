// SPDX-License-Identifier: Apache-2.0
// State of the board as a sequence of named fields. A part describes its state once, in a function
// `void snapshot(Snapshot& s)` that both saves and restores, so that the two cannot drift apart:
//
//   void Timer::snapshot(Snapshot& s) {
//     s.field("load", load_);
//     s.field("control", control_);
//     events_.snapshot(s, event_);
//   }
//
// Format: per field the name (u8 length, bytes), the size (u32) and the bytes; integers are
// little-endian. Restoring checks each name and size; at the first that differs it stops: ok() is
// false, error() says where, and every later field() leaves its variable alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace::board {

class Snapshot {
 public:
  Snapshot() = default;                          // saves
  explicit Snapshot(std::vector<uint8_t> bytes)  // restores
      : bytes_(std::move(bytes)), restoring_(true) {}

  bool restoring() const { return restoring_; }
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }  // one sentence, or empty
  // REQUIRES: a saving snapshot.
  std::vector<uint8_t> take() { return std::move(bytes_); }

  // An integer, a bool or an enumeration.
  template <typename T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void field(std::string_view name, T& value) {
    uint64_t wide = 0;
    if (!restoring_) {
      wide = static_cast<uint64_t>(value);
      integer(name, wide, sizeof(T));
    } else if (integer(name, wide, sizeof(T))) {
      value = static_cast<T>(wide);
    }
  }

  template <typename T, size_t N>
  void field(std::string_view name, std::array<T, N>& values) {
    for (T& value : values) field(name, value);
  }

  // Length first; a restored length above `limit` is an error.
  template <typename T>
  void field(std::string_view name, std::vector<T>& values, size_t limit) {
    uint64_t count = values.size();
    if (!integer(name, count, 8)) return;
    if (count > limit) return fail(name, "is longer than this board allows");
    if (restoring_) values.resize(static_cast<size_t>(count));
    for (T& value : values) field(name, value);
  }

  // A memory; pages of 4 KB that hold one byte value take 2 bytes.
  void memory(std::string_view name, uint8_t* data, size_t size);

  // A restoring part found a value that cannot be.
  void fail(std::string_view name, std::string_view problem);

 private:
  // Saves or restores; false if nothing was restored.
  bool integer(std::string_view name, uint64_t& value, size_t size);
  bool header(std::string_view name, size_t* size);
  void put(uint64_t value, size_t size);
  bool get(uint64_t* value, size_t size);

  std::vector<uint8_t> bytes_;
  size_t position_ = 0;
  bool restoring_ = false;
  std::string error_;
};

}  // namespace millrace::board
