// SPDX-License-Identifier: Apache-2.0
#include "core/timing.h"

#include <fmt/format.h>

#include <charconv>

#include "core/profile_text.h"

namespace millrace::board {
namespace {

constexpr std::string_view kLlvm = "LLVM ARMScheduleM7.td";
constexpr std::string_view kGcc = "GCC cortex-m7.md";
constexpr std::string_view kPlain = "arithmetic of the read command EBh: 8 + 6 + 6";

const TimingParameter* parameter_named(std::string_view name) {
  for (const TimingParameter& parameter : timing_parameters()) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

std::string apply_timing_line(std::string_view line, Timing* timing) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return fmt::format("\"{}\" is not of the form name = value", printable(line));
  }
  const std::string_view name = trimmed(line.substr(0, equals));
  const std::string_view text = trimmed(line.substr(equals + 1));
  const TimingParameter* const parameter = parameter_named(name);
  if (parameter == nullptr) {
    return fmt::format("there is no parameter \"{}\"", printable(name));
  }
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return fmt::format("{} is \"{}\", not a decimal number in range", parameter->name,
                       printable(text));
  }
  const uint32_t maximum = parameter->unit == "flag" ? 1 : kMaxTimingValue;
  if (value < parameter->minimum || value > maximum) {
    return fmt::format("{} is {}, outside {}..{} {}", parameter->name, value, parameter->minimum,
                       maximum, parameter->unit);
  }
  timing->*(parameter->member) = value;
  return {};
}

}  // namespace

