// SPDX-License-Identifier: Apache-2.0
// Faults, in words.
#pragma once

#include <string>

#include "millrace/link/fault.h"

namespace millrace::cli {

// lost, duplicated, stale, inserted, flipped, replaced, stale_lines, mixed, missing_tail: as in
// the result file.
const char* fault_kind_name(link::FaultKind kind);

// One sentence: what, how much, where, and what it is a multiple of:
// `lost 1,536 bytes at offset 8,388,608 (frame 4096, word 0) = 3 whole 512-byte packets at a
// 2,048-byte boundary`.
std::string fault_sentence(const link::Fault& fault);

// The foreign bytes kept with the fault, 16 a line, each line after `indent` spaces; received and
// expected bytes where they were altered in place. Empty for faults without foreign bytes.
std::string fault_dump(const link::Fault& fault, size_t indent);

}  // namespace millrace::cli
