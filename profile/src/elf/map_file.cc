// SPDX-License-Identifier: Apache-2.0
// Debug sections stand in the map at address 0, as ITCM does: only what stands under an output
// section that the ELF loads counts.
#include "elf/map_file.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace millrace::profile {
namespace {

constexpr size_t kMaxInputs = size_t{2} << 20;

bool next_text_line(std::string_view* text, std::string_view* line) {
  if (text->empty()) return false;
  const size_t end = std::min(text->find('\n'), text->size());
  *line = text->substr(0, end);
  if (line->ends_with('\r')) line->remove_suffix(1);
  text->remove_prefix(std::min(end + 1, text->size()));
  return true;
}

std::string_view word(std::string_view* line) {
  const size_t first = std::min(line->find_first_not_of(" \t"), line->size());
  const size_t end = std::min(line->find_first_of(" \t", first), line->size());
  const std::string_view out = line->substr(first, end - first);
  line->remove_prefix(end);
  return out;
}

bool hex_number(std::string_view text, uint64_t* out) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, 16);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::string_view without_blanks(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string name_of_path(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

class Parser {
 public:
  Parser(const std::vector<Section>& sections, MapFile* out) : out_(out) {
    for (const Section& section : sections) loaded_.insert(section.name);
  }

  std::string parse(std::string_view text) {
    std::string_view line;
    enum class Part { before, memory, gnu, lld } part = Part::before;
    while (next_text_line(&text, &line)) {
      if (line.starts_with("Memory Configuration")) {
        part = Part::memory;
      } else if (line.starts_with("Linker script and memory map")) {
        part = Part::gnu;
      } else if (part == Part::before && without_blanks(line).starts_with("VMA") &&
                 line.find("Align") != std::string_view::npos) {
        part = Part::lld;
      } else if (part == Part::memory) {
        memory(line);
      } else if (part == Part::gnu) {
        gnu(line);
      } else if (part == Part::lld) {
        lld(line);
      }
      if (out_->inputs.size() > kMaxInputs) return "more input sections than are read";
    }
    std::stable_sort(
        out_->inputs.begin(), out_->inputs.end(),
        [](const InputSection& a, const InputSection& b) { return a.address < b.address; });
    if (part == Part::before) return "no map file of GNU ld or lld (link with -Wl,-Map=FILE)";
    return {};
  }

 private:
  void memory(std::string_view line) {
    const std::string_view name = word(&line);
    uint64_t origin = 0, length = 0;
    if (!hex_number(word(&line), &origin) || !hex_number(word(&line), &length)) return;
    if (name == "*default*" || origin > UINT32_MAX || out_->regions.size() == 1024) return;
    out_->regions.push_back({std::string(name), static_cast<uint32_t>(origin), length});
  }

  void add(std::string_view name, uint64_t address, uint64_t size, std::string_view from) {
    if (size == 0 || address + size > UINT64_C(1) << 32 || from.empty()) return;
    InputSection input;
    input.address = static_cast<uint32_t>(address);
    input.size = static_cast<uint32_t>(size);
    input.name = std::string(name);
    const size_t bracket = from.ends_with(')') ? from.rfind('(') : std::string_view::npos;
    input.object = bracket == std::string_view::npos
                       ? name_of_path(from)
                       : std::string(from.substr(bracket + 1, from.size() - bracket - 2));
    input.library = name_of_path(from.substr(0, std::min(bracket, from.size())));
    out_->inputs.push_back(std::move(input));
  }

  // ` .text.main  0x60002000  0x1c lib/libapp.a(main.o)`; a long name has the rest on the next
  // line. Output sections begin in the first column.
  void gnu(std::string_view line) {
    if (line.empty()) {
      pending_.clear();
      return;
    }
    if (line[0] != ' ') {
      is_loaded_ = loaded_.contains(std::string(word(&line)));
      pending_.clear();
      return;
    }
    if (!is_loaded_) return;
    uint64_t address = 0, size = 0;
    if (line.size() > 1 && line[1] != ' ') {
      std::string_view rest = line;
      const std::string_view name = word(&rest);
      pending_ = name[0] == '*' ? std::string() : std::string(name);  // not patterns, not *fill*
      line = rest;
      if (without_blanks(line).empty()) return;
    }
    if (pending_.empty()) return;
    if (hex_number(word(&line), &address) && hex_number(word(&line), &size)) {
      add(pending_, address, size, without_blanks(line));
    }
    pending_.clear();
  }

  // `VMA LMA Size Align` and then the output section, or eight columns further `file:(section)`.
  void lld(std::string_view line) {
    uint64_t address = 0, load = 0, size = 0, align = 0;
    if (!hex_number(word(&line), &address) || !hex_number(word(&line), &load) ||
        !hex_number(word(&line), &size) || !hex_number(word(&line), &align)) {
      return;
    }
    const size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos) return;
    if (indent < 8) {
      is_loaded_ = loaded_.contains(std::string(without_blanks(line)));
      return;
    }
    const std::string_view from = without_blanks(line);
    const size_t colon = from.rfind(":(");
    if (!is_loaded_ || indent >= 16 || colon == std::string_view::npos || !from.ends_with(')')) {
      return;
    }
    add(from.substr(colon + 2, from.size() - colon - 3), address, size, from.substr(0, colon));
  }

  MapFile* out_;
  std::set<std::string> loaded_;
  bool is_loaded_ = false;
  std::string pending_;  // name of the input section whose address follows
};

}  // namespace

const InputSection* MapFile::input_at(uint32_t address) const {
  auto it = std::upper_bound(inputs.begin(), inputs.end(), address,
                             [](uint32_t a, const InputSection& one) { return a < one.address; });
  if (it == inputs.begin()) return nullptr;
  --it;
  return address - it->address < it->size ? &*it : nullptr;
}

std::string parse_map(std::string_view text, const std::vector<Section>& sections, MapFile* out) {
  return Parser(sections, out).parse(text);
}

}  // namespace millrace::profile
