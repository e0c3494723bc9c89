// SPDX-License-Identifier: Apache-2.0
// What an instruction needs of the Cortex-M7's pipeline; the sources are in core/timing.h.
#pragma once

#include <array>
#include <cstdint>

#include "core/timing.h"
#include "cpu/insn.h"

namespace millrace::board {

// Numbers of the scoreboard: core registers, flags, and s0-s31.
inline constexpr uint8_t kFlags = 15;
inline constexpr uint8_t kFpBase = 16;
inline constexpr uint8_t kFpscr = 48;
inline constexpr unsigned kScoreboard = 49;

enum class ReadStage : uint8_t {
  address,        // in EX1: addresses and shifted operands
  beside_shift,   // the other operand of a shifted one: as for an ALU, but late from a word load
  alu,            // in EX2
  accumulate,     // of a multiplication: in EX3
  store,          // data to be stored: in EX3
  fp_accumulate,  // of a fused multiplication: behind the product
};

struct PipelineUse {
  struct Read {
    uint8_t reg = 0;
    ReadStage stage = ReadStage::alu;
  };
  struct Write {
    uint8_t reg = 0;
    uint8_t latency = 1;            // issue to use by an ALU
    bool same_for_address = false;  // write-back of a base, LDM: no later for an address
    bool loaded = false;
  };
  bool never_pairs = false;
  bool older_only = false;
  // One a cycle of each.
  bool shifter = false, multiplier = false, store = false, branch = false, fp = false;
  bool load = false;
  bool word_known = false;  // of a load or store: it is at register `base` plus `offset`
  uint8_t base = 0;
  uint32_t offset = 0;
  uint16_t issue_cycles = 1;
  uint8_t blocks_fp = 0;  // cycles in which no other FP operation starts (divide, square root)
  uint8_t read_count = 0;
  uint8_t write_count = 0;
  std::array<Read, 40> reads{};
  std::array<Write, 40> writes{};

  void add_read(uint8_t reg, ReadStage stage) { reads[read_count++] = {reg, stage}; }
  void add_write(uint8_t reg, uint32_t latency, bool same_for_address = false) {
    writes[write_count++] = {reg, static_cast<uint8_t>(latency < 200 ? latency : 200),
                             same_for_address, false};
  }
  void add_loaded(uint8_t reg, uint32_t latency) {
    add_write(reg, latency);
    writes[write_count - 1u].loaded = true;
  }
};

PipelineUse pipeline_use(const Insn& i, const Timing& timing);
// The part for floating point.
void vfp_use(const Insn& i, const Timing& timing, PipelineUse* use);

}  // namespace millrace::board
