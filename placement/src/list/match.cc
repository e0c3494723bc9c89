// SPDX-License-Identifier: Apache-2.0
// What the entries of a list mean in a program. Names are looked up in maps that are built once;
// what is missing is compared with every name, by edit distance with a limit, which for 20,000
// functions and a hundred missing names is some ten million short comparisons.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "millrace/placement/list.h"
#include "millrace/profile/similar_names.h"
#include "units/path.h"

namespace millrace::placement {
namespace {

using profile::base_name_of_clone;
using profile::DataObject;
using profile::Function;
using profile::FunctionKind;
using profile::printable;

constexpr size_t kMaxNearest = 3;
constexpr size_t kMaxCompared = 200;  // bytes of a name
constexpr size_t kMaxMissingCompared = 200;

class Matcher {
 public:
  explicit Matcher(ElfIndex* index) : index_(*index) {
    const std::vector<Function>& functions = index_.functions();
    for (uint32_t i = 0; i < functions.size(); ++i) {
      if (functions[i].kind == FunctionKind::veneer) continue;
      add(functions[i].name, i);
      for (const std::string& alias : functions[i].aliases) add(alias, i);
    }
    const std::vector<DataObject>& objects = index_.objects();
    for (uint32_t i = 0; i < objects.size(); ++i) {
      objects_[objects[i].name].push_back(i);
      const std::string base = base_name_of_clone(objects[i].name);
      if (base != objects[i].name) object_clones_[base].push_back(i);
    }
  }

  Match match(const Entry& entry) {
    switch (entry.kind) {
      case EntryKind::data:
        return data(entry);
      case EntryKind::object:
      case EntryKind::library:
        return whole(entry);
      default:
        return function(entry);
    }
  }

 private:
  void add(const std::string& name, uint32_t function) {
    exact_[name].push_back(function);
    const std::string base = base_name_of_clone(name);
    if (base != name) clones_[base].push_back(function);
  }

  template <class Map>
  static const std::vector<uint32_t>& found(const Map& map, const std::string& name) {
    static const std::vector<uint32_t> kNothing;
    const auto it = map.find(name);
    return it == map.end() ? kNothing : it->second;
  }

  Match function(const Entry& entry) {
    Match out;
    std::vector<uint32_t> named = found(exact_, entry.name);
    std::vector<uint32_t> clones = found(clones_, entry.name);
    if (named.empty() && clones.empty()) {
      const std::string base = base_name_of_clone(entry.name);
      if (base != entry.name) {
        named = found(exact_, base);
        clones = found(clones_, base);
      }
    }
    const auto is_elsewhere = [&](uint32_t i) {
      return !entry.file.empty() && in_file(entry.file, index_.functions()[i]) == Where::elsewhere;
    };
    const bool any = !named.empty() || !clones.empty();
    std::set<std::string> files;
    for (const std::vector<uint32_t>* list : {&named, &clones}) {
      for (const uint32_t i : *list) {
        if (is_elsewhere(i)) continue;
        out.is_file_unknown = out.is_file_unknown || is_unknown(entry.file, i);
        out.functions.push_back(i);
        if (index_.functions()[i].is_local) files.insert(index_.functions()[i].file);
      }
    }
    const bool has_own =
        std::any_of(named.begin(), named.end(), [&](uint32_t i) { return !is_elsewhere(i); });
    if (!out.functions.empty()) {
      out.state = files.size() > 1 ? MatchState::ambiguous
                  : has_own        ? MatchState::found
                                   : MatchState::by_clone;
    } else if (any) {
      out.state = MatchState::moved;
      out.functions = named.empty() ? clones : named;
    } else {
      inlined_or_missing(entry, &out);
    }
    std::sort(out.functions.begin(), out.functions.end());
    out.functions.erase(std::unique(out.functions.begin(), out.functions.end()),
                        out.functions.end());
    return out;
  }

  enum class Where : uint8_t { here, elsewhere, unknown };

  static bool is_linker_file(const std::string& wanted) {
    return wanted.find(':', 2) != std::string::npos || wanted.ends_with(".o") ||
           wanted.ends_with(".obj") || wanted.ends_with(".a");
  }

  // tcp.c gives tcp.o, tcp.c.o or tcp.c.obj.
  static bool is_made_of(const std::string& object, const std::string& source) {
    const std::string base = base_of_path(source);
    return !is_linker_file(source) && base.rfind('.') != std::string::npos &&
           object.substr(0, object.find('.')) == base.substr(0, base.find('.')) &&
           (object.rfind(base + '.', 0) == 0 || object.find('.') == object.rfind('.'));
  }

