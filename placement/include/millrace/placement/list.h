// SPDX-License-Identifier: Apache-2.0
// Lists of what goes to fast memory (spec/placement_list.md): reading, writing, and finding what
// they mean in a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/profile/elf_index.h"
#include "millrace/profile/error.h"

namespace millrace::placement {

using profile::ElfIndex;
using profile::Error;
using profile::Failure;

inline constexpr size_t kMaxListBytes = size_t{4} << 20;
inline constexpr size_t kMaxListEntries = 65536;
inline constexpr size_t kMaxListLineBytes = 8192;

enum class EntryKind : uint8_t { function, data, object, library };

struct Entry {
  EntryKind kind = EntryKind::function;
  std::string name;     // symbol, object or archive
  std::string file;     // qualifier; of an object: its archive. Empty: any
  std::string section;  // input section; empty: those that compilers make of the symbol
  uint32_t line = 0;    // in the file; 0: made by a program
  std::string comment;  // written behind the entry
  // What it means is the same.
  friend bool operator==(const Entry& a, const Entry& b) {
    return a.kind == b.kind && a.name == b.name && a.file == b.file && a.section == b.section;
  }
};

struct PlacementList {
  std::string path;            // for sentences
  std::vector<Entry> entries;  // each once
};

// On failure *out is unspecified; the sentence names `path` and the line.
Failure parse_list(const std::string& path, std::string_view text, PlacementList* out);
Failure read_list(const std::string& path, PlacementList* out);

// The file's text; `head`: comment lines before the entries, without '#'.
std::string list_text(const PlacementList& list, const std::vector<std::string>& head);
// One entry as a line of a list, without its comment: "helper file=net/tcp.c".
std::string entry_text(const Entry& entry);

// A list can say it: what the linker's names hold may be no UTF-8, or have blanks.
bool can_be_listed(const Entry& entry);

enum class MatchState : uint8_t { found, by_clone, moved, ambiguous, inlined, missing };
const char* name_of(MatchState state);
inline bool is_drift(MatchState state) { return state >= MatchState::moved; }

struct Match {
  MatchState state = MatchState::missing;
  std::vector<uint32_t> functions;      // indices in index.functions()
  std::vector<uint32_t> objects;        // indices in index.objects()
  std::vector<std::string> nearest;     // of a missing name: names of the program like it
  std::vector<std::string> inlined_in;  // of an inlined one: functions that hold it
  // Nothing says whether file= is right: taken as if it were. `missing`: what is in an object or
  // an archive is not known.
  bool is_file_unknown = false;
};

// One for each entry, in order. `index` gets the names of inlined functions. Objects and libraries
// are matched by the map file's names, without one by source files and folders. So a file= that
// names an object or an archive needs the map, one that names a source needs it or debug
// information.
std::vector<Match> match_list(const PlacementList& list, ElfIndex* index);

// "found", or a sentence about an entry that is drift: "tcp_in: inlined into tcp_input (list
// that)".
std::string match_sentence(const Entry& entry, const Match& match, const ElfIndex& index);

// A list is made of names: fails for a program without any.
Failure require_symbols(const ElfIndex& index);

// `wanted`, a qualifier, names this file: its parts are the last of `path`'s, or LIBRARY:MEMBER.
bool names_file(std::string_view wanted, const std::string& path, const std::string& library);

}  // namespace millrace::placement
