// SPDX-License-Identifier: Apache-2.0
// Where a Thumb instruction goes, and which constants it makes: what a call graph needs of one, and
// no more. Encodings: Armv7-M ARM A5, and the loops of Armv8.1-M (LE, WLS).
#pragma once

#include <cstdint>

namespace millrace::profile {

enum class FlowKind : uint8_t {
  next,           // goes on behind it
  jump,           // to `target`
  branch,         // to `target`, or goes on
  call,           // to `target`, and comes back
  indirect_call,  // to what register `reg` holds, and comes back
  indirect_jump,  // to what register `reg` holds, or an address in memory
  literal_jump,   // to the word at `target`
  table_jump,     // TBB, TBH: to one of the offsets behind it
  returns,
  trap,  // undefined on purpose
};

enum class ConstantKind : uint8_t {
  none,
  literal,  // register `reg` = the word at `value`
  address,  // register `reg` = `value`
  low,      // register `reg` = `value` (MOVW)
  high,     // bits 31:16 of register `reg` = `value` (MOVT)
};

struct Flow {
  uint8_t size = 2;  // bytes
  FlowKind kind = FlowKind::next;
  ConstantKind constant = ConstantKind::none;
  uint8_t reg = 0;
  uint8_t conditional_after = 0;  // IT: so many instructions behind it are conditional
  bool is_wide_table = false;     // TBH
  uint32_t target = 0;
  uint32_t value = 0;
};

// `second` is the halfword behind `first`; it counts only where is_wide(first).
Flow decode_flow(uint32_t pc, uint32_t first, uint32_t second);
inline bool is_wide(uint32_t first) { return first >= 0xE800; }

}  // namespace millrace::profile
