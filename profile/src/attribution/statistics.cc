// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "millrace/profile/attribution.h"

namespace millrace::profile {

Interval wilson_interval(double hits, double total) {
  if (!(total > 0)) return {};
  constexpr double kZ = 1.959963984540054;  // the normal distribution's 97.5 % quantile
  constexpr double kZ2 = kZ * kZ;
  const double p = std::clamp(hits / total, 0.0, 1.0);
  const double middle = (p + kZ2 / (2 * total)) / (1 + kZ2 / total);
  const double half =
      kZ / (1 + kZ2 / total) * std::sqrt(p * (1 - p) / total + kZ2 / (4 * total * total));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace millrace::profile