const std::vector<TimingParameter>& timing_parameters() {
  using T = Timing;
  static const std::vector<TimingParameter> parameters = {
      {"branch_mispredict", "cycles", 'I', "fitted to CoreMark -O2; LLVM: 6, better 4", 0,
       &T::branch_mispredict},
      {"branch_target_miss", "cycles", 'I', "decoding a direct branch", 0, &T::branch_target_miss},
      {"branch_targets", "entries", 'I', "size not documented", 1, &T::branch_targets},
      {"branch_counters", "entries", 'I', "size not documented", 1, &T::branch_counters},
      {"branch_returns", "entries", 'I', "size not documented", 1, &T::branch_returns},
      {"load_use", "cycles", 'B', kLlvm, 0, &T::load_use},
      {"load_to_address", "cycles", 'B', kLlvm, 0, &T::load_to_address},
      {"load_narrow", "cycles", 'B', kLlvm, 0, &T::load_narrow},
      {"store_to_load", "cycles", 'I', "fitted to CoreMark -O0", 0, &T::store_to_load},
      {"loads_per_cycle", "count", 'B', "LLVM and SLOTHY 2, GCC 1", 1, &T::loads_per_cycle},
      {"words_per_cycle", "count", 'C', "64-bit data TCM", 1, &T::words_per_cycle},
      {"mul_latency", "cycles", 'B', kLlvm, 0, &T::mul_latency},
      {"div_min", "cycles", 'C', "early-out of SDIV/UDIV, folklore", 0, &T::div_min},
      {"div_max", "cycles", 'B', kLlvm, 0, &T::div_max},
      {"fp_add_single", "cycles", 'B', kLlvm, 0, &T::fp_add_single},
      {"fp_mul_single", "cycles", 'B', kLlvm, 0, &T::fp_mul_single},
      {"fp_fma_single", "cycles", 'B', kLlvm, 0, &T::fp_fma_single},
      {"fp_add_double", "cycles", 'B', kLlvm, 0, &T::fp_add_double},
      {"fp_mul_double", "cycles", 'B', kLlvm, 0, &T::fp_mul_double},
      {"fp_fma_double", "cycles", 'B', kLlvm, 0, &T::fp_fma_double},
      {"fp_div_single", "cycles", 'B', kGcc, 0, &T::fp_div_single},
      {"fp_div_double", "cycles", 'B', kGcc, 0, &T::fp_div_double},
      {"fp_sqrt_single", "cycles", 'B', kGcc, 0, &T::fp_sqrt_single},
      {"fp_sqrt_double", "cycles", 'B', kGcc, 0, &T::fp_sqrt_double},
      {"exception_entry", "cycles", 'A', "NXP: 20 ns at 600 MHz", 0, &T::exception_entry},
      {"exception_exit", "cycles", 'C', "10..12 in secondary texts", 0, &T::exception_exit},
      {"tail_chain", "cycles", 'C', "figure of the Cortex-M3 and M4", 0, &T::tail_chain},
      {"ocram_line_first", "cycles", 'I',
       "AXI at a quarter of the core clock, 4 + 1 bus cycles, sync", 0, &T::ocram_line_first},
      {"ocram_line_beat", "cycles", 'I', "AXI at a quarter of the core clock", 0,
       &T::ocram_line_beat},
      {"ocram_read", "cycles", 'I', "24..32, consistent with a D-cache-off echo server", 0,
       &T::ocram_read},
      {"ocram_write", "cycles", 'I', "two bus cycles", 0, &T::ocram_write},
      {"peripheral_read", "cycles", 'I', "20..35 by the IPG clock of a quarter", 0,
       &T::peripheral_read},
      {"peripheral_write", "cycles", 'I', "posted: 4..8", 0, &T::peripheral_write},
      {"ahb_peripheral_read", "cycles", 'I', "no source: below AIPS", 0, &T::ahb_peripheral_read},
      {"ahb_peripheral_write", "cycles", 'I', "no source: below AIPS", 0, &T::ahb_peripheral_write},
      {"ppb_read", "cycles", 'I', "loop of five instructions in five cycles that reads CYCCNT", 0,
       &T::ppb_read},
      {"ppb_write", "cycles", 'I', "as ppb_read", 0, &T::ppb_write},
      {"core_khz", "kHz", 'B', "Teensy core, set_arm_clock", 1000, &T::core_khz},
      {"flexspi_khz", "kHz", 'B', "FCB serialClkFreq 6, Teensy core and Zephyr", 1000,
       &T::flexspi_khz},
      {"psram_khz", "kHz", 'B', "Teensy core, configure_external_ram", 1000, &T::psram_khz},
      {"flexspi_command_sck", "sck", 'B', kPlain, 0, &T::flexspi_command_sck},
      {"flexspi_sck_per_byte", "sck", 'A', "four data lines", 1, &T::flexspi_sck_per_byte},
      {"flexspi_overhead", "cycles", 'I',
       "400 ns of a missing byte (PJRC 73428) less 36 SCK at the Teensy core's 120 MHz", 0,
       &T::flexspi_overhead},
      {"flexspi_turnaround_sck", "sck", 'B', "FCB: chip select hold 3, set-up 3", 0,
       &T::flexspi_turnaround_sck},
      {"flexspi_prefetch", "flag", 'I', "fits an echo server with the I-cache off", 0,
       &T::flexspi_prefetch},
      {"flexspi_partition_bytes", "bytes", 'I', "AHB RX buffer of 1 KB in four partitions", 8,
       &T::flexspi_partition_bytes},
      {"psram_command_sck", "sck", 'I', "fitted: a miss takes more than 500 ns (PJRC 73428)", 0,
       &T::psram_command_sck},
      {"psram_write_command_sck", "sck", 'I', "fitted: fill at 25.75 MB/s (PJRC 70307)", 0,
       &T::psram_write_command_sck},
      {"psram_turnaround_sck", "sck", 'I', "fitted: 99 SCK a line, 28.44 MB/s (PJRC 70307)", 0,
       &T::psram_turnaround_sck},
      {"psram_overhead", "cycles", 'I', "fitted with psram_turnaround_sck", 0, &T::psram_overhead},
      {"psram_prefetch", "flag", 'B', "Teensy core, AHBCR", 0, &T::psram_prefetch},
      {"usb_prime_cycles", "cycles", 'I',
       "TinyUSB issue 2706: some 400 ns to set up the data buffer", 1, &T::usb_prime_cycles},
      {"usb_dtd_fetch_cycles", "cycles", 'I', "half of a prime: no queue head to read", 1,
       &T::usb_dtd_fetch_cycles},
      {"usb_retire_cycles", "cycles", 'I', "no source: a few bus accesses", 1,
       &T::usb_retire_cycles},
      {"usb_word_cycles", "cycles", 'I', "a 32-bit bus at a quarter of the core clock", 0,
       &T::usb_word_cycles},
  };
  return parameters;
}

std::string apply_profile(std::string_view text, Timing* timing, std::string_view name) {
  Timing changed = *timing;
  std::string error = apply_profile_lines(
      name, text, [&changed](std::string_view line) { return apply_timing_line(line, &changed); });
  if (!error.empty()) return error;
  *timing = changed;
  return {};
}

}  // namespace millrace::board
