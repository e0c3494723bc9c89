// SPDX-License-Identifier: Apache-2.0
// Values as people write them on a command line, and as they like to read them in a report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "millrace/host/result.h"
#include "millrace/host/serial_run.h"
#include "millrace/host/text.h"

namespace millrace::cli {

enum class Scale {
  bytes,  // K, M, G: powers of 1,024
  count,  // k, M, G: powers of 1,000; Ki, Mi, Gi: powers of 1,024
};

inline constexpr uint64_t kMaxFrameBytes = uint64_t{16} << 20;

// A non-negative integer with an optional suffix, in min..max. Errors: usage; the message says
// what would be right.
host::Result<uint64_t> parse_number(const std::string& text, Scale scale, uint64_t min,
                                    uint64_t max);
// none, each, window:N (1..65,535). The number is the window: 0, 1, N.
host::Result<uint16_t> parse_ack(const std::string& text);
// Comma-separated items, each through parse_number() or parse_ack(); at least one.
host::Result<std::vector<uint32_t>> parse_sizes(const std::string& text);
host::Result<std::vector<uint16_t>> parse_acks(const std::string& text);

// A ValueParser that stores into an integer.
template <class T>
ValueParser number_into(T* target, Scale scale, uint64_t min, uint64_t max) {
  return [=](const std::string& text) {
    const host::Result<uint64_t> number = parse_number(text, scale, min, max);
    if (!number) return host::Status(number.error());
    *target = static_cast<T>(number.value());
    return host::Status();
  };
}

// Stores the path of a folder that is there and can be read.
ValueParser folder_into(std::string* target);

std::string ack_name(uint16_t window_frames);  // none, each, window:N
std::string direction_name(link::Direction direction);

using host::grouped;                // 1,048,576
std::string whole(double number);   // 9,765.6 -> 9,766; below 0 is 0
std::string percent(double share);  // 0.625 -> 62.5, with no sign
using host::megabytes_per_s;
std::string duration(double nanoseconds);                     // 12.3 us, 1.24 ms, 2.50 s
std::string human_bytes(uint64_t bytes);                      // 44.3 KB (1,000)
std::string plural(uint64_t count, const std::string& noun);  // 1 frame, 2 frames

}  // namespace millrace::cli
