// SPDX-License-Identifier: Apache-2.0
#include "place/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace millrace::placement {

using profile::CallEdge;
using profile::EdgeKind;
using profile::kNone;

std::vector<bool> Workspace::moved(const Chosen& chosen) const {
  std::vector<bool> out(units.units.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    for (const uint32_t unit : candidates[i].units) out[unit] = true;
  }
  return out;
}

uint64_t Workspace::bytes(const Chosen& chosen) const {
  uint64_t out = 0;
  for (size_t i = 0; i < chosen.size(); ++i) out += chosen[i] ? candidates[i].bytes : 0;
  return out;
}

uint64_t Workspace::veneers(const Chosen& chosen) const {
  std::set<uint32_t> callees;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    for (const uint32_t unit : candidates[i].units) {
      for (const uint32_t function : units.units[unit].functions) {
        for (const CallEdge& edge : graph.from(function)) {
          if (edge.kind == EdgeKind::address) continue;
          const uint32_t to = units.of_function[edge.to];
          const bool goes_along =
              to != kNone && candidate_of[to] != kNone && chosen[candidate_of[to]];
          if (goes_along) continue;
          if (needs_veneer(region_start, index->functions()[edge.to].start)) {
            callees.insert(edge.to);
          }
        }
      }
    }
  }
  return callees.size() * uint64_t{veneer_bytes};
}

double Workspace::stall(const Chosen& chosen) const {
  const std::vector<bool> units_moved = moved(chosen);
  return sim != nullptr ? sim->stall(units_moved) : model->stall(units_moved);
}

std::vector<double> Workspace::marginal(const Chosen& chosen) const {
  const std::vector<double> by_unit = model->marginal(moved(chosen));
  std::vector<double> out(candidates.size(), 0);
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (chosen[i]) continue;
    for (const uint32_t unit : candidates[i].units) {
      out[i] += by_unit[unit] + (sim != nullptr ? sim->data_stall(unit) : 0);
    }
  }
  return out;
}

uint64_t Workspace::steps() const {
  return units.units.size() + input.spots.size() * 2 + (sim != nullptr ? sim->visits() * 4 : 0) +
         1000;
}

Failure units_named(const std::vector<std::string>& lines, const std::string& option,
                    ElfIndex* index, const Units& units, std::vector<bool>* out) {
  out->assign(units.units.size(), false);
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  PlacementList list;
  Failure failure = parse_list(option, text, &list);
  if (failure) return Error{Error::Kind::usage, failure->message};
  const std::vector<Match> matches = match_list(list, index);
  for (size_t i = 0; i < matches.size(); ++i) {
    const Match& match = matches[i];
    if (is_drift(match.state) && match.state != MatchState::ambiguous) {
      return Error{Error::Kind::usage,
                   fmt::format("{} {} (`millrace place --csv` lists the names)", option,
                               match_sentence(list.entries[i], match, *index))};
    }
    for (const uint32_t function : match.functions) {
      if (units.of_function[function] != kNone) (*out)[units.of_function[function]] = true;
    }
    for (const uint32_t object : match.objects) {
      if (units.of_object[object] != kNone) (*out)[units.of_object[object]] = true;
    }
  }
  return {};
}

}  // namespace millrace::placement
