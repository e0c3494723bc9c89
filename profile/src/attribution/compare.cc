// SPDX-License-Identifier: Apache-2.0
// Two profiles side by side. Addresses differ between builds, names do not: a function is matched
// by its name without clone suffixes and the last part of its file's path, so that a build in
// another folder matches too.
#include <algorithm>
#include <cmath>
#include <map>

#include "millrace/profile/attribution.h"

namespace millrace::profile {
namespace {

std::string key_of(const FunctionRow& row) {
  return base_name_of_clone(row.name) + '\n' + row.file.substr(row.file.rfind('/') + 1);
}

struct Side {
  std::string memory;
  uint64_t weight = 0;
};

// The difference of two shares against its standard error, with the pooled share.
bool is_beyond_noise(const Profile& a, uint64_t hits_a, const Profile& b, uint64_t hits_b) {
  if (a.unit != WeightUnit::samples || b.unit != WeightUnit::samples) return hits_a != hits_b;
  const auto n_a = static_cast<double>(a.busy()), n_b = static_cast<double>(b.busy());
  if (n_a == 0 || n_b == 0) return false;
  const double pooled = (static_cast<double>(hits_a) + static_cast<double>(hits_b)) / (n_a + n_b);
  const double error = std::sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b));
  return std::abs(a.share(hits_a) - b.share(hits_b)) > 1.959963984540054 * error;
}

double busy_share(const Profile& profile) {
  return profile.total == 0
             ? 0
             : static_cast<double>(profile.busy()) / static_cast<double>(profile.total);
}

}  // namespace

double DiffRow::change() const {
  if (cycles_before && cycles_after) return *cycles_after - *cycles_before;
  return share_after - share_before;
}

ProfileDiff compare(const Profile& before, const Profile& after) {
  ProfileDiff out;
  out.cycles_before = before.cycles_per_event;
  out.cycles_after = after.cycles_per_event;
  out.busy_before = busy_share(before);
  out.busy_after = busy_share(after);
  std::map<std::string, std::array<Side, 2>> sides;
  std::map<std::string, const FunctionRow*> rows;
  const auto gather = [&](const Profile& profile, size_t side) {
    for (const FunctionRow& row : profile.functions) {
      Side& one = sides[key_of(row)][side];
      if (one.weight == 0) one.memory = row.memory;
      one.weight += row.weight;
      rows.emplace(key_of(row), &row);
    }
  };
  gather(before, 0);
  gather(after, 1);
  const bool has_cycles = before.cycles_per_event && after.cycles_per_event;
  for (const auto& [key, both] : sides) {
    DiffRow row;
    row.name = base_name_of_clone(rows[key]->name);
    row.file = rows[key]->file;
    row.memory_before = both[0].memory;
    row.memory_after = both[1].memory;
    row.share_before = before.share(both[0].weight);
    row.share_after = after.share(both[1].weight);
    if (has_cycles) {
      row.cycles_before = before.cycles_of(both[0].weight);
      row.cycles_after = after.cycles_of(both[1].weight);
    }
    row.is_significant = is_beyond_noise(before, both[0].weight, after, both[1].weight);
    out.functions.push_back(std::move(row));
  }
  std::stable_sort(out.functions.begin(), out.functions.end(),
                   [](const DiffRow& a, const DiffRow& b) {
                     return std::abs(a.change()) > std::abs(b.change());
                   });
  return out;
}

}  // namespace millrace::profile
