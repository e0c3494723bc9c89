// SPDX-License-Identifier: Apache-2.0
// What a program executes before its own copies to RAM are done, for each section that is stored in
// one place and runs in another: none of that may stand in the section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/profile/call_graph.h"
#include "millrace/profile/elf_index.h"
#include "millrace/profile/error.h"

namespace millrace::profile {

struct BootOptions {
  std::string entry;     // the function that runs first; empty: as the ELF says
  std::string copy_end;  // the function that returns when all copies are done; empty: found
};

// A function that runs before the copy has ended, and why.
struct BootStep {
  uint32_t function = kNone;
  uint32_t caller = kNone;  // kNone: the entry
  uint32_t site = 0;        // in the caller
  uint32_t veneer = kNone;
  EdgeKind kind = EdgeKind::call;
};

// An address of code that is made, or a call to an address that only the run decides.
struct BootUnknown {
  uint32_t function = kNone;  // whose code
  uint32_t site = 0;
  uint32_t target = kNone;  // the function whose address is made; kNone: a call to anything
};

struct CopiedSection {
  uint32_t section = kNone;          // in sections()
  bool copy_is_found = false;        // false: nothing below is known
  uint32_t copier = kNone;           // the function that copies, or calls what copies
  uint32_t copy_site = 0;            // an instruction of the copy in it
  uint32_t copy_table = 0;           // address of the table that the copier reads; 0: none
  std::vector<BootStep> before;      // every function that runs before the copy has ended
  std::vector<BootStep> unsafe;      // of these, the ones that stand in the section
  std::vector<BootUnknown> unknown;  // of code in the section, or calls to anything
};

struct BootReport {
  uint32_t entry = kNone;               // a function
  std::vector<CopiedSection> sections;  // those with code
  std::vector<std::string> problems;    // vector table, stack, tables of copies: sentences
  std::vector<std::string> notes;
};

// Fails (usage) for a name that is no function, and (malformed) if there is no entry.
Failure analyse_boot(const ElfIndex& index, const CallGraph& graph, const BootOptions& options,
                     BootReport* out);

// "reset_handler -> copy_words -> memcpy", of `step` in `before`.
std::string boot_path(const ElfIndex& index, const CopiedSection& section, const BootStep& step);

}  // namespace millrace::profile
