// SPDX-License-Identifier: Apache-2.0
#include "place/region.h"

#include <fmt/format.h>

namespace millrace::placement {

using profile::printable;
using profile::TargetRegion;

Failure find_region(const ElfIndex& index, const profile::Target& target, const std::string& name,
                    Contents contents, const TargetRegion** out) {
  const auto usage = [](std::string message) {
    return Error{Error::Kind::usage, std::move(message)};
  };
  if (Failure failure = require_symbols(index)) return failure;
  const bool is_code = contents == Contents::code;
  const TargetRegion* region = nullptr;
  std::string known, fast;
  for (const TargetRegion& one : target.regions) {
    known += (known.empty() ? "" : ", ") + one.name;
    if (one.is_fast) fast += (fast.empty() ? "" : ", ") + one.name;
    const bool wanted =
        name.empty() ? one.is_fast && (is_code ? one.is_code : one.is_data) : one.name == name;
    if (wanted && region == nullptr) region = &one;
  }
  if (region == nullptr && name.empty()) {
    return usage(
        fmt::format("target {} has no fast memory for {} (name one with --target, or a file: "
                    "spec/target_file.md)",
                    target.name, is_code ? "code" : "data"));
  }
  if (region == nullptr) {
    return usage(fmt::format("target {} has no region {} (it has {})", target.name,
                             printable(name, 60), known));
  }
  if (!region->is_fast) {
    return usage(fmt::format("region {} of target {} is not fast: nothing is won there (fast: {})",
                             region->name, target.name, fast.empty() ? "none" : fast));
  }
  *out = region;
  return {};
}

Failure check_budget(const TargetRegion& region, uint64_t budget, Contents contents) {
  const auto usage = [](std::string message) {
    return Error{Error::Kind::usage, std::move(message)};
  };
  const char* const what = contents == Contents::code ? "" : " for data";
  if (budget == 0) return usage(fmt::format("a budget of 0 bytes{} holds nothing", what));
  if (budget > region.size) {
    return usage(
        fmt::format("a budget of {} bytes{} is more than {} has: {} bytes (`millrace memory` "
                    "says how many are free)",
                    budget, what, region.name, region.size));
  }
  return {};
}

}  // namespace millrace::placement
