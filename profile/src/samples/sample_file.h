// SPDX-License-Identifier: Apache-2.0
// The parsers behind parse_samples(), one a format.
#pragma once

#include <span>
#include <string>

#include "millrace/profile/samples.h"

namespace millrace::profile {

inline constexpr size_t kSampleHeaderBytes = 128;
inline constexpr size_t kMaxSamples = size_t{16} << 20;

// Each returns an empty string or what is wrong and the remedy, without the file's name. `partial`:
// a file that is cut off is accepted, with a note. `words` of a record: PC, LR, exception.
std::string parse_sample_file(std::span<const uint8_t> bytes, bool partial, SampleSet* out);
std::string parse_raw(std::span<const uint8_t> bytes, size_t words, bool partial, SampleSet* out);
std::string parse_gmon(std::span<const uint8_t> bytes, bool partial, SampleSet* out);
std::string parse_trace(std::span<const uint8_t> bytes, SampleSet* out);
std::string parse_hex_text(std::string_view text, SampleSet* out);
std::string parse_orbuculum(std::string_view text, SampleSet* out);
std::string parse_probe_rs(std::string_view text, SampleSet* out);
std::string parse_zephyr_perf(std::string_view text, bool partial, SampleSet* out);

// The next line without its end, CR included; false at the end of the text.
bool next_line(std::string_view* text, std::string_view* line);

}  // namespace millrace::profile
