// SPDX-License-Identifier: Apache-2.0
#include "output/chains.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace millrace::profile {

const std::vector<NamedFrame>& Chains::at(uint32_t pc) {
  const auto found = known_.find(pc);
  if (found != known_.end()) return found->second;
  std::vector<NamedFrame> out;
  const Location location = index_.locate(pc);
  for (const Frame& frame : location.frames) {
    NamedFrame one;
    one.name = index_.names()[frame.name];
    if (frame.at.file != kNone) one.file = index_.files()[frame.at.file];
    one.line = frame.at.line;
    one.address = pc;
    one.start = index_.functions()[location.function].start;
    one.is_inlined = true;
    out.push_back(std::move(one));
  }
  if (out.empty()) {
    NamedFrame one;
    one.name = location.section == kNone
                   ? fmt::format("[0x{:08x}]", pc)
                   : fmt::format("[{}]", index_.sections()[location.section].name);
    one.address = pc;
    out.push_back(std::move(one));
  }
  out.back().is_inlined = false;
  return known_.emplace(pc, std::move(out)).first->second;
}

std::vector<NamedFrame> Chains::of(const StackSample& sample) {
  std::vector<NamedFrame> out = at(sample.pc);
  for (const uint32_t address : sample.callers) {
    const std::vector<NamedFrame>& frames = at(address - 2);
    out.insert(out.end(), frames.begin(), frames.end());
  }
  if (sample.exception != 0) {
    NamedFrame one;
    one.name = exception_name(sample.exception);
    out.push_back(std::move(one));
  }
  return out;
}

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace millrace::profile
