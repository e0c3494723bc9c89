// SPDX-License-Identifier: Apache-2.0
// Whether an attribute in the source (FLASHMEM) can move a function.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/placement/units.h"

namespace millrace::placement {

// Reads the sources that are on this machine, each once. Not for several threads.
class Editable {
 public:
  explicit Editable(const ElfIndex& index) : index_(index) {}

  bool is_editable(const Unit& unit);  // by its first function
  bool any_is_editable(const Unit& unit);

 private:
  bool is_editable(const Unit& unit, uint32_t function);
  bool is_build_machine();
  // Null: the file is not here.
  const std::vector<std::string>* lines_of(const std::string& file);
  // `is_doubtful`: symbols do not say whether it is inline, so a member must show its class.
  bool is_on_its_line(const profile::Function& function, const std::string& name, bool is_doubtful);

  const ElfIndex& index_;
  std::map<std::string, std::optional<std::vector<std::string>>> files_;
  std::optional<bool> is_build_machine_;
};

}  // namespace millrace::placement
