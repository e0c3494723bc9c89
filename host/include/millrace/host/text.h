// SPDX-License-Identifier: Apache-2.0
// Text from outside (a device's strings, names on disk, the command line) made safe to show, and
// numbers as reports and sentences write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::host {

// One line that is safe on a terminal: of control characters (line ends too), of marks that turn
// the direction of writing and of what is no UTF-8, each byte becomes `?`.
std::string printable(const std::string& text);

// "a, b".
std::string joined(const std::vector<std::string>& parts);

// 1048576 -> "1,048,576".
std::string grouped(uint64_t number);

// Bytes a second as MB/s, 10^6: 36.9; three significant digits or more, three decimals at most.
std::string megabytes_per_s(double bytes_per_s);

}  // namespace millrace::host
