// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the parts of the decoder.
#pragma once

#include <cstdint>

#include "cpu/insn.h"

namespace millrace::board {

// Where an instruction stands.
struct DecodeContext {
  uint32_t address;
  uint32_t itstate;
  uint32_t pc() const { return address + 4; }
  uint32_t aligned_pc() const { return pc() & ~3u; }
  bool in_it() const { return (itstate & 15) != 0; }
  bool last_in_it() const { return (itstate & 15) == 8; }
  bool before_last_in_it() const { return in_it() && !last_in_it(); }
};

constexpr uint32_t bits(uint32_t x, unsigned high, unsigned low) {
  return (x >> low) & ((1u << (high - low + 1)) - 1);
}
constexpr bool bit(uint32_t x, unsigned n) { return ((x >> n) & 1) != 0; }
constexpr uint8_t reg(uint32_t x, unsigned low) { return static_cast<uint8_t>((x >> low) & 15); }
constexpr bool is_sp_or_pc(uint8_t r) { return r == 13 || r == 15; }
constexpr uint32_t sign_extend(uint32_t x, unsigned width) {
  const uint32_t sign = 1u << (width - 1);
  return (x ^ sign) - sign;
}

inline Insn make(Kind kind, uint8_t size) {
  Insn i;
  i.kind = kind;
  i.size = size;
  return i;
}
inline Insn undefined(uint8_t size) { return make(Kind::undefined, size); }
inline Insn unpredictable(uint8_t size) { return make(Kind::unpredictable, size); }

Insn decode16(uint16_t hw, const DecodeContext& at);
Insn decode32(uint16_t hw1, uint16_t hw2, const DecodeContext& at);
Insn decode_data_processing(uint16_t hw1, uint16_t hw2, const DecodeContext& at);
Insn decode_register_ops(uint16_t hw1, uint16_t hw2);  // A5.3.12 .. A5.3.17
Insn decode_vfp(uint16_t hw1, uint16_t hw2, const DecodeContext& at);

}  // namespace millrace::board
