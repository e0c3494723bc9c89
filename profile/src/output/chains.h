// SPDX-License-Identifier: Apache-2.0
// The call chain of a sample with its frames named, for every writer.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "millrace/profile/attribution.h"

namespace millrace::profile {

struct NamedFrame {
  std::string name;
  std::string file;
  uint32_t line = 0;
  uint32_t address = 0;     // of the instruction
  uint32_t start = 0;       // of the function that was compiled; 0: none
  bool is_inlined = false;  // into the next one
};

class Chains {
 public:
  explicit Chains(ElfIndex* index) : index_(*index) {}
  // The frames at an address, innermost first; one that names the address if nothing is known.
  const std::vector<NamedFrame>& at(uint32_t pc);
  // The whole chain, innermost first. Callers are taken at the call, not where it returns to.
  std::vector<NamedFrame> of(const StackSample& sample);

 private:
  ElfIndex& index_;
  std::unordered_map<uint32_t, std::vector<NamedFrame>> known_;
};

// `text` for a JSON string literal, quotes included; no control bytes, valid UTF-8 or '?'.
std::string json_string(const std::string& text);

}  // namespace millrace::profile
