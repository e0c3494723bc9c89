// SPDX-License-Identifier: Apache-2.0
// One round of a loop that does nothing but wait for a counter or for an interrupt, as
// `while (micros() - start < n) yield();`: followed with limits for what the counter may read
// instead of one value, it tells for how many rounds everything certainly goes as in the last one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/insn.h"
#include "cpu/state.h"
#include "cpu/system_control.h"
#include "cpu/value_range.h"
#include "memory/memory_system.h"

namespace millrace::board {

class WaitingRound {
 public:
  // The round that began in the state `head` at `begin` and ended in `behind` at `end`, with
  // `instructions` and `counter_reads` accesses to devices in it. No event has come since `begin`,
  // and memory is as the round left it. All outlive this.
  struct Facts {
    const CpuState& head;
    const CpuState& behind;
    Cycles begin = 0, end = 0;
    uint64_t instructions = 0;
    uint64_t device_accesses = 0;
  };
  WaitingRound(const Facts& facts, MemorySystem& memory, const SystemControl& system);

  // How many rounds, at most `most`, that follow at once and take as long, take the same way
  // through the code and leave all that a next round depends on as it is. 0 too if it is not sure.
  // What such a round does change is written by each of them before it is read.
  uint64_t equal_rounds(uint64_t most);

 private:
  static constexpr uint32_t kN = 1u << 16, kZ = 1u << 17, kC = 1u << 18, kV = 1u << 19;
  // Peripherals and system space.
  static bool is_device_address(uint32_t address) {
    return (address >= 0x40000000u && address < 0x60000000u) || address >= 0xA0000000u;
  }
  struct Word {  // of memory, aligned
    uint32_t address = 0;
    ValueRange value;
    bool read_first = false;  // before it was written
    bool written = false;
  };

  bool follow(uint64_t rounds);
  bool decode_at(uint32_t address, uint32_t itstate, Insn* insn);
  bool is_repeatable() const;
  bool step(const Insn& i);
  bool step_plain(const Insn& i);
  bool data_processing(const Insn& i);
  bool multiplication(const Insn& i);
  bool bits(const Insn& i);
  bool load(const Insn& i);
  bool store(const Insn& i);
  bool pair(const Insn& i);
  bool multiple(const Insn& i);
  bool exclusive(const Insn& i);
  bool system_register(const Insn& i);
  bool branch_to(ValueRange target);
  std::optional<ValueRange> shifted(const Insn& i, Bit* carry);
  bool address_of(const Insn& i, uint32_t* address, uint32_t* after);
  bool read(uint32_t address, unsigned size, ValueRange* value);
  bool write(uint32_t address, unsigned size, ValueRange value);
  Word* word_at(uint32_t address);
  ValueRange get(unsigned reg);
  void set(unsigned reg, ValueRange value);
  void note_flags_read(uint32_t bits);
  void set_nz(ValueRange result);

  const Facts facts_;
  MemorySystem& memory_;
  const SystemControl& system_;
  std::vector<Insn> path_;  // of the first follow()
  bool has_path_ = false;

  // Of the round being followed.
  Cycles until_ = 0;  // the counter is read between the begin of the round and then
  uint32_t pc_ = 0;
  uint32_t itstate_ = 0;
  uint64_t device_reads_ = 0;
  std::array<ValueRange, 15> registers_{};
  RangeFlags flags_;
  CpuState special_;  // masks and the exclusive monitor
  // Bits by register, and kN to kV.
  uint32_t read_first_ = 0, written_ = 0;
  std::vector<Word> words_;
};

}  // namespace millrace::board
