// SPDX-License-Identifier: Apache-2.0
// What firmware touched that the model does not have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/snapshot.h"
#include "millrace/board/board.h"

namespace millrace::board {

class UnknownRegisters {
 public:
  static constexpr size_t kMax = 4096;  // distinct addresses kept; of later ones only a sum

  void count(uint32_t address, bool is_write, uint32_t pc);
  std::vector<UnknownRegister> list() const;
  uint64_t unlisted() const { return unlisted_; }  // accesses to addresses that are not kept
  void snapshot(Snapshot& s);

 private:
  struct Entry {
    uint64_t reads = 0, writes = 0;
    uint32_t first_pc = 0;
  };
  std::map<uint32_t, Entry> entries_;
  uint64_t unlisted_ = 0;
};

// "LPSPI4+0x014": the peripheral whose 16 KB slot holds `address` (IMXRT1060RM chapter 2).
std::string peripheral_register_name(uint32_t address);

}  // namespace millrace::board
