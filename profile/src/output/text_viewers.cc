// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "millrace/profile/viewers.h"
#include "output/chains.h"

namespace millrace::profile {
namespace {

const char* unit_of(const Profile& profile) {
  return profile.unit == WeightUnit::samples ? "samples" : "cycles";
}

std::string without(std::string text, char forbidden) {
  std::replace(text.begin(), text.end(), forbidden, ':');
  return text;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// KCachegrind's name compression: a name in full the first time, then its number.
class Names {
 public:
  std::string operator()(const std::string& name) {
    const auto [it, is_new] = ids_.emplace(name, ids_.size() + 1);
    return is_new ? fmt::format("({}) {}", it->second, name) : fmt::format("({})", it->second);
  }

 private:
  std::map<std::string, size_t> ids_;
};

}  // namespace

std::string folded_stacks(ElfIndex* index, const Profile& profile) {
  Chains chains(index);
  std::map<std::string, uint64_t> weights;
  for (const StackSample& sample : profile.stacks) {
    std::string line;
    const std::vector<NamedFrame> chain = chains.of(sample);
    for (auto frame = chain.rbegin(); frame != chain.rend(); ++frame) {
      if (!line.empty()) line += ';';
      line += without(frame->name, ';');
    }
    weights[line] += sample.weight;
  }
  std::string out;
  for (const auto& [line, weight] : weights) out += fmt::format("{} {}\n", line, weight);
  return out;
}

std::string speedscope_json(ElfIndex* index, const Profile& profile) {
  Chains chains(index);
  std::map<std::string, size_t> ids;
  std::string frames, samples, weights;
  uint64_t total = 0;
  for (const StackSample& sample : profile.stacks) {
    const std::vector<NamedFrame> chain = chains.of(sample);
    std::string stack;
    for (auto frame = chain.rbegin(); frame != chain.rend(); ++frame) {
      std::string text = "{\"name\":" + json_string(frame->name);
      if (!frame->file.empty()) text += ",\"file\":" + json_string(frame->file);
      if (frame->line != 0) text += fmt::format(",\"line\":{}", frame->line);
      text += '}';
      const auto [it, is_new] = ids.emplace(text, ids.size());
      if (is_new) frames += (frames.empty() ? "" : ",\n") + text;
      stack += fmt::format("{}{}", stack.empty() ? "" : ",", it->second);
    }
    samples += (samples.empty() ? "[" : ",\n[") + stack + ']';
    weights += fmt::format("{}{}", weights.empty() ? "" : ",", sample.weight);
    total += sample.weight;
  }
  return fmt::format(
      "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
      "\"exporter\":\"millrace\",\"name\":{},\"shared\":{{\"frames\":[\n{}]}},\n"
      "\"profiles\":[{{\"type\":\"sampled\",\"name\":{},\"unit\":\"none\",\"startValue\":0,"
      "\"endValue\":{},\n\"samples\":[\n{}],\n\"weights\":[{}]}}]}}\n",
      json_string(base_name(profile.elf_path)), frames, json_string(unit_of(profile)), total,
      samples, weights);
}

std::string callgrind_file(ElfIndex* index, const Profile& profile) {
  Chains chains(index);
  Names objects, files, functions;
  struct Cost {
    uint64_t weight = 0, stall = 0;
  };
  using Call = std::pair<uint32_t, uint32_t>;  // callee and call, addresses
  struct Code {
    std::map<uint32_t, Cost> at;
    std::map<Call, std::pair<Cost, uint64_t>> calls;
  };
  const auto unit = [](const std::vector<NamedFrame>& frames) {
    return frames.back().start != 0 ? std::to_string(frames.back().start) : frames.back().name;
  };
  std::map<std::string, Code> all;  // by the function that was compiled
  uint64_t weight = 0, stall = 0;
  for (const StackSample& sample : profile.stacks) {
    const std::vector<NamedFrame>& frames = chains.at(sample.pc);
    Cost& cost = all[unit(frames)].at[sample.pc];
    cost.weight += sample.weight;
    cost.stall += sample.stall;
    weight += sample.weight;
    stall += sample.stall;
    if (sample.callers.empty()) continue;
    const uint32_t at = sample.callers[0] - 2;
    auto& call = all[unit(chains.at(at))].calls[{frames.back().start, at}];
    call.first.weight += sample.weight;
    call.first.stall += sample.stall;
    call.second += sample.weight;
  }
  const auto costs = [&](const Cost& cost) {
    return profile.has_stall ? fmt::format("{} {}", cost.weight, cost.stall)
                             : std::to_string(cost.weight);
  };
  const std::string events =
      fmt::format("{}{}", profile.unit == WeightUnit::samples ? "Samples" : "Cycles",
                  profile.has_stall ? " Stall" : "");
  std::string out = fmt::format(
      "# callgrind format\nversion: 1\ncreator: millrace\npositions: instr line\nevents: {}\n"
      "summary: {}\n\nob={}\n",
      events, costs({weight, stall}), objects(profile.elf_path));
  const auto file_of = [](const NamedFrame& frame) {
    return frame.file.empty() ? std::string("???") : frame.file;
  };
  for (const auto& [name, code] : all) {
    const uint32_t any =
        code.at.empty() ? code.calls.begin()->first.second : code.at.begin()->first;
    const NamedFrame& self = chains.at(any).back();
    const std::string home = file_of(self);
    out += fmt::format("fl={}\nfn={}\n", files(home), functions(self.name));
    std::string current = home;
    const auto go_to = [&](const std::string& file) {
      if (file == current) return;
      out += fmt::format("{}={}\n", file == home ? "fe" : "fi", files(file));
      current = file;
    };
    for (const auto& [pc, cost] : code.at) {
      const NamedFrame& inner = chains.at(pc).front();
      go_to(file_of(inner));
      out += fmt::format("0x{:x} {} {}\n", pc, inner.line, costs(cost));
    }
    for (const auto& [call, cost] : code.calls) {
      const NamedFrame& from = chains.at(call.second).front();
      const NamedFrame& to = chains.at(call.first).back();
      go_to(file_of(from));
      // How often it was called is not known: each sample counts as one call.
      out += fmt::format("cfi={}\ncfn={}\ncalls={} 0x{:x} {}\n0x{:x} {} {}\n", files(file_of(to)),
                         functions(to.name), cost.second, call.first, to.line, call.second,
                         from.line, costs(cost.first));
    }
    out += '\n';
  }
  out += fmt::format("totals: {}\n", costs({weight, stall}));
  return out;
}

std::string perf_script(ElfIndex* index, const Profile& profile) {
  Chains chains(index);
  std::string out;
  const std::string elf = base_name(profile.elf_path);
  uint64_t time = 0;
  for (const StackSample& sample : profile.stacks) {
    // Samples have no time; a viewer that sorts by it keeps them in this order.
    out += fmt::format("firmware 1/1 [000] {}.{:06}: {} {}:\n", time / 1000000, time % 1000000,
                       sample.weight, unit_of(profile));
    ++time;
    for (const NamedFrame& frame : chains.of(sample)) {
      if (frame.is_inlined) {
        out += fmt::format("\t{:8x} {} (inlined)\n", frame.address, frame.name);
      } else if (frame.start != 0 || frame.address != 0) {
        out += fmt::format(
            "\t{:8x} {}+0x{:x} ({})\n", frame.address, frame.name,
            frame.start != 0 || frame.address < 65536 ? frame.address - frame.start : 0, elf);
      } else {
        out += fmt::format("\t{:8x} {} ([exception])\n", 0, frame.name);
      }
    }
    out += '\n';
  }
  return out;
}

}  // namespace millrace::profile
