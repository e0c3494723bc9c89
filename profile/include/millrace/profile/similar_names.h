// SPDX-License-Identifier: Apache-2.0
// Names that may have been meant by one that a program does not have.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/profile/elf_index.h"
#include "millrace/profile/error.h"

namespace millrace::profile {

// Edits (insert, remove, replace a byte) from a to b, or limit + 1 if there are more.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit);
// So many edits make a name of this length still look meant.
size_t edits_of_a_typo(size_t length);

// At most three functions, as people write them, that `name` looks like: spelled nearly so, or with
// it as a part. The likeliest first.
std::vector<std::string> similar_functions(const ElfIndex& index, const std::string& name);

// "--event: a.elf has no function load (there is echo_load)"; kind usage.
Error no_such_function(const std::string& option, const ElfIndex& index, const std::string& name);

}  // namespace millrace::profile
