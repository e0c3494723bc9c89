// SPDX-License-Identifier: Apache-2.0
// The registers of one device as a table: what is stored, which bits software may change, and how.
// A device gives what happens beyond storage in its read() and write(), and hands the rest here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/snapshot.h"

namespace millrace::board {

enum class RegisterKind : uint8_t {
  plain,        // written bits replace
  one_clears,   // writing 1 clears the bit (of `writable`)
  set_clr_tog,  // plain, and at +4, +8, +C its SET, CLR and TOG aliases (write; read as the
                // register)
};

struct RegisterSpec {
  uint32_t offset = 0;  // multiple of 4, or of 2 in a table of 16-bit registers
  std::string_view name;
  uint32_t reset = 0;
  uint32_t writable = 0xFFFFFFFF;  // other bits keep their value
  RegisterKind kind = RegisterKind::plain;
};

// A result of write(): the register before and after.
struct RegisterChange {
  uint32_t offset = 0;  // of the register itself, aliases resolved
  uint32_t before = 0;
  uint32_t after = 0;
  uint32_t written = 0;  // bits that the access wrote as 1: of an alias as if written to it
  bool known = false;    // false: not in the table (reported)
};

class RegisterFile {
 public:
  // `width`: bytes of a register in this table, 4 or 2. The table must outlive this and be sorted
  // by offset. `owner` and `host` are for what is not in the table.
  RegisterFile(std::span<const RegisterSpec> table, unsigned width, const Device& owner,
               DeviceHost& host);

  // The bytes at `offset`, any part of a register. What is not in the table reads 0, reported.
  uint32_t read(uint32_t offset, unsigned size);
  RegisterChange write(uint32_t offset, unsigned size, uint32_t value);

  // By the register's own offset. REQUIRES: in the table.
  uint32_t& operator[](uint32_t offset);
  uint32_t operator[](uint32_t offset) const {
    return const_cast<RegisterFile&>(*this)[offset];  // NOLINT: the same lookup
  }
  bool has(uint32_t offset) const { return find(offset) >= 0; }
  void reset();
  void snapshot(Snapshot& s);

 private:
  int find(uint32_t offset) const;  // index of the register that holds the byte, or -1

  std::span<const RegisterSpec> table_;
  unsigned width_;
  const Device& owner_;
  DeviceHost& host_;
  std::vector<uint32_t> values_;
  std::vector<int16_t> index_;  // by offset / width_: index in table_, or -1
};

}  // namespace millrace::board
