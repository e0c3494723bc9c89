// SPDX-License-Identifier: Apache-2.0
// Bytes from one thread to an interrupt, or back, without a lock: one side writes, one reads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::firmware {

class ByteRing {
 public:
  // One byte of `memory` always stays empty.
  ByteRing(uint8_t* memory, uint32_t size) : memory_(memory), size_(size) {}
  ByteRing(const ByteRing&) = delete;
  ByteRing& operator=(const ByteRing&) = delete;

  // Of the writing side: where bytes may be put, in one piece, and that they are there.
  uint8_t* room(uint32_t* bytes) {
    const uint32_t read = load(read_), written = written_;
    const uint32_t end = read > written ? read - 1 : size_ - (read == 0 ? 1 : 0);
    *bytes = end - written;
    return memory_ + written;
  }
  void put(uint32_t bytes) { store(written_, wrapped(written_ + bytes)); }

  // Of the reading side.
  const uint8_t* peek(uint32_t* bytes) const {
    const uint32_t written = load(written_), read = read_;
    *bytes = written >= read ? written - read : size_ - read;
    return memory_ + read;
  }
  void take(uint32_t bytes) { store(read_, wrapped(read_ + bytes)); }
  // Of the reading side: what is there is thrown away.
  void clear() { store(read_, load(written_)); }

 private:
  static uint32_t load(const uint32_t& index) { return __atomic_load_n(&index, __ATOMIC_ACQUIRE); }
  static void store(uint32_t& index, uint32_t value) {
    __atomic_store_n(&index, value, __ATOMIC_RELEASE);
  }
  uint32_t wrapped(uint32_t index) const { return index >= size_ ? index - size_ : index; }

  uint8_t* memory_;
  uint32_t size_;
  uint32_t written_ = 0;
  uint32_t read_ = 0;
};

}  // namespace millrace::firmware
