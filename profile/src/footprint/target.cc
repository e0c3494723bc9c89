// SPDX-License-Identifier: Apache-2.0
#include "millrace/profile/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "footprint/builtin_targets.h"

namespace millrace::profile {
namespace {

constexpr size_t kMaxRegions = 64, kMaxConditions = 16, kMaxControllers = 16;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) break;
    const size_t end = std::min(text.find_first_of(" \t\r", first), text.size());
    out.push_back(text.substr(first, end - first));
    text.remove_prefix(end);
  }
  return out;
}

bool number(std::string_view text, uint64_t* out) {
  uint64_t scale = 1;
  if (text.ends_with('K')) scale = 1024;
  if (text.ends_with('M')) scale = 1048576;
  if (scale > 1) text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return false;
  if (*out > (uint64_t{1} << 32)) return false;
  *out *= scale;
  return *out <= uint64_t{1} << 32;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

// Each takes the words behind `=` and returns an empty string or what would be right.
std::string take_when(const std::vector<std::string_view>& words, Target* out) {
  uint64_t address = 0;
  if (out->when_symbols.size() + out->when_sections.size() + out->when_addresses.size() ==
      kMaxConditions) {
    return fmt::format("more than {} conditions", kMaxConditions);
  }
  if (words.size() == 2 && words[0] == "symbol") {
    out->when_symbols.emplace_back(words[1]);
  } else if (words.size() == 2 && words[0] == "section") {
    out->when_sections.emplace_back(words[1]);
  } else if (words.size() == 2 && words[0] == "address" && number(words[1], &address) &&
             address <= UINT32_MAX) {
    out->when_addresses.push_back(static_cast<uint32_t>(address));
  } else {
    return "write `when = symbol NAME`, `when = section NAME` or `when = address A`";
  }
  return {};
}

std::string take_region(const std::vector<std::string_view>& words, Target* out) {
  TargetRegion region;
  uint64_t start = 0;
  if (words.size() < 3 || !is_name(words[0]) || !number(words[1], &start) ||
      !number(words[2], &region.size) || region.size == 0 ||
      start + region.size > uint64_t{1} << 32) {
    return "write `region = NAME START SIZE [fast] [cached] [code] [data] [dma]`, within 32 bits";
  }
  region.name = std::string(words[0]);
  region.start = static_cast<uint32_t>(start);
  for (size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "fast") {
      region.is_fast = true;
    } else if (words[i] == "cached") {
      region.is_cached = true;
    } else if (words[i] == "code") {
      region.is_code = true;
    } else if (words[i] == "data") {
      region.is_data = true;
    } else if (words[i] == "dma") {
      region.is_dma = true;
    } else {
      return fmt::format("{} is none of fast, cached, code, data, dma",
                         printable(std::string(words[i])));
    }
  }
  if (out->regions.size() == kMaxRegions) return fmt::format("more than {} regions", kMaxRegions);
  for (const TargetRegion& other : out->regions) {
    if (other.name == region.name) return fmt::format("a second region {}", region.name);
    if (start < other.end() && other.start < region.end()) {
      return fmt::format("region {} overlaps {}", region.name, other.name);
    }
  }
  out->regions.push_back(std::move(region));
  return {};
}

std::string take_controller(const std::vector<std::string_view>& words, Target* out) {
  TargetController controller;
  uint64_t start = 0;
  if (words.size() != 3 || !is_name(words[0]) || !number(words[1], &start) ||
      !number(words[2], &controller.size) || controller.size == 0 ||
      start + controller.size > uint64_t{1} << 32) {
    return "write `controller = REGION START SIZE`, within 32 bits";
  }
  if (out->controllers.size() == kMaxControllers) {
    return fmt::format("more than {} controllers", kMaxControllers);
  }
  controller.region = std::string(words[0]);
  controller.start = static_cast<uint32_t>(start);
  out->controllers.push_back(std::move(controller));
  return {};
}

std::string take_banks(const std::vector<std::string_view>& words, Target* out) {
  uint64_t count = 0, bytes = 0;
  if (words.size() < 4 || words.size() > 5 || !number(words[0], &count) ||
      !number(words[1], &bytes) || count == 0 || count > 1024 || bytes == 0 || bytes > (1u << 30)) {
    return "write `banks = COUNT SIZE FIRST LAST [SYMBOL]`";
  }
  out->banks = TargetBanks{static_cast<uint32_t>(count),
                           static_cast<uint32_t>(bytes),
                           {std::string(words[2]), std::string(words[3])},
                           words.size() == 5 ? std::string(words[4]) : std::string()};
  return {};
}

std::string take_cache(const std::vector<std::string_view>& words, Target* out) {
  uint64_t line = 0, sets = 0, ways = 0;
  const auto is_power = [](uint64_t n) { return n > 0 && (n & (n - 1)) == 0; };
  if (words.size() != 3 || !number(words[0], &line) || !number(words[1], &sets) ||
      !number(words[2], &ways) || !is_power(line) || !is_power(sets) || line > 4096 ||
      sets > 65536 || ways == 0 || ways > 64) {
    return "write `cache = LINE SETS WAYS`, the first two powers of two";
  }
  out->cache = TargetCache{static_cast<uint32_t>(line), static_cast<uint32_t>(sets),
                           static_cast<uint32_t>(ways)};
  return {};
}

