// SPDX-License-Identifier: Apache-2.0
// What can be placed: input sections of the linked program, as they stand in the map file, or
// made from symbols without one.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "millrace/placement/list.h"
#include "millrace/profile/elf_index.h"
#include "millrace/profile/target.h"

namespace millrace::placement {

enum class UnitKind : uint8_t { code, constants, data, zeroed };

struct Unit {
  UnitKind kind = UnitKind::code;
  uint32_t address = 0;
  uint32_t size = 0;    // bytes, without what alignment adds before it
  uint32_t align = 4;   // as far as its address and size tell
  std::string name;     // symbol that a list gives; empty: there is none, or it cannot be listed
  std::string section;  // input section; without a map: output section
  std::string library, object, file;
  std::vector<uint32_t> functions;  // in it; indices of index.functions()
  std::vector<uint32_t> objects;    // of index.objects()
  bool size_is_exact = false;       // from the map file
  bool is_part = false;             // of an input section: an attribute moves it, a list does not
  uint64_t end() const { return uint64_t{address} + size; }
  uint32_t aligned() const { return (size + align - 1) / align * align; }  // bytes among others
};

enum class Granularity : uint8_t { function, file, library };

struct Units {
  std::vector<Unit> units;            // sorted by address; none overlap
  std::vector<uint32_t> of_function;  // by function: index of its unit; kNone: a veneer, no unit
  std::vector<uint32_t> of_object;    // by object
  std::set<std::string> ambiguous;    // names, without clone suffixes, of units in several files
  bool is_from_map = false;
};

Units find_units(const ElfIndex& index);

// Each function of the units that `is_wanted` is true for as a unit of its own, is_part: what the
// compiler wrote into one section (link-time optimisation, or no -ffunction-sections) is still
// moved one by one by attributes in the source.
Units split_units(const ElfIndex& index, Units units,
                  const std::function<bool(const Unit&)>& is_wanted);

// An object that link-time optimisation makes: its name is of one link alone, or says nothing.
bool is_made_at_link(const std::string& object);

// Why a unit has no name.
std::string why_unnamed(const Unit& unit, const Units& all);

// The entry of a list that means this unit and, as far as names can tell, nothing else: the name
// without clone suffixes, its file if another unit has the name, its section if it is not the
// compiler's own for that name.
Entry entry_of(const Unit& unit, const Units& all);

// Bytes that a call from one memory to the other needs in the caller's output section: measured at
// veneers that are there, else 8 (GNU ld, Thumb-2).
uint32_t veneer_bytes(const ElfIndex& index);
// BL reaches +-16 MB (v7-M A7.7.18).
bool needs_veneer(uint32_t from, uint32_t to);

}  // namespace millrace::placement
