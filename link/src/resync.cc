// SPDX-License-Identifier: Apache-2.0
// The searches near the expected place. A stream of pseudo-random bytes makes a few equal bytes
// proof enough, if few places are compared: 4 bytes match by chance once in 4e9 comparisons, 8
// bytes once in 2e19. Damage comes in small pieces, so most faults end in find_nearest(), which
// compares at most 17 x 17 places; find_among() covers all places of a window against 504 stream
// bytes in linear time through a table of hashes.
#include "resync.h"

#include <string.h>

#include "millrace/link/bytes.h"

namespace millrace::link {
namespace {

size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

bool equal(const uint8_t* a, const uint8_t* b, size_t size) {
  if (a[0] != b[0]) return false;
  for (size_t i = 1; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

size_t slot_of(const uint8_t* p) {
  const uint32_t mixed = (load_le32(p) ^ (load_le32(p + 4) * 0x9e3779b1u)) * 0x85ebca6bu;
  return mixed >> 22;
}
static_assert(kSlots == size_t{1} << 10, "slot_of() yields 10 bits");

uint32_t count_bits(uint32_t x) {
  x = x - ((x >> 1) & 0x55555555u);
  x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
  return (((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}

}  // namespace

LocalMatch find_nearest(const uint8_t* window, size_t size, const uint8_t* expected,
                        size_t expected_size, size_t least, size_t most) {
  for (size_t off = least; off <= most; ++off) {
    const size_t key = off <= 2 ? kShortKey : kMiddleKey;
    if (off + kShortKey <= size && off + kShortKey <= expected_size &&
        equal(window + off, expected + off, kShortKey)) {
      return {off, off};
    }
    // Lost bytes before inserted ones: with `less` foreign bytes in front, fewest first.
    for (size_t less = 0; less < off; ++less) {
      if (less + key <= size && off + key <= expected_size &&
          equal(window + less, expected + off, key)) {
        return {less, off};
      }
      if (off + key <= size && less + key <= expected_size &&
          equal(window + off, expected + less, key)) {
        return {off, less};
      }
    }
  }
  return {};
}

LocalMatch find_among(const uint8_t* window, size_t size, const uint8_t* expected,
                      size_t expected_size, uint16_t (&slots)[kSlots]) {
  if (size < kLocalKey || expected_size < kLocalKey) return {};
  memset(slots, 0, sizeof(slots));
  const size_t places = smaller(expected_size - kLocalKey + 1, kLocalBytes);
  for (size_t i = 0; i < places; ++i) {
    size_t slot = slot_of(expected + i);
    while (slots[slot] != 0) slot = (slot + 1) % kSlots;
    slots[slot] = static_cast<uint16_t>(i + 1);
  }
  for (size_t i = 0; i + kLocalKey <= size; ++i) {
    for (size_t slot = slot_of(window + i); slots[slot] != 0; slot = (slot + 1) % kSlots) {
      const size_t place = slots[slot] - size_t{1};
      if (equal(window + i, expected + place, kLocalKey)) return {i, place};
    }
  }
  return {};
}

size_t find_in_place(const uint8_t* window, size_t size, StreamCursor stream, uint64_t available,
                     size_t key) {
  if (available < size) size = static_cast<size_t>(available);
  uint8_t expected[64];
  size_t run = 0;
  for (size_t done = 0; done < size;) {
    const size_t step = smaller(sizeof(expected), size - done);
    stream.read(expected, step);
    for (size_t i = 0; i < step; ++i) {
      run = window[done + i] == expected[i] ? run + 1 : 0;
      if (run == key) return done + i + 1 - key;
    }
    done += step;
  }
  return kNowhere;
}

uint32_t differing_bits(const uint8_t* window, size_t size, StreamCursor stream) {
  uint8_t expected[64];
  uint32_t bits = 0;
  for (size_t done = 0; done < size;) {
    const size_t step = smaller(sizeof(expected), size - done);
    stream.read(expected, step);
    size_t i = 0;
    for (; i + 4 <= step; i += 4) {
      bits += count_bits(load_le32(window + done + i) ^ load_le32(expected + i));
    }
    for (; i < step; ++i) bits += count_bits(uint32_t{window[done + i]} ^ expected[i]);
    done += step;
  }
  return bits;
}

void extend_back(const uint8_t* window, uint64_t floor, FarMatch* match) {
  uint8_t before[64];
  while (match->index > 0 && match->stream.offset() > floor) {
    size_t step = smaller(sizeof(before), match->index);
    const uint64_t room = match->stream.offset() - floor;
    if (room < step) step = static_cast<size_t>(room);
    StreamCursor cursor = match->stream;
    cursor.rewind(step);
    StreamCursor reader = cursor;
    reader.read(before, step);
    size_t same = 0;
    while (same < step && before[step - 1 - same] == window[match->index - 1 - same]) ++same;
    cursor.skip(step - same);
    match->stream = cursor;
    match->index -= same;
    if (same < step) return;
  }
}

}  // namespace millrace::link