std::string take(std::string_view key, std::string_view value, Target* out) {
  const std::vector<std::string_view> words = words_of(value);
  if (key == "name") {
    if (words.size() != 1 || !is_name(words[0])) return "a name is one word";
    out->name = std::string(words[0]);
    return {};
  }
  if (key == "about") {
    for (const std::string_view word : words) {
      if (!out->about.empty()) out->about += ' ';
      out->about += printable(std::string(word));
    }
    return {};
  }
  if (key == "when") return take_when(words, out);
  if (key == "region") return take_region(words, out);
  if (key == "controller") return take_controller(words, out);
  if (key == "banks") return take_banks(words, out);
  if (key == "cache") return take_cache(words, out);
  return fmt::format("{} is none of name, about, when, region, controller, banks, cache",
                     printable(std::string(key), 40));
}

bool fits(const Target& target, const ElfIndex& index) {
  const auto has_symbol = [&](const std::string& name) {
    return index.symbol(name).has_value() || index.function_named(name) != kNone;
  };
  const auto has_section = [&](const std::string& name) {
    return std::any_of(index.sections().begin(), index.sections().end(),
                       [&](const Section& section) { return section.name == name; });
  };
  if (target.when_symbols.empty() && target.when_sections.empty() &&
      target.when_addresses.empty()) {
    return false;
  }
  return std::all_of(target.when_symbols.begin(), target.when_symbols.end(), has_symbol) &&
         std::all_of(target.when_sections.begin(), target.when_sections.end(), has_section) &&
         std::all_of(target.when_addresses.begin(), target.when_addresses.end(),
                     [&](uint32_t address) { return index.section_at(address) != kNone; });
}

}  // namespace

const TargetRegion* Target::region_at(uint32_t address) const {
  for (const TargetRegion& one : regions) {
    if (address >= one.start && address < one.end()) return &one;
  }
  return nullptr;
}

const TargetRegion* Target::region(const std::string& wanted) const {
  for (const TargetRegion& one : regions) {
    if (one.name == wanted) return &one;
  }
  return nullptr;
}

Failure parse_target(const std::string& path, std::string_view text, Target* out) {
  *out = {};
  const auto failure = [&](const std::string& what) {
    return Error{Error::Kind::malformed, fmt::format("{}: {}", printable(path), what)};
  };
  if (text.size() > kMaxTargetBytes) return failure("no target file: more than 64 KB");
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (words_of(line).empty()) continue;
    const size_t equals = line.find('=');
    const std::vector<std::string_view> key = words_of(line.substr(0, equals));
    if (equals == std::string_view::npos || key.size() != 1) {
      return failure(fmt::format("line {}: write `name = value` (spec/target_file.md)", number));
    }
    const std::string problem = take(key[0], line.substr(equals + 1), out);
    if (!problem.empty()) return failure(fmt::format("line {}: {}", number, problem));
  }
  if (out->name.empty() || out->regions.empty()) {
    return failure("a target needs a name and a region (spec/target_file.md)");
  }
  for (const TargetController& one : out->controllers) {
    if (out->region(one.region) == nullptr) {
      return failure(fmt::format("a controller of region {}, which is not there", one.region));
    }
  }
  if (out->banks) {
    for (const std::string& name : out->banks->regions) {
      if (out->region(name) == nullptr) {
        return failure(fmt::format("banks of region {}, which is not there", printable(name)));
      }
    }
  }
  return {};
}

const std::vector<Target>& builtin_targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> out;
    for (const BuiltinTarget& one : kBuiltinTargets) {
      Target target;
      if (!parse_target(one.name, one.text, &target)) out.push_back(std::move(target));
    }
    return out;
  }();
  return all;
}

std::string builtin_target_text(const std::string& name) {
  for (const BuiltinTarget& one : kBuiltinTargets) {
    if (name == one.name) return one.text;
  }
  return {};
}

Failure find_target(const std::string& name, const ElfIndex& index, Target* out) {
  for (const Target& target : builtin_targets()) {
    if (name.empty() ? fits(target, index) : target.name == name) {
      *out = target;
      return {};
    }
  }
  if (name.empty()) {
    return find_target("generic", index, out);
  }
  const bool is_path = name.find('/') != std::string::npos || name.find('.') != std::string::npos;
  std::vector<uint8_t> bytes;
  Failure failure = read_file(name, kMaxTargetBytes, &bytes);
  if (failure && !is_path) {
    std::string names;
    for (const Target& target : builtin_targets()) names += ' ' + target.name;
    return Error{Error::Kind::usage,
                 fmt::format("no target {} (there are{}, and files)", printable(name, 60), names)};
  }
  if (failure) return failure;
  return parse_target(
      name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), out);
}

}  // namespace millrace::profile