  Where in_file(const std::string& wanted, const std::string& file, const std::string& library,
                uint32_t address) const {
    if (names_file(wanted, file, library)) return Where::here;
    const profile::InputSection* input = index_.input_section_at(address);
    if (input == nullptr) {
      return file.empty() || is_linker_file(wanted) ? Where::unknown : Where::elsewhere;
    }
    const bool is_source_unknown = file.empty() || file == input->object;
    const bool is_here = names_file(wanted, input->object, input->library) ||
                         names_file(wanted, input->library, "") ||
                         (is_source_unknown && is_made_of(input->object, wanted));
    return is_here ? Where::here : Where::elsewhere;
  }

  Where in_file(const std::string& wanted, const Function& function) const {
    return in_file(wanted, function.file, function.library, function.start);
  }

  bool is_unknown(const std::string& wanted, uint32_t function) const {
    return !wanted.empty() && in_file(wanted, index_.functions()[function]) == Where::unknown;
  }

  Match data(const Entry& entry) {
    Match out;
    std::vector<uint32_t> named = found(objects_, entry.name);
    const bool is_clone = named.empty();
    if (is_clone) named = found(object_clones_, entry.name);
    std::set<std::string> files;
    for (const uint32_t i : named) {
      const DataObject& object = index_.objects()[i];
      const Where where = entry.file.empty()
                              ? Where::here
                              : in_file(entry.file, object.file, object.library, object.address);
      if (where == Where::elsewhere) continue;
      out.is_file_unknown = out.is_file_unknown || where == Where::unknown;
      out.objects.push_back(i);
      if (object.is_local) files.insert(object.file + '\n' + object.library);
    }
    if (out.objects.empty()) {
      out.state = named.empty() ? MatchState::missing : MatchState::moved;
      if (named.empty()) nearest(entry.name, objects_, &out);
      if (!named.empty()) out.objects = named;
    } else if (files.size() > 1) {
      out.state = MatchState::ambiguous;
    } else {
      out.state = is_clone ? MatchState::by_clone : MatchState::found;
    }
    return out;
  }

  // All code of an object or library.
  Match whole(const Entry& entry) {
    Match out;
    const bool is_library = entry.kind == EntryKind::library;
    const std::vector<Function>& functions = index_.functions();
    for (uint32_t i = 0; i < functions.size(); ++i) {
      const Function& one = functions[i];
      if (one.kind == FunctionKind::veneer) continue;
      const profile::InputSection* input = index_.input_section_at(one.start);
      const std::string& library = input != nullptr ? input->library : one.library;
      const std::string object = input != nullptr ? input->object : base_of_path(one.file);
      bool is_in = is_library ? names_file(entry.name, library, "")
                              : object == entry.name || names_file(entry.name, one.file, "");
      if (!is_library && !entry.file.empty()) is_in = is_in && names_file(entry.file, library, "");
      if (is_in) out.functions.push_back(i);
    }
    out.state = out.functions.empty() ? MatchState::missing : MatchState::found;
    out.is_file_unknown = out.functions.empty() && index_.input_sections().empty();
    return out;
  }

  void inlined_or_missing(const Entry& entry, Match* out) {
    read_inlined();
    const std::string wanted = profile::readable_name(base_name_of_clone(entry.name));
    const auto holders = inlined_.find(wanted);
    const std::string bare = profile::without_parameters(wanted);
    const auto by_bare = holders != inlined_.end() ? holders : inlined_.find(bare);
    if (by_bare != inlined_.end()) {
      out->state = MatchState::inlined;
      out->inlined_in.assign(by_bare->second.begin(), by_bare->second.end());
      return;
    }
    nearest(entry.name, exact_, out);
  }

  // Which functions hold inlined copies of which, by readable name.
  void read_inlined() {
    if (inlined_read_) return;
    inlined_read_ = true;
    for (const Function& function : index_.functions()) {
      if (!function.has_debug_info || function.kind == FunctionKind::veneer) continue;
      std::set<uint32_t> seen;
      for (uint32_t at = 0; at < function.size; at += 2) {
        const profile::Location location = index_.locate(function.start + at);
        for (size_t f = 0; f + 1 < location.frames.size(); ++f) {
          if (!seen.insert(location.frames[f].name).second) continue;
          const std::string& name = index_.names()[location.frames[f].name];
          inlined_[name].insert(function.name);
        }
      }
    }
  }

