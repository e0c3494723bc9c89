// SPDX-License-Identifier: Apache-2.0
// What runs before the program's copies to RAM are done: it must not be among what is copied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/profile/call_graph.h"
#include "millrace/profile/elf_index.h"
#include "millrace/profile/error.h"

namespace millrace::placement {

struct BootOptions {
  std::string copy_end;           // the first function behind the copies; empty: known ones
  std::vector<std::string> also;  // functions that run before them, besides the reset handler
};

struct BootFunction {
  uint32_t function = 0;
  uint32_t reached_from = profile::kNone;  // kNone: a root
};

struct BootClosure {
  std::vector<uint32_t> roots;          // entry and reset handlers
  std::vector<BootFunction> functions;  // all that runs by then, as far as calls are known; sorted
  uint32_t copy_end = profile::kNone;   // what the walk ended at
  bool end_is_known = false;            // false: everything that the reset handler calls was taken
  uint32_t indirect_calls = 0;          // in these functions: whom they reach is unknown
  std::vector<std::string> notes;
  bool contains(uint32_t function) const;
  // "reset_handler -> boot_with_stack -> copy_words"; empty if it is not in it.
  std::string path_to(uint32_t function, const profile::ElfIndex& index) const;
};

// The walk follows calls in the order of their addresses from the ELF's entry and the vector
// table's reset handler, and stops at the first function that starts the program proper (main,
// __libc_init_array, z_cstart, ..., `copy_end`), or behind the last call of a copy routine that is
// known by name (z_data_copy, memory_copy, ...). A function whose address is made by code that
// also makes a call that only the run decides counts as called.
BootClosure find_boot_closure(const profile::ElfIndex& index, const profile::CallGraph& graph,
                              const BootOptions& options);
// Fails if `options` name a function that is not in the program.
profile::Failure check_boot_options(const profile::ElfIndex& index, const BootOptions& options);

// Handlers of the vector table but for the reset handler; those that more than two entries share
// (default handlers) are left out. Empty if no table was found.
std::vector<uint32_t> interrupt_handlers(const profile::ElfIndex& index);

}  // namespace millrace::placement
