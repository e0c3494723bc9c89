// SPDX-License-Identifier: Apache-2.0
// The name in a path, whichever system wrote it.
#pragma once

#include <string>

namespace millrace::placement {

inline std::string base_of_path(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace millrace::placement
