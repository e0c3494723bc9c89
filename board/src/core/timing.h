// SPDX-License-Identifier: Apache-2.0
// Every number of the timing model, by name, with its source and the grade of the evidence:
// A measured on hardware or printed in a vendor manual, B read in vendor or upstream source,
// C secondary text, I inferred or fitted (docs/validation.md). A profile file overrides by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::board {

struct Timing {
  // Core pipeline, core cycles.
  uint32_t branch_mispredict = 6;
  uint32_t load_use = 1;
  uint32_t load_to_address = 2;
  uint32_t mul_latency = 2;
  uint32_t div_min = 3;
  uint32_t div_max = 7;
  uint32_t fp_add_single = 3;
  uint32_t fp_mul_single = 3;
  uint32_t fp_fma_single = 5;
  uint32_t fp_add_double = 4;
  uint32_t fp_mul_double = 7;
  uint32_t fp_fma_double = 11;
  uint32_t fp_div_single = 16;
  uint32_t fp_div_double = 30;
  uint32_t fp_sqrt_single = 16;
  uint32_t fp_sqrt_double = 30;
  uint32_t exception_entry = 12;
  uint32_t exception_exit = 10;
  uint32_t tail_chain = 6;
  // Memories.
  uint32_t ocram_line_first = 20;  // D- or I-side line fill, first 8 bytes
  uint32_t ocram_line_beat = 4;    // each further 8 bytes
  uint32_t ocram_read = 26;        // uncached
  uint32_t ocram_write = 8;
  uint32_t peripheral_read = 28;  // IPG/AIPS
  uint32_t peripheral_write = 6;
  uint32_t ppb_read = 1;
  uint32_t ppb_write = 1;
  // FlexSPI, in serial clocks and core cycles.
  uint32_t flexspi_command_sck = 20;    // command, address, mode, dummy
  uint32_t flexspi_sck_per_byte = 2;    // quad
  uint32_t flexspi_overhead = 24;       // core cycles of synchronisation to the first beat
  uint32_t flexspi_turnaround_sck = 6;  // chip select between two commands
  uint32_t flexspi_prefetch = 1;        // 1: AHB prefetch on, as the boot ROM leaves it
};

struct TimingParameter {
  std::string_view name;  // as the member
  std::string_view unit;  // cycles, sck, flag
  char grade;             // A, B, C, I
  std::string_view source;
  uint32_t Timing::*member;
};

// All parameters, in the order of the struct.
const std::vector<TimingParameter>& timing_parameters();

// Lines `name = value  # comment`. Returns an empty string, or one sentence with line number.
std::string apply_profile(std::string_view text, Timing* timing);

}  // namespace millrace::board
