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
  uint32_t branch_mispredict = 5;
  uint32_t branch_target_miss = 1;  // a direct branch that the target cache does not know
  uint32_t branch_targets = 64;     // entries, direct-mapped; powers of two
  uint32_t branch_counters = 512;   // 2-bit direction counters
  uint32_t branch_returns = 8;      // return stack
  uint32_t load_use = 0;            // bubbles between a load and its use by an ALU
  uint32_t load_to_address = 1;     // by an address or a shifted operand
  uint32_t load_narrow = 1;         // more for bytes and halfwords
  uint32_t store_to_load = 6;       // from a store to a load of the same word, issue to issue
  uint32_t loads_per_cycle = 2;
  uint32_t words_per_cycle = 2;  // LDM, STM, VLDM, VSTM
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
  // Memories, core cycles beyond a zero-wait access.
  uint32_t ocram_line_first = 24;  // D- or I-side line fill, first 8 bytes
  uint32_t ocram_line_beat = 4;    // each further 8 bytes
  uint32_t ocram_read = 26;        // uncached
  uint32_t ocram_write = 8;        // uncached, until the store buffer has its entry back
  uint32_t peripheral_read = 28;   // IPG/AIPS
  uint32_t peripheral_write = 6;
  uint32_t ahb_peripheral_read = 8;  // GPIO6-9, at the core's clock
  uint32_t ahb_peripheral_write = 2;
  uint32_t ppb_read = 1;
  uint32_t ppb_write = 1;
  // Clocks until the clock controller says otherwise.
  uint32_t core_khz = 600000;
  uint32_t flexspi_khz = 100000;
  uint32_t psram_khz = 88000;
  // FlexSPI1 with the flash, in serial clocks (sck) and core cycles.
  uint32_t flexspi_command_sck = 20;       // command, address, mode, dummy
  uint32_t flexspi_sck_per_byte = 2;       // quad
  uint32_t flexspi_overhead = 60;          // core cycles from the last serial bit to the core
  uint32_t flexspi_turnaround_sck = 6;     // chip select between two commands
  uint32_t flexspi_prefetch = 1;           // 1: AHB prefetch on, as the boot ROM leaves it
  uint32_t flexspi_partition_bytes = 256;  // of the AHB RX buffer, for one master
  // FlexSPI2 with the PSRAM.
  uint32_t psram_command_sck = 26;
  uint32_t psram_write_command_sck = 36;
  uint32_t psram_turnaround_sck = 9;
  uint32_t psram_overhead = 24;  // core cycles
  uint32_t psram_prefetch = 0;
  // USB device controller, core cycles.
  uint32_t usb_prime_cycles = 240;      // from ENDPTPRIME to ENDPTSTAT
  uint32_t usb_dtd_fetch_cycles = 120;  // from a retired dTD to the next of its list
  uint32_t usb_retire_cycles = 24;      // from the last dTD of a list to ENDPTSTAT 0
  uint32_t usb_word_cycles = 4;         // 4 bytes into a transmit buffer, with USBMODE.SDIS
};

struct TimingParameter {
  std::string_view name;  // as the member
  std::string_view unit;  // cycles, sck, kHz, bytes, flag
  char grade = 0;         // A, B, C, I
  std::string_view source;
  uint32_t minimum = 0;
  uint32_t Timing::*member = nullptr;
};

// All parameters, in the order of the struct.
const std::vector<TimingParameter>& timing_parameters();

// Lines `name = value  # comment`; a value is decimal, at most kMaxTimingValue. Returns an empty
// string, or one sentence that begins with `name` and the line; then *timing is as before.
inline constexpr uint32_t kMaxTimingValue = 10'000'000;
std::string apply_profile(std::string_view text, Timing* timing,
                          std::string_view name = "timing profile");

}  // namespace millrace::board