  template <class Map>
  void nearest(const std::string& name, const Map& names, Match* out) {
    if (++missing_ > kMaxMissingCompared || name.size() > kMaxCompared) return;
    const size_t limit = profile::edits_of_a_typo(name.size());
    std::vector<std::pair<size_t, std::string>> close;
    for (const auto& [other, numbers] : names) {
      if (other.size() > kMaxCompared) continue;
      const size_t edits = profile::edit_distance(name, other, limit);
      if (edits <= limit) close.emplace_back(edits, other);
    }
    std::sort(close.begin(), close.end());
    for (size_t i = 0; i < std::min(close.size(), kMaxNearest); ++i) {
      out->nearest.push_back(close[i].second);
    }
  }

  ElfIndex& index_;
  std::unordered_map<std::string, std::vector<uint32_t>> exact_, clones_, objects_, object_clones_;
  std::unordered_map<std::string, std::set<std::string>> inlined_;
  bool inlined_read_ = false;
  size_t missing_ = 0;
};

bool ends_with_path(std::string_view path, std::string_view wanted) {
  if (wanted.empty() || !path.ends_with(wanted)) return false;
  if (path.size() == wanted.size()) return true;
  const char before = path[path.size() - wanted.size() - 1];
  return before == '/' || before == '\\' || wanted[0] == '/';
}

std::string joined(const std::vector<std::string>& names, size_t most) {
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), most); ++i) {
    out += (i == 0 ? "" : ", ") + printable(names[i], 120);
  }
  if (names.size() > most) out += fmt::format(" and {} more", names.size() - most);
  return out;
}

}  // namespace

const char* name_of(MatchState state) {
  static constexpr const char* kNames[] = {"found",     "by clone", "moved",
                                           "ambiguous", "inlined",  "missing"};
  return kNames[static_cast<size_t>(state)];
}

bool names_file(std::string_view wanted, const std::string& path, const std::string& library) {
  if (ends_with_path(path, wanted)) return true;
  const size_t colon = wanted.rfind(':');
  return colon != std::string_view::npos && colon > 1 &&
         ends_with_path(library, wanted.substr(0, colon)) &&
         ends_with_path(path, wanted.substr(colon + 1));
}

std::vector<Match> match_list(const PlacementList& list, ElfIndex* index) {
  Matcher matcher(index);
  std::vector<Match> out;
  for (const Entry& entry : list.entries) out.push_back(matcher.match(entry));
  return out;
}

std::string match_sentence(const Entry& entry, const Match& match, const ElfIndex& index) {
  const std::string name = printable(entry_text(entry), 200);
  const auto file_of = [&](uint32_t function) { return index.functions()[function].file; };
  switch (match.state) {
    case MatchState::moved: {
      if (match.functions.empty()) return name + ": stands in another file";
      return fmt::format("{}: stands in {} (correct file=)", name,
                         printable(file_of(match.functions[0])));
    }
    case MatchState::ambiguous: {
      std::vector<std::string> files;
      for (const uint32_t i : match.functions) files.push_back(file_of(i));
      std::sort(files.begin(), files.end());
      files.erase(std::unique(files.begin(), files.end()), files.end());
      return fmt::format("{}: stands in several files: {} (add file=)", name, joined(files, 3));
    }
    case MatchState::inlined:
      return fmt::format("{}: inlined everywhere; its code is in {} (list that)", name,
                         joined(match.inlined_in, 3));
    case MatchState::missing:
      if (match.is_file_unknown)
        return name + ": what is in it only the map file says (give --map)";
      if (match.nearest.empty()) return name + ": not in the program";
      return fmt::format("{}: not in the program; there is {}", name, joined(match.nearest, 3));
    case MatchState::by_clone:
      return fmt::format("{}: only as {}", name,
                         match.functions.empty()
                             ? "a clone"
                             : printable(index.functions()[match.functions[0]].name));
    default:
      return name + ": found";
  }
}

Failure require_symbols(const ElfIndex& index) {
  if (index.has_symbols()) return {};
  return Error{
      Error::Kind::usage,
      fmt::format("{} has no symbols, and a list is made of names (give the ELF as it was linked, "
                  "not stripped)",
                  profile::printable(index.path()))};
}

}  // namespace millrace::placement
