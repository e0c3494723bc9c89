// SPDX-License-Identifier: Apache-2.0
#include "cli/statistics.h"

#include <algorithm>
#include <cmath>

namespace millrace::cli {

Statistics statistics_of(std::vector<double> values) {
  Statistics out;
  out.count = values.size();
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  out.mean = sum / n;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.deviation = values.size() == 1 ? 0 : std::sqrt(squares / (n - 1));
  out.min = values.front();
  out.max = values.back();
  const size_t half = values.size() / 2;
  out.median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return out;
}

}  // namespace millrace::cli
