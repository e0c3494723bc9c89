// SPDX-License-Identifier: Apache-2.0
// SSE4.2 has CRC-32C. The instruction takes 8 bytes a cycle but answers
// three cycles later, so three blocks are computed side by side and joined (crc32c_shift.h).
#include <nmmintrin.h>
#include <string.h>

#include "crc32c_shift.h"
#include "millrace/link/crc32c.h"

namespace millrace::link {
namespace {

constexpr size_t kLong = 1360;  // three of them: a frame of 4 KB
constexpr size_t kShort = 136;
constexpr Crc32cShift kShiftLong = make_crc32c_shift(kLong);
constexpr Crc32cShift kShiftShort = make_crc32c_shift(kShort);

uint64_t load(const uint8_t* p) {
  uint64_t value;
  memcpy(&value, p, sizeof(value));
  return value;
}

// Three blocks of `block` bytes at `data`, from register value `crc` on.
__attribute__((target("sse4.2"))) uint32_t three_blocks(const uint8_t* data, size_t block,
                                                        const Crc32cShift& shift, uint32_t crc) {
  uint64_t a = crc;
  uint64_t b = 0;
  uint64_t c = 0;
  for (const uint8_t* end = data + block; data != end; data += 8) {
    a = _mm_crc32_u64(a, load(data));
    b = _mm_crc32_u64(b, load(data + block));
    c = _mm_crc32_u64(c, load(data + 2 * block));
  }
  const uint32_t ab = shift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
  return shift(ab) ^ static_cast<uint32_t>(c);
}

__attribute__((target("sse4.2"))) uint32_t by_instruction(const uint8_t* data, size_t size,
                                                          uint32_t crc) {
  crc = ~crc;
  for (; size >= 3 * kLong; size -= 3 * kLong, data += 3 * kLong) {
    crc = three_blocks(data, kLong, kShiftLong, crc);
  }
  for (; size >= 3 * kShort; size -= 3 * kShort, data += 3 * kShort) {
    crc = three_blocks(data, kShort, kShiftShort, crc);
  }
  uint64_t rest = crc;
  for (; size >= 8; size -= 8, data += 8) rest = _mm_crc32_u64(rest, load(data));
  crc = static_cast<uint32_t>(rest);
  for (; size > 0; --size) crc = _mm_crc32_u8(crc, *data++);
  return ~crc;
}

}  // namespace

uint32_t crc32c_bulk(const uint8_t* data, size_t size, uint32_t crc) {
  if (__builtin_cpu_supports("sse4.2")) return by_instruction(data, size, crc);
  return crc32c_sliced(data, size, crc);
}

}  // namespace millrace::link
