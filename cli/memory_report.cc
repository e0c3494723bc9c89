// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/print.h"
#include "cli/profile_report.h"
#include "cli/short_name.h"
#include "cli/table.h"
#include "cli/values.h"

namespace millrace::cli {

using profile::MemoryItem;
using profile::MemoryReport;
using profile::RegionUse;

namespace {

constexpr KeyRow row(12);

std::string overlap_sentence(const profile::Overlap& one) {
  return fmt::format("sections {} and {} {} {} from 0x{:08X}", one.first, one.second,
                     one.is_stored ? "are stored on the same" : "stand on the same",
                     plural(one.bytes, "byte"), one.start);
}

std::string bank_sentence(const profile::BankUse& use) {
  const std::string& first = use.banks.regions[0];
  std::string out = fmt::format(
      "{} banks of {} KB: {} for {}{}, {} for {}", use.banks.count, use.banks.bytes / 1024,
      use.assigned, first, use.is_from_symbol ? " (as the linker script counts)" : "",
      use.banks.count - std::min(use.assigned, use.banks.count), use.banks.regions[1]);
  if (use.needed > 0) {
    out += fmt::format(
        "; {} more bytes fit into {} behind what is there, and {} out of it would give a bank back "
        "to {}",
        grouped(use.left_in_last), first, plural(use.to_win_back, "byte"), use.banks.regions[1]);
  }
  if (use.assigned > use.needed) {
    out += fmt::format("; {} assigned and not needed", plural(use.assigned - use.needed, "bank"));
  }
  return out;
}

// One level of the treemap: items by what `keys` says, innermost level by name.
struct Node {
  std::map<std::string, Node> children;
  uint64_t bytes = 0, weight = 0;
  uint32_t address = 0;
};

Json node_json(const std::string& name, const Node& node) {
  Json out = {{"name", name}, {"bytes", node.bytes}, {"weight", node.weight}};
  if (node.children.empty()) {
    out["address"] = node.address;
    return out;
  }
  std::vector<std::pair<std::string, const Node*>> sorted;
  for (const auto& [key, child] : node.children) sorted.emplace_back(key, &child);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second->bytes > b.second->bytes; });
  Json children = Json::array();
  for (const auto& [key, child] : sorted) children.push_back(node_json(key, *child));
  out["children"] = std::move(children);
  return out;
}

}  // namespace

std::string memory_report(const MemoryReport& report, size_t top) {
  std::string out = row("target", fmt::format("{} ({})", report.target.name, report.target.about));
  if (report.banks) out += row("banks", bank_sentence(*report.banks));
  uint64_t fast = 0;
  for (const RegionUse& one : report.regions) fast += one.is_fast ? one.free() : 0;
  out += row("fast memory",
             fmt::format("{} bytes left for data, code, stack and heap", grouped(fast)));
  for (const profile::Overlap& one : report.overlaps) out += row("OVERLAP", overlap_sentence(one));
  for (const std::string& one : report.problems) out += row("PROBLEM", one);
  for (const std::string& one : report.shared) out += row("shared", one);
  for (const std::string& one : report.notes) out += row("note", one);

  Table regions({"<region", "<at", "bytes", "run there", "stored there", "free", "full %"});
  for (const RegionUse& one : report.regions) {
    if (one.occupied == 0 && !one.is_fast) continue;
    regions.add({one.name, fmt::format("0x{:08X}", one.start), grouped(one.size), grouped(one.run),
                 grouped(one.stored), grouped(one.free()),
                 one.size == 0 ? "-"
                               : fmt::format("{:.1f}", 100.0 * static_cast<double>(one.occupied) /
                                                           static_cast<double>(one.size))});
  }
  out += '\n' + regions.text();

  Table items({"<biggest", "<region", "<section", "<library or folder", "bytes"});
  for (size_t i = 0; i < std::min(top, report.items.size()); ++i) {
    const MemoryItem& one = report.items[i];
    items.add({short_name(one.name, 38), one.region, cut_middle(one.section, 18),
               cut_middle(one.library, 20), grouped(one.bytes)});
  }
  out += '\n' + items.text();
  if (report.items.size() > top) out += fmt::format("and {} more\n", report.items.size() - top);
  return out;
}

std::string memory_csv(const MemoryReport& report) {
  Table table({"<name", "<region", "<section", "<library", "<file", "<address", "bytes", "<code"});
  for (const MemoryItem& one : report.items) {
    table.add({one.name, one.region, one.section, one.library, one.file,
               fmt::format("0x{:08X}", one.address), std::to_string(one.bytes),
               one.is_code ? "yes" : "no"});
  }
  return table.csv();
}

Json treemap_json(const MemoryReport& report) {
  Node root;
  for (const MemoryItem& item : report.items) {
    const auto named = [](const std::string& text) {
      return text.empty() ? std::string("(unknown)") : text;
    };
    const std::string path[] = {item.region, item.section, named(item.library), named(item.file),
                                fmt::format("{} @{:08x}", item.name, item.address)};
    Node* node = &root;
    node->bytes += item.bytes;
    node->weight += item.weight;
    for (const std::string& key : path) {
      node = &node->children[key];
      node->bytes += item.bytes;
      node->weight += item.weight;
    }
    node->address = item.address;
  }
  return node_json("program", root);
}

void add_memory_json(Json* document, const MemoryReport& report) {
  Json regions = Json::array();
  for (const RegionUse& one : report.regions) {
    regions.push_back({{"name", one.name},
                       {"start", one.start},
                       {"bytes", one.size},
                       {"run_bytes", one.run},
                       {"stored_bytes", one.stored},
                       {"occupied_bytes", one.occupied},
                       {"free_bytes", one.free()},
                       {"is_fast", one.is_fast},
                       {"is_cached", one.is_cached}});
  }
  Json items = Json::array();
  for (const MemoryItem& one : report.items) {
    items.push_back({{"name", one.name},
                     {"region", one.region},
                     {"section", one.section},
                     {"library", one.library},
                     {"file", one.file},
                     {"address", one.address},
                     {"bytes", one.bytes},
                     {"is_code", one.is_code}});
  }
  Json overlaps = Json::array();
  for (const profile::Overlap& one : report.overlaps) {
    overlaps.push_back({{"first", one.first},
                        {"second", one.second},
                        {"start", one.start},
                        {"bytes", one.bytes},
                        {"is_stored", one.is_stored}});
  }
  Json memory = {{"target", report.target.name}, {"regions", regions}};
  if (report.banks) {
    const profile::BankUse& use = *report.banks;
    memory["banks"] = {{"count", use.banks.count},
                       {"bytes", use.banks.bytes},
                       {"first_region", use.banks.regions[0]},
                       {"last_region", use.banks.regions[1]},
                       {"needed", use.needed},
                       {"assigned", use.assigned},
                       {"bytes_to_win_one_back", use.to_win_back},
                       {"bytes_left_in_last", use.left_in_last}};
  } else {
    memory["banks"] = nullptr;
  }
  memory["overlaps"] = overlaps;
  memory["problems"] = report.problems;
  memory["shared_regions"] = report.shared;
  memory["notes"] = report.notes;
  memory["items"] = items;
  (*document)["memory"] = std::move(memory);
}

}  // namespace millrace::cli
