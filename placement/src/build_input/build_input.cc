// SPDX-License-Identifier: Apache-2.0
// Linkers never warn of a pattern that takes nothing, or too much. Zephyr's FILTER is searched for,
// not matched: ".tcp_in" also takes .text.tcp_input and .rodata.tcp_in, so filters are anchored at
// both ends and NOKEEP is given, or unused functions of the file would stay in ITCM. ld's wildcards
// do not know where a name ends: `.text.f*` takes f2. A C or C++ name has no dot, so what follows
// one behind the name is a compiler's: `.text.f.[!0-9]*` takes all clones, and not `.text.f.0`, a
// nested function's. So is what stands before it (hot., unlikely., startup., exit.), and four
// patterns are exact; all written out they were 65, 4.5 KB a name. Not for a function that is
// called as a group or a clone suffix is: `.text.hot.*` is all that is hot. Those are written out.
#include "millrace/placement/build_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "build_input/patterns.h"

namespace millrace::placement {
namespace {

using profile::Function;
using profile::printable;

constexpr std::string_view kWords[] = {"hot",      "unlikely",   "startup",   "exit", "split",
                                       "sorted",   "part",       "constprop", "isra", "cold",
                                       "lto_priv", "localalias", "ipa",       "llvm", "unknown"};
constexpr const char* kClones[] = {"part", "constprop", "isra", "cold", "lto_priv", "localalias"};
constexpr const char* kGroups[] = {"", "hot.", "unlikely.", "startup.", "exit."};
constexpr const char* kDataPrefixes[] = {".rodata.", ".data.rel.ro.", ".data.", ".bss."};
constexpr const char* kClonesOfRegex = "(constprop|isra|part|cold|lto_priv|localalias)";

}  // namespace

// The file part of a pattern. A list's path is of the source; objects are named after its last
// part.
std::string file_pattern(const std::string& file) {
  if (file.empty()) return "*";
  const size_t colon = file.rfind(':');
  if (colon != std::string::npos && colon > 1) {
    return fmt::format("*{}", file);
  }
  const size_t slash = file.find_last_of("/\\");
  std::string base = slash == std::string::npos ? file : file.substr(slash + 1);
  if (base.ends_with(".o") || base.ends_with(".obj")) return fmt::format("*{}", base);
  // tcp.c becomes tcp.c.obj (CMake), tcp.c.o or tcp.o.
  const size_t dot = base.rfind('.');
  return fmt::format("*{}.*o*", base.substr(0, dot));
}

namespace {

std::string head_of(const PlacementList& list, const char* comment, const std::string& what) {
  return fmt::format("{} {}\n{} From {}. {} entries.\n", comment, what, comment,
                     list.path.empty() ? "millrace place" : printable(list.path),
                     list.entries.size());
}

}  // namespace

// A name in a regular expression of Python, inside a string of CMake.
std::string regex_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '.' || c == '$' || c == '+' || c == '*') out += "\\\\";
    out += c;
  }
  return out;
}

// Where Zephyr's own files are, whoever built it where.
std::string zephyr_path(const std::string& path) {
  static constexpr const char* kFolders[] = {"kernel/", "subsys/", "drivers/", "lib/",
                                             "arch/",   "soc/",    "boards/",  "modules/"};
  const size_t at = path.rfind("/zephyr/");
  if (at == std::string::npos) return path;
  const std::string rest = path.substr(at + 8);
  const bool is_zephyrs = std::any_of(std::begin(kFolders), std::end(kFolders),
                                      [&](const char* one) { return rest.starts_with(one); });
  return is_zephyrs ? fmt::format("${{ZEPHYR_BASE}}/{}", rest) : path;
}

std::string section_patterns(const Entry& entry) {
  if (entry.kind == EntryKind::library) return fmt::format("*{}:*(.text .text.*)", entry.name);
  if (entry.kind == EntryKind::object) {
    return fmt::format("*{}{}{}(.text .text.*)", entry.file, entry.file.empty() ? "" : ":",
                       entry.name);
  }
  if (!entry.section.empty()) return fmt::format("{}({})", file_pattern(entry.file), entry.section);
  std::string out = file_pattern(entry.file) + "(";
  const bool is_word =
      std::find(std::begin(kWords), std::end(kWords), entry.name) != std::end(kWords);
  const bool has_dot = entry.name.find('.') != std::string::npos;
  if (entry.kind == EntryKind::function && !is_word && !has_dot) {
    return out +
           fmt::format(".text.{0} .text.{0}.[!0-9]* .text.*.{0} .text.*.{0}.[!0-9]*)", entry.name);
  }
  const auto add = [&](const std::string& section) {
    if (!out.ends_with('(')) out += ' ';
    out += section;
    for (const char* clone : kClones) out += fmt::format(" {0}.{1} {0}.{1}.*", section, clone);
  };
  if (entry.kind == EntryKind::data) {
    // Tables of a function and objects with equal names have numbers: NAME.0.
    for (const char* prefix : kDataPrefixes) {
      out +=
          fmt::format("{0}{1}{2} {1}{2}.[0-9]*", out.ends_with('(') ? "" : " ", prefix, entry.name);
    }
  } else {
    for (const char* group : kGroups) add(fmt::format(".text.{}{}", group, entry.name));
  }
  return out + ")";
}

