// SPDX-License-Identifier: Apache-2.0
// CRC-32C by a processor's instruction. It takes 8 bytes a cycle but answers three cycles later, so
// three blocks are computed side by side and joined (crc32c_shift.h).
//
// `Instruction` has Register, and step(register, uint64_t) and step(register, uint8_t). Only files
// that are compiled for a processor with the instruction may use this template; nothing else may
// stand in them, since they must not run before the processor was asked.
#pragma once

#include <string.h>

#include "crc32c_shift.h"

namespace millrace::link {

template <class Instruction>
class Crc32cLanes {
 public:
  static uint32_t run(const uint8_t* data, size_t size, uint32_t crc) {
    crc = ~crc;
    for (; size >= 3 * kLong; size -= 3 * kLong, data += 3 * kLong) {
      crc = three_blocks(data, kLong, kShiftLong, crc);
    }
    for (; size >= 3 * kShort; size -= 3 * kShort, data += 3 * kShort) {
      crc = three_blocks(data, kShort, kShiftShort, crc);
    }
    Register rest = crc;
    for (; size >= 8; size -= 8, data += 8) rest = Instruction::step(rest, load(data));
    for (; size > 0; --size) rest = Instruction::step(rest, *data++);
    return ~static_cast<uint32_t>(rest);
  }

 private:
  using Register = typename Instruction::Register;
  static constexpr size_t kLong = 1360;  // three of them: a frame of 4 KB
  static constexpr size_t kShort = 136;
  static constexpr Crc32cShift kShiftLong = make_crc32c_shift(kLong);
  static constexpr Crc32cShift kShiftShort = make_crc32c_shift(kShort);

  static uint64_t load(const uint8_t* p) {
    uint64_t value;
    memcpy(&value, p, sizeof(value));
    return value;
  }

  // Three blocks of `block` bytes at `data`, from register value `crc` on.
  static uint32_t three_blocks(const uint8_t* data, size_t block, const Crc32cShift& shift,
                               uint32_t crc) {
    Register a = crc;
    Register b = 0;
    Register c = 0;
    for (const uint8_t* end = data + block; data != end; data += 8) {
      a = Instruction::step(a, load(data));
      b = Instruction::step(b, load(data + block));
      c = Instruction::step(c, load(data + 2 * block));
    }
    const uint32_t ab = shift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
    return shift(ab) ^ static_cast<uint32_t>(c);
  }
};

// Of the processor that was compiled for; REQUIRES that this one has the instruction.
uint32_t crc32c_by_instruction(const uint8_t* data, size_t size, uint32_t crc);

}  // namespace millrace::link
