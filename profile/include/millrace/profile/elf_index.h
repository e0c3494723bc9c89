// SPDX-License-Identifier: Apache-2.0
// What stands at an address of a linked program: section, function, source line, inlined calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/profile/error.h"
#include "millrace/profile/samples.h"

namespace millrace::profile {

inline constexpr size_t kMaxElfBytes = size_t{512} << 20;
inline constexpr uint32_t kNone = UINT32_MAX;  // no such section, function, file

enum class Machine : uint8_t { arm, riscv };

// A part of memory that the program occupies (SHF_ALLOC).
struct Section {
  std::string name;
  uint32_t address = 0;       // where it runs (VMA)
  uint32_t load_address = 0;  // where its bytes are stored (LMA); = address if not is_stored
  uint32_t size = 0;
  uint32_t align = 1;
  uint32_t number = 0;  // in the section header table
  bool is_stored = false;
  bool is_code = false;
  bool is_writable = false;
  bool is_thread_local = false;
  uint64_t end() const { return uint64_t{address} + size; }
};

// PT_LOAD.
struct Segment {
  uint32_t address = 0, load_address = 0, stored_bytes = 0, memory_bytes = 0, offset = 0;
};

enum class FunctionKind : uint8_t {
  function,
  assembler,  // a label of no declared type
  veneer,     // made by the linker to reach a far function
};

struct Function {
  uint32_t start = 0;        // Thumb bit cleared
  uint32_t size = 0;         // bytes up to its end, those of functions inside it included
  uint32_t section = kNone;  // index in sections()
  FunctionKind kind = FunctionKind::function;
  bool size_is_estimated = false;    // the symbol has none: up to the next one
  bool is_local = false;             // other functions may have the same name
  bool is_weak = false;              // another definition may take its place; C++: inline
  std::string name;                  // as in the symbol table
  std::vector<std::string> aliases;  // other names of the same address
  std::string file;                  // source file; else the object; else empty
  uint32_t line = 0;                 // of the declaration; 0: unknown
  std::string library;               // archive or object of the map file; else the source's folder
  bool has_debug_info = false;
};

struct DataObject {
  uint32_t address = 0, size = 0;
  uint32_t section = kNone;
  bool is_local = false;
  std::string name, file, library;
};

// A region of the map file's `Memory Configuration`.
struct MapRegion {
  std::string name;
  uint32_t origin = 0;
  uint64_t length = 0;
};

// An input section of the map file.
struct InputSection {
  uint32_t address = 0, size = 0;
  std::string name;     // .text.main
  std::string library;  // libnet.a, or the object's name
  std::string object;
};

struct SourceLine {
  uint32_t file = kNone;  // index in files()
  uint32_t line = 0;
  friend auto operator<=>(const SourceLine&, const SourceLine&) = default;
};

// One function of the source at an address; the innermost inlined one comes first, the last is the
// function that was compiled.
struct Frame {
  uint32_t name = 0;  // index in names()
  SourceLine at;      // where execution stands in it
};

struct Location {
  uint32_t section = kNone;   // index in sections()
  uint32_t function = kNone;  // index in functions()
  std::vector<Frame> frames;  // empty without a function
};

enum class LinkRegister : uint8_t {
  holds_caller,  // the unwind information says that r14 was not changed yet, or restored
  saved,         // the return address is on the stack: r14 is what an inner call left
  unknown,       // no unwind information for this address
};

struct IndexOptions {
  std::string map_path;  // GNU ld's or lld's -Map file; empty: none
};

class ElfIndex {
 public:
  ElfIndex();
  ~ElfIndex();
  ElfIndex(ElfIndex&&) noexcept;
  ElfIndex& operator=(ElfIndex&&) noexcept;

  static Failure read(const std::string& path, const IndexOptions& options, ElfIndex* out);
  // The same for bytes; `path` and `map_path` only name them in sentences. `map`: empty for none.
  static Failure parse(const std::string& path, std::vector<uint8_t> bytes,
                       const std::string& map_path, const std::string& map, ElfIndex* out);

  const std::string& path() const;
  Machine machine() const;
  const std::vector<Section>& sections() const;  // sorted by address
  const std::vector<Segment>& segments() const;
  const std::vector<Function>& functions() const;  // sorted by start
  const std::vector<DataObject>& objects() const;  // sorted by address
  const std::vector<std::string>& files() const;   // full paths
  const std::vector<std::string>& names() const;   // of frames, readable
  const std::vector<MapRegion>& map_regions() const;
  const std::vector<InputSection>& input_sections() const;       // sorted by address
  const InputSection* input_section_at(uint32_t address) const;  // null: none, or no map
  // Every value of the symbol table that is no function and no object: linker script symbols.
  std::optional<uint32_t> symbol(const std::string& name) const;
  bool has_symbols() const;
  uint32_t entry() const;  // as in the ELF's header, Thumb bit included; 0: none
  // The toolchain's mapping symbols ($t, $d) say that data stands there: a literal pool, a table of
  // branches. False without any.
  bool is_data_at(uint32_t address) const;
  bool has_mapping_symbols() const;
  bool has_debug_info() const;
  const std::vector<std::string>& notes() const;  // what was left out and why, one sentence each

  Identity build_id() const;    // kind none: the ELF has no build ID
  Identity image_hash() const;  // spec/sample_file.md
  bool is_same_program(const Identity& identity) const;

  uint32_t section_at(uint32_t pc) const;   // kNone: outside every section
  uint32_t function_at(uint32_t pc) const;  // kNone: no symbol covers it
  // A function with this symbol name, alias or readable name; kNone: none.
  uint32_t function_named(const std::string& name) const;
  // `pc`: Thumb bit cleared. Not for several threads: names are looked up when first needed.
  Location locate(uint32_t pc);
  LinkRegister link_register_at(uint32_t pc) const;
  // The core waits for an interrupt: `pc` is that of a WFI or WFE, or behind one with nothing but
  // barriers and CPS in between.
  bool is_waiting(uint32_t pc) const;
  // The instruction that ends at `end` is a WFI or WFE.
  bool is_wait_before(uint32_t end) const;
  // `size` bytes at a run address, as stored in the file; empty if they are not there.
  std::span<const uint8_t> bytes_at(uint32_t address, uint32_t size) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// `Serial::begin(unsigned int)` for a mangled C++ name; others as they are.
std::string readable_name(const std::string& symbol);
// "a::(anonymous namespace)::f(int)" -> "a::(anonymous namespace)::f"; those of a function around a
// local one go too: "f(int)::once" -> "f::once". Brackets that hold no parameters stay.
std::string without_parameters(const std::string& readable);
// Without the suffixes that compilers give to clones: `f.part.0.isra.1` -> `f`.
std::string base_name_of_clone(const std::string& symbol);

}  // namespace millrace::profile