std::string gnu_ld_fragment(const PlacementList& list, const std::string& memory) {
  std::string out = fmt::format(
      "/* Input sections for {}, from {}: INCLUDE this in an output\n"
      "   section that stands before the one that takes all of .text. */\n",
      memory, list.path.empty() ? "millrace place" : printable(list.path));
  for (const Entry& entry : list.entries) out += section_patterns(entry) + '\n';
  return out;
}

std::string zephyr_snippet(const PlacementList& list) {
  std::string out =
      "/* For zephyr_linker_sources(ITCM_SECTION this_file): Zephyr 4.3 and later, where ITCM "
      "stands\n"
      "   before .text. Data goes to a file of its own, with DTCM_SECTION. */\n";
  for (const Entry& entry : list.entries) {
    if (entry.kind != EntryKind::data) out += section_patterns(entry) + '\n';
  }
  return out;
}

std::string zephyr_cmake(const PlacementList& list, ElfIndex* index, const std::string& region) {
  std::map<std::string, std::set<std::string>> by_file;
  std::vector<std::string> unplaced;
  const std::vector<Match> matches = match_list(list, index);
  for (size_t i = 0; i < matches.size(); ++i) {
    const Entry& entry = list.entries[i];
    if (entry.kind == EntryKind::library) {
      unplaced.push_back(fmt::format("{}: zephyr_code_relocate(LIBRARY target LOCATION {}_TEXT)",
                                     entry_text(entry), region));
      continue;
    }
    bool found = false;
    for (const uint32_t number : matches[i].functions) {
      const Function& function = index->functions()[number];
      if (function.file.find('/') == std::string::npos || !entry.section.empty()) continue;
      const std::string name = entry.kind == EntryKind::object
                                   ? profile::base_name_of_clone(function.name)
                                   : profile::base_name_of_clone(entry.name);
      by_file[zephyr_path(function.file)].insert(name);
      found = true;
    }
    if (!found) {
      unplaced.push_back(fmt::format("{}: no source file; in a linker snippet {}",
                                     entry_text(entry), section_patterns(entry)));
    }
  }
  std::string out = head_of(list, "#", "zephyr_code_relocate() for Zephyr 4.1 and later");
  out +=
      "# Needs CONFIG_CODE_DATA_RELOCATION=y. A file that a build does not compile is an error.\n";
  for (const auto& [file, names] : by_file) {
    std::string all;
    for (const std::string& name : names)
      all += fmt::format("{}{}", all.empty() ? "" : "|", regex_name(name));
    out += fmt::format(
        "zephyr_code_relocate(FILES {}\n  FILTER "
        "\"^\\\\.text\\\\.((hot|unlikely|startup|exit)\\\\.)?({})(\\\\.{}(\\\\.[0-9]+)*)*$\"\n"
        "  LOCATION {}_TEXT NOKEEP)\n",
        file, all, kClonesOfRegex, region);
  }
  for (const std::string& line : unplaced) out += fmt::format("# {}\n", printable(line, 2000));
  return out;
}

std::string attribute_list(const PlacementList& list, ElfIndex* index, const std::string& macro) {
  const std::vector<Match> matches = match_list(list, index);
  std::map<std::pair<std::string, uint32_t>, std::set<std::string>> lines;
  std::vector<std::string> unknown;
  for (size_t i = 0; i < matches.size(); ++i) {
    bool found = false;
    for (const uint32_t number : matches[i].functions) {
      const Function& function = index->functions()[number];
      if (function.line == 0) continue;
      // An attribute takes clones along: they are not named.
      const std::string origin = profile::base_name_of_clone(function.name);
      lines[{function.file, function.line}].insert(profile::readable_name(origin));
      found = true;
    }
    if (!found) unknown.push_back(entry_text(list.entries[i]));
  }
  std::string out = head_of(list, "//", fmt::format("Write {} before these functions", macro));
  std::string file;
  for (const auto& [where, names] : lines) {
    if (where.first != file) out += fmt::format("\n{}:\n", where.first);
    file = where.first;
    for (const std::string& name : names) {
      out += fmt::format("{:>6}: {} {}\n", where.second, macro, printable(name, 300));
    }
  }
  if (!unknown.empty()) {
    out += "\n// No source line is known (a library without -g): these stay where they are\n";
  }
  for (const std::string& name : unknown) out += fmt::format("// {}\n", printable(name, 300));
  return out;
}

}  // namespace millrace::placement
