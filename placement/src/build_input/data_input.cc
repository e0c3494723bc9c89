// SPDX-License-Identifier: Apache-2.0
// Data needs two places: what has a value is copied by start-up code, what begins as zero is
// cleared by it. Both patterns are written for every object, since whether it has a value may
// change from one build to the next.
#include "millrace/placement/data_input.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <vector>

#include "build_input/patterns.h"
#include "data/dma_rules.h"

namespace millrace::placement {
namespace {

using profile::printable;

std::string patterns(const Entry& entry, const std::vector<const char*>& prefixes) {
  std::string out = file_pattern(entry.file) + "(";
  for (const char* prefix : prefixes) {
    // Variables inside functions have numbers: NAME.0.
    out +=
        fmt::format("{0}{1}{2} {1}{2}.[0-9]*", out.ends_with('(') ? "" : " ", prefix, entry.name);
  }
  return out + ")\n";
}

bool is_zeroed_section(const std::string& section) {
  return section.starts_with(".bss") || section == "COMMON" || section.starts_with(".noinit");
}

std::string fragment(const PlacementList& list, bool zeroed) {
  std::string out;
  for (const Entry& entry : list.entries) {
    if (entry.kind != EntryKind::data) continue;
    if (!entry.section.empty()) {
      if (is_zeroed_section(entry.section) == zeroed) {
        out += fmt::format("{}({})\n", file_pattern(entry.file), entry.section);
      }
    } else if (zeroed) {
      out += patterns(entry, {".bss."});
    } else {
      out += patterns(entry, {".rodata.", ".data.rel.ro.", ".data."});
    }
  }
  return out;
}

std::string from(const PlacementList& list) {
  return list.path.empty() ? "millrace place" : printable(list.path);
}

}  // namespace

std::string gnu_ld_data(const PlacementList& list) {
  return fmt::format(
             "/* Data with a value for fast memory, from {}: INCLUDE this in an output section\n"
             "   that start-up code copies, before what takes all of .rodata and .data. */\n",
             from(list)) +
         fragment(list, false);
}

std::string gnu_ld_zeroed(const PlacementList& list) {
  return fmt::format(
             "/* Data that begins as zero, for fast memory, from {}: INCLUDE this in an output\n"
             "   section (NOLOAD) that start-up code clears, before what takes all of .bss. */\n",
             from(list)) +
         fragment(list, true);
}

std::string zephyr_data_snippet(const PlacementList& list) {
  return "/* For zephyr_linker_sources(DTCM_SECTION this_file). What begins as zero is stored as\n"
         "   zeros there: it takes as many bytes of flash. */\n" +
         fragment(list, false) + fragment(list, true);
}

std::string zephyr_data_cmake(const DataPlacement& placed) {
  std::map<std::string, std::set<std::string>> by_file;
  std::vector<std::string> unplaced;
  for (const DataCandidate& one : placed.candidates) {
    if (one.why != DataWhy::chosen && one.why != DataWhy::pinned) continue;
    if (one.source.find('/') == std::string::npos || !one.entry.section.empty()) {
      unplaced.push_back(entry_text(one.entry));
    } else {
      by_file[zephyr_path(one.source)].insert(one.entry.name);
    }
  }
  std::string out =
      "# Data objects: zephyr_code_relocate() for Zephyr 4.1 and later.\n"
      "# Needs CONFIG_CODE_DATA_RELOCATION=y.\n";
  for (const auto& [file, names] : by_file) {
    std::string all;
    for (const std::string& name : names) {
      all += fmt::format("{}{}", all.empty() ? "" : "|", regex_name(name));
    }
    out += fmt::format(
        "zephyr_code_relocate(FILES {}\n  FILTER "
        "\"^\\\\.(rodata|data\\\\.rel\\\\.ro|data|bss)\\\\.({})(\\\\.[0-9]+)*$\"\n"
        "  LOCATION {}_RODATA_DATA_BSS NOKEEP)\n",
        file, all, placed.region);
  }
  for (const std::string& entry : unplaced) {
    out += fmt::format("# {}: no source file, or no section of its own (--zephyr-data-snippet)\n",
                       printable(entry, 2000));
  }
  return out;
}

std::string data_attributes(const DataPlacement& placed) {
  std::string out;
  for (const DataCandidate& one : placed.candidates) {
    if (one.why != DataWhy::chosen && one.why != DataWhy::pinned) continue;
    const char* attribute = teensy_attribute(one.section);
    const std::string& file = one.source.empty() ? one.file : one.source;
    const std::string where = file.empty() ? "" : fmt::format("{}: ", printable(file, 300));
    if (attribute != nullptr) {
      out += fmt::format("{}remove {} from {}\n", where, attribute, printable(one.name, 300));
    } else {
      out += fmt::format("// {}{} is in {} by {}: no attribute of Teensyduino put it there\n",
                         where, printable(one.name, 300), one.memory, printable(one.section, 80));
    }
  }
  if (!out.empty()) out = "\n// Data objects\n" + out;
  return out;
}

}  // namespace millrace::placement
