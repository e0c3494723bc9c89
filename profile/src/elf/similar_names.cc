// SPDX-License-Identifier: Apache-2.0
#include "millrace/profile/similar_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace millrace::profile {
namespace {

constexpr size_t kMaxSimilar = 3;
constexpr size_t kMaxCompared = 200;  // bytes of a name
constexpr size_t kMinPart = 3;        // a shorter part is in too many names

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<size_t> row(a.size() + 1);
  for (size_t i = 0; i <= a.size(); ++i) row[i] = i;
  for (size_t k = 1; k <= b.size(); ++k) {
    size_t diagonal = row[0];
    row[0] = k;
    size_t least = row[0];
    for (size_t i = 1; i <= a.size(); ++i) {
      const size_t changed = diagonal + (a[i - 1] == b[k - 1] ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({changed, row[i] + 1, row[i - 1] + 1});
      least = std::min(least, row[i]);
    }
    if (least > limit) return limit + 1;
  }
  return row[a.size()];
}

size_t edits_of_a_typo(size_t length) { return std::clamp<size_t>(length / 4, 1, 8); }

std::vector<std::string> similar_functions(const ElfIndex& index, const std::string& name) {
  if (name.empty() || name.size() > kMaxCompared) return {};
  const size_t limit = edits_of_a_typo(name.size());
  // Typing errors before parts, near before far, short before long.
  std::set<std::pair<size_t, std::string>> found;
  for (const Function& one : index.functions()) {
    if (one.kind == FunctionKind::veneer || one.name.size() > kMaxCompared) continue;
    const std::string readable = without_parameters(readable_name(one.name));
    const size_t edits =
        std::min(edit_distance(name, one.name, limit), edit_distance(name, readable, limit));
    if (edits <= limit) {
      found.emplace(edits, readable);
    } else if (name.size() >= kMinPart && readable.find(name) != std::string::npos) {
      found.emplace(limit + readable.size(), readable);
    }
    if (found.size() > kMaxSimilar) found.erase(std::prev(found.end()));
  }
  std::vector<std::string> out;
  for (const auto& [rank, readable] : found) out.push_back(readable);
  return out;
}

Error no_such_function(const std::string& option, const ElfIndex& index, const std::string& name) {
  std::string remedy = "give a name as `nm` or `nm -C` prints it";
  if (!index.has_symbols()) {
    remedy = "it has no symbols at all: give the ELF as it was linked, not stripped";
  } else if (const auto similar = similar_functions(index, name); !similar.empty()) {
    remedy = "there is ";
    for (size_t i = 0; i < similar.size(); ++i) {
      remedy += (i == 0 ? "" : ", ") + printable(similar[i], 80);
    }
  }
  return Error{Error::Kind::usage, fmt::format("{}: {} has no function {} ({})", option,
                                               printable(index.path()), printable(name), remedy)};
}

}  // namespace millrace::profile
