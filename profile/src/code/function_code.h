// SPDX-License-Identifier: Apache-2.0
// The instructions of one function, in the order of their addresses, without what lies between
// them: literal pools and branch tables.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "code/thumb_flow.h"
#include "millrace/profile/elf_index.h"

namespace millrace::profile {

struct Instruction {
  uint32_t at = 0;
  bool is_conditional = false;  // in an IT block: it may do nothing
  Flow flow;
  uint32_t end() const { return at + flow.size; }
};

// Thumb code only; empty for other machines and for code that is not in the file.
std::vector<Instruction> decode_function(const ElfIndex& index, uint32_t function);
// Targets of the TBB or TBH at `instruction`.
std::vector<uint32_t> table_targets(const ElfIndex& index, const Instruction& instruction);
// The word at `address`, as stored in the file.
std::optional<uint32_t> word_at(const ElfIndex& index, uint32_t address);
// The constant that `code[i]` makes or completes, and in which register.
struct Constant {
  uint8_t reg = 0;
  uint32_t value = 0;
};
std::optional<Constant> constant_of(const ElfIndex& index, const std::vector<Instruction>& code,
                                    size_t i);
// Where a jump or call through a register goes, if one of the instructions shortly before made its
// address.
std::optional<uint32_t> indirect_target(const ElfIndex& index, const std::vector<Instruction>& code,
                                        size_t i);

}  // namespace millrace::profile
