// SPDX-License-Identifier: Apache-2.0
// What other samplers print. Orbuculum: `orbfifo`'s hardware event channel (`2,<ticks>,0x<pc>` or
// `2,<ticks>,**SLEEP**`) and `orbtop -j` (one object a line). probe-rs prints no addresses, only a
// table of names and per cent; each share is turned back into a count. Zephyr's perf prints a stack
// as its depth and that many addresses, innermost first.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "samples/sample_file.h"

namespace millrace::profile {
namespace {

constexpr std::string_view kBlank = " \t\r\f\v";
constexpr size_t kMaxStackDepth = 1024;
constexpr size_t kMaxWordBytes = 4096;
constexpr size_t kMaxJsonBytes = size_t{16} << 20;  // of a line

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

template <class T>
bool whole_number(std::string_view text, int base, T* out) {
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The next word of a line, without separators.
std::string_view next_word(std::string_view* line) {
  static constexpr std::string_view kSeparators = " \t,;";
  const size_t first = std::min(line->find_first_not_of(kSeparators), line->size());
  const size_t end = std::min(line->find_first_of(kSeparators, first), line->size());
  const std::string_view word = line->substr(first, end - first);
  line->remove_prefix(end);
  return word;
}

std::string shown(std::string_view text) { return printable(std::string(text), 60); }

constexpr const char* kTooMany = "more samples than are read (cut it into parts)";

}  // namespace

bool next_line(std::string_view* text, std::string_view* line) {
  if (text->empty()) return false;
  const size_t end = std::min(text->find('\n'), text->size());
  *line = trimmed(text->substr(0, end));
  text->remove_prefix(std::min(end + 1, text->size()));
  return true;
}

std::string parse_hex_text(std::string_view text, SampleSet* out) {
  std::string_view line;
  for (size_t number = 1; next_line(&text, &line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    // gdb's x/ puts `address <symbol+offset>:` in front of the words, all of them PCs.
    const size_t colon = line.find(':');
    const bool is_dump = colon != std::string_view::npos;
    if (is_dump) line.remove_prefix(colon + 1);
    std::vector<uint32_t> words;
    bool is_heading = false;
    for (std::string_view word = next_word(&line); !word.empty(); word = next_word(&line)) {
      uint32_t value = 0;
      if (whole_number(word, 16, &value)) {
        words.push_back(value);
      } else if (words.empty() && out->samples.empty() && number == 1) {
        is_heading = true;  // `pc,lr`
        break;
      } else {
        return fmt::format(
            "line {}: {} is no hexadecimal number of 32 bits (one sample a line: PC "
            "[LR [exception]])",
            number, shown(word));
      }
    }
    if (is_heading || words.empty()) continue;
    if (out->samples.size() + words.size() > kMaxSamples) return kTooMany;
    if (is_dump) {
      for (const uint32_t word : words) {
        Sample sample;
        sample.pc = word & ~1u;
        out->samples.push_back(sample);
      }
      continue;
    }
    if (words.size() > 3) {
      return fmt::format("line {}: {} numbers, at most 3 (PC [LR [exception]])", number,
                         words.size());
    }
    Sample sample;
    sample.pc = words[0] & ~1u;
    if (words.size() > 1) sample.lr = words[1];
    if (words.size() > 2) sample.exception = static_cast<uint16_t>(words[2] & 0x1FFu);
    out->has_lr = out->has_lr || words.size() > 1;
    out->has_exception = out->has_exception || words.size() > 2;
    out->samples.push_back(sample);
  }
  while (!out->samples.empty() && out->samples.back().pc == 0) out->samples.pop_back();
  return out->samples.empty() ? "no hexadecimal number in it (one sample a line)" : "";
}

namespace {

std::string orbtop_json(std::string_view line, size_t number, SampleSet* out) {
  if (line.size() > kMaxJsonBytes) return fmt::format("line {}: more than 16 MB", number);
  const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
  const auto top = object.is_object() ? object.find("toptable") : object.end();
  if (!object.is_object() || top == object.end() || !top->is_array()) {
    return fmt::format("line {}: no JSON object with a toptable (use orbtop -j)", number);
  }
  for (const nlohmann::json& entry : *top) {
    const auto function = entry.is_object() ? entry.find("function") : entry.end();
    const auto count = entry.is_object() ? entry.find("count") : entry.end();
    if (!entry.is_object() || function == entry.end() || !function->is_string() ||
        count == entry.end() || !count->is_number_unsigned()) {
      return fmt::format("line {}: an entry of the toptable has no function and count", number);
    }
    const auto name = function->get<std::string>();
    const uint64_t visits = std::min<uint64_t>(count->get<uint64_t>(), UINT32_MAX);
    if (visits == 0) continue;
    if (name.starts_with("**")) {  // ** SLEEPING **
      Sample sleeping;
      sleeping.pc = kPcSleeping;
      sleeping.weight = static_cast<uint32_t>(visits);
      out->samples.push_back(sleeping);
    } else {
      out->named.push_back({name.substr(0, kMaxWordBytes), visits});
    }
    if (out->named.size() + out->samples.size() > kMaxSamples) return kTooMany;
  }
  return {};
}

}  // namespace

std::string parse_orbuculum(std::string_view text, SampleSet* out) {
  std::string_view line;
  bool any = false;
  for (size_t number = 1; next_line(&text, &line); ++number) {
    if (line.empty()) continue;
    if (line[0] == '{') {
      std::string problem = orbtop_json(line, number, out);
      if (!problem.empty()) return problem;
      any = true;
      continue;
    }
    uint32_t kind = 0;
    if (!whole_number(next_word(&line), 10, &kind)) {
      return fmt::format("line {}: no hardware event (kind,ticks,...) and no JSON of orbtop -j",
                         number);
    }
    any = true;
    if (kind != 2) continue;  // exceptions, watchpoints, time stamps
    next_word(&line);
    const std::string_view pc = next_word(&line);
    Sample sample;
    if (pc.starts_with("**")) {
      sample.pc = kPcSleeping;
    } else if (whole_number(pc, 16, &sample.pc)) {
      sample.pc &= ~1u;
    } else {
      return fmt::format("line {}: {} is no address", number, shown(pc));
    }
    if (out->samples.size() == kMaxSamples) return kTooMany;
    out->samples.push_back(sample);
  }
  return any ? "" : "no hardware event in it";
}

std::string parse_probe_rs(std::string_view text, SampleSet* out) {
  std::string_view line;
  uint64_t total = 0;
  for (size_t number = 1; next_line(&text, &line); ++number) {
    if (line.starts_with("Samples ")) {
      if (!whole_number(trimmed(line.substr(8)), 10, &total) || total > UINT32_MAX) {
        return fmt::format("line {}: no number of samples", number);
      }
      continue;
    }
    const size_t dash = line.rfind(" - ");
    if (dash == std::string_view::npos || !line.ends_with('%')) continue;  // file:line, log lines
    std::string_view name = trimmed(line.substr(0, dash));
    std::string_view share = line.substr(dash + 3);
    share.remove_suffix(1);
    double percent = 0;
    const auto [end, error] = std::from_chars(share.data(), share.data() + share.size(), percent);
    if (error != std::errc() || end != share.data() + share.size() || !(percent >= 0) ||
        percent > 100.5) {
      return fmt::format("line {}: {} is no share in per cent", number, shown(share));
    }
    if (total == 0) return fmt::format("line {}: no line `Samples N` before it", number);
    const auto count =
        static_cast<uint32_t>(std::llround(percent / 100 * static_cast<double>(total)));
    static constexpr std::string_view kUnknown = "UNKNOWN - ";
    Sample sample;
    if (count == 0 || name.empty()) continue;
    if (out->named.size() + out->samples.size() >= kMaxSamples) return kTooMany;
    if (name.starts_with(kUnknown) && whole_number(name.substr(kUnknown.size()), 16, &sample.pc)) {
      sample.pc &= ~1u;
      sample.weight = count;
      out->samples.push_back(sample);
    } else {
      out->named.push_back({std::string(name.substr(0, kMaxWordBytes)), count});
    }
  }
  if (out->named.empty() && out->samples.empty()) {
    return "no line `NAME - SHARE%` in it (give what probe-rs profile printed)";
  }
  uint64_t listed = 0;
  for (const NamedSample& one : out->named) listed += one.count;
  for (const Sample& one : out->samples) listed += one.weight;
  out->notes.push_back(
      fmt::format("the table lists {} of {} samples, by name and rounded share (more with --limit)",
                  listed, total));
  return {};
}

std::string parse_zephyr_perf(std::string_view text, bool partial, SampleSet* out) {
  std::string_view line;
  size_t number = 0;
  size_t expected = 0;
  bool found = false;
  while (!found && next_line(&text, &line)) {
    ++number;
    const size_t at = line.find("Perf buf length ");
    if (at == std::string_view::npos) continue;
    if (!whole_number(trimmed(line.substr(at + 16)), 10, &expected)) {
      return fmt::format("line {}: no length behind `Perf buf length`", number);
    }
    found = true;
  }
  if (!found) return "no line `Perf buf length N` (give what `perf printbuf` printed)";
  if (expected > kMaxSamples) return kTooMany;
  std::vector<uint64_t> words;
  while (words.size() < expected && next_line(&text, &line)) {
    ++number;
    if (line.empty()) continue;
    uint64_t word = 0;
    if (!whole_number(line, 16, &word)) {
      return fmt::format(
          "line {}: {} is no hexadecimal number ({} of {} words read; another "
          "program's output in between?)",
          number, shown(line), words.size(), expected);
    }
    words.push_back(word);
  }
  if (words.size() < expected && !partial) {
    return fmt::format(
        "cut off: {} of {} words are there (copy it again, or take what is there "
        "with --partial)",
        words.size(), expected);
  }
  for (size_t at = 0; at < words.size();) {
    const uint64_t depth = words[at++];
    if (depth == 0 || depth > kMaxStackDepth) {
      return fmt::format(
          "word {}: a stack of {} addresses (it is damaged, or not of a 32-bit "
          "target)",
          at - 1, depth);
    }
    if (depth > words.size() - at) {
      out->notes.push_back("the last stack is cut off and was left out");
      break;
    }
    SampleStack stack;
    for (uint64_t i = 0; i < depth; ++i) {
      if (words[at + i] > UINT32_MAX) {
        return fmt::format("word {}: an address of more than 32 bits", at + i);
      }
      if (i > 0 && words[at + i] != 0)
        stack.callers.push_back(static_cast<uint32_t>(words[at + i]));
    }
    Sample sample;
    sample.pc = static_cast<uint32_t>(words[at]) & ~1u;
    at += static_cast<size_t>(depth);
    stack.sample = static_cast<uint32_t>(out->samples.size());
    out->samples.push_back(sample);
    if (!stack.callers.empty()) out->stacks.push_back(std::move(stack));
  }
  return {};
}

}  // namespace millrace::profile
