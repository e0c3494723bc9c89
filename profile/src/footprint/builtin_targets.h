// SPDX-License-Identifier: Apache-2.0
// profile/targets/*.target, put into the program by CMake.
#pragma once

#include <span>

namespace millrace::profile {

struct BuiltinTarget {
  const char* name;
  const char* text;
};

extern const std::span<const BuiltinTarget> kBuiltinTargets;

}  // namespace millrace::profile
