// SPDX-License-Identifier: Apache-2.0
// Voltages at the ADC's pins, as text:
//
//   constant:V
//   sine:FREQUENCY,AMPLITUDE,OFFSET          Hz, volts, volts
//   chirp:F0,F1,SECONDS,AMPLITUDE,OFFSET     from F0 to F1 Hz, again and again
//   csv:FILE                                 lines `seconds,volts`, times not falling
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace millrace::board {

// Volts at a pin; `adc` 1 or 2, `seconds` of virtual time. The same arguments give the same result.
using AdcSignal = std::function<double(unsigned adc, unsigned channel, double seconds)>;

// The same signal at every pin. Returns an empty string and fills *out, or one sentence; then *out
// is as before. Between two lines of a CSV file the voltage is interpolated, outside of them it
// stays; empty lines and what follows a # are skipped. At most kMaxCsvLines.
inline constexpr size_t kMaxCsvLines = 4'000'000;
std::string parse_adc_signal(std::string_view text, AdcSignal* out);

// The csv: part without the file. `name` is for the sentence.
std::string parse_adc_csv(std::string_view text, std::string_view name, AdcSignal* out);

}  // namespace millrace::board
