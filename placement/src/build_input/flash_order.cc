// SPDX-License-Identifier: Apache-2.0
// The order of what stays in flash: call-chain clustering (C3: Ottoni and Maher, CGO 2017). Busy
// functions one after another; each is appended to the cluster of its busiest caller unless that
// grows beyond a page's worth of cache lines; clusters by weight a byte. A plain profile does not
// count calls, so a caller's own weight stands for it. Rejected: colouring by cache sets, which
// depends on every later change of a size.
#include <algorithm>

#include "millrace/placement/build_input.h"
#include "value/fetch_input.h"

namespace millrace::placement {
namespace {

using profile::CallEdge;
using profile::EdgeKind;
using profile::kNone;

constexpr uint64_t kMaxClusterBytes = 4096;

struct Cluster {
  std::vector<uint32_t> units;
  uint64_t bytes = 0, weight = 0;
};

}  // namespace

std::vector<uint32_t> flash_order(const profile::Profile& profile, const Units& units,
                                  const profile::CallGraph& graph, const std::vector<bool>& moved) {
  std::vector<uint64_t> weight(units.units.size(), 0);
  for (const profile::StackSample& one : profile.stacks) {
    const uint32_t unit = unit_at(units, one.pc);
    if (unit != kNone) weight[unit] += one.weight;
  }
  std::vector<uint32_t> busy, caller(units.units.size(), kNone);
  for (uint32_t i = 0; i < units.units.size(); ++i) {
    const bool stays = i >= moved.size() || !moved[i];
    const Unit& unit = units.units[i];
    const profile::TargetRegion* region = profile.target.region_at(unit.address);
    const bool is_slow = region == nullptr || !region->is_fast;
    if (weight[i] > 0 && stays && is_slow && unit.kind == UnitKind::code && !unit.name.empty()) {
      busy.push_back(i);
    }
  }
  for (const CallEdge& edge : graph.edges()) {
    if (edge.kind == EdgeKind::address) continue;
    const uint32_t from = units.of_function[edge.from], to = units.of_function[edge.to];
    if (from == kNone || to == kNone || from == to) continue;
    if (caller[to] == kNone || weight[from] > weight[caller[to]]) caller[to] = from;
  }
  std::stable_sort(busy.begin(), busy.end(),
                   [&](uint32_t a, uint32_t b) { return weight[a] > weight[b]; });
  std::vector<Cluster> clusters;
  std::vector<uint32_t> cluster_of(units.units.size(), kNone);
  for (const uint32_t unit : busy) {
    cluster_of[unit] = static_cast<uint32_t>(clusters.size());
    clusters.push_back({{unit}, units.units[unit].size, weight[unit]});
  }
  for (const uint32_t unit : busy) {
    if (caller[unit] == kNone || cluster_of[caller[unit]] == kNone) continue;
    const uint32_t from = cluster_of[unit], to = cluster_of[caller[unit]];
    if (from == to || clusters[from].bytes + clusters[to].bytes > kMaxClusterBytes) continue;
    for (const uint32_t one : clusters[from].units) cluster_of[one] = to;
    Cluster& grown = clusters[to];
    grown.units.insert(grown.units.end(), clusters[from].units.begin(), clusters[from].units.end());
    grown.bytes += clusters[from].bytes;
    grown.weight += clusters[from].weight;
    clusters[from] = {};
  }
  std::stable_sort(clusters.begin(), clusters.end(), [](const Cluster& a, const Cluster& b) {
    return static_cast<double>(a.weight) * static_cast<double>(b.bytes) >
           static_cast<double>(b.weight) * static_cast<double>(a.bytes);
  });
  std::vector<uint32_t> out;
  for (const Cluster& one : clusters) {
    out.insert(out.end(), one.units.begin(), one.units.end());
  }
  return out;
}

std::string symbol_order_file(const std::vector<Entry>& order) {
  std::string out = "# lld --symbol-ordering-file\n";
  for (const Entry& entry : order) out += entry.name + '\n';
  return out;
}

std::string gnu_ld_order(const std::vector<Entry>& order) {
  std::string out = "/* At the front of the output section that takes .text from flash. */\n";
  for (const Entry& entry : order) out += section_patterns(entry) + '\n';
  return out;
}

}  // namespace millrace::placement
