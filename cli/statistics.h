// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace millrace::cli {

// Of repeated runs. All 0 when there are none; deviation is that of a sample (n - 1), 0 for one.
struct Statistics {
  size_t count = 0;
  double mean = 0, deviation = 0, min = 0, median = 0, max = 0;
};

Statistics statistics_of(std::vector<double> values);

}  // namespace millrace::cli
