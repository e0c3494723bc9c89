// SPDX-License-Identifier: Apache-2.0
// Any text as what is said about a program: a list, a target file, a map file, samples, and options
// that say what is done with them. Each part begins behind its mark, in any order and number; what
// is before the first is not read. What comes of it keeps its promises: lists that are written are
// read as they were meant, what is chosen fits, and failures are one sentence.
#include "millrace/placement/place.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "millrace/placement/build_input.h"
#include "millrace/placement/check.h"
#include "millrace/placement/data_input.h"
#include "millrace/placement/evict.h"
#include "millrace/placement/place_data.h"
#include "testing/small_program.h"

namespace {

using namespace millrace::profile;
using namespace millrace::placement;

// A cache of few sets, so that a run is short.
constexpr const char* kTiny =
    "name = tiny\nregion = ITCM 0 1K fast code\nregion = DTCM 0x20000000 4K fast data\n"
    "region = flash 0x60000000 1M cached code data\nregion = OCRAM 0x20200000 1M cached data\n"
    "controller = flash 0x402A8000 16K\nbanks = 4 32 ITCM DTCM\ncache = 32 4 2\n";

void require(bool holds) {
  if (!holds) std::abort();
}

// Mark -> what follows it, up to the next one.
std::map<std::string, std::string> parts_of(const std::string& input) {
  std::map<std::string, std::string> out;
  std::string* part = nullptr;
  for (size_t at = 0; at < input.size();) {
    const size_t end = std::min(input.find('\n', at), input.size());
    const std::string line = input.substr(at, end - at);
    at = end + 1;
    bool is_mark = false;
    for (const char* mark :
         {"LIST:", "TARGET:", "MAP:", "SAMPLES:", "PIN:", "NEVER:", "OPTIONS:"}) {
      if (line != mark) continue;
      part = &out[mark];
      is_mark = true;
    }
    if (!is_mark && part != nullptr) part->append(line).push_back('\n');
  }
  return out;
}

bool is_sentence(const Failure& failure) {
  return failure && !failure->message.empty() && failure->message.find('\n') == std::string::npos;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// What is written says what was meant, and means something in the program.
void check_list(const PlacementList& list, ElfIndex* index) {
  PlacementList read;
  require(!parse_list("written", list_text(list, {"head"}), &read));
  require(read.entries == list.entries);
  for (const Match& match : match_list(list, index)) {
    require(!match.functions.empty() || !match.objects.empty());
  }
  const std::string outputs = gnu_ld_fragment(list) + zephyr_snippet(list) + gnu_ld_data(list) +
                              gnu_ld_zeroed(list) + zephyr_cmake(list, index, "ITCM") +
                              attribute_list(list, index, "FASTRUN");
  require(!outputs.empty());
}

void check_all(const PlacementList& list, const Target& target, const Profile& profile,
               ElfIndex* index) {
  for (const bool is_evicted : {false, true}) {
    CheckOptions options;
    options.list = &list;
    options.budget = 64;
    options.profile = &profile;
    options.is_evicted = is_evicted;
    CheckReport report;
    const Failure failure = check(index, target, options, &report);
    if (failure) {
      require(is_sentence(failure));
      continue;
    }
    const FastUse& use = report.fast;
    require(use.functions + use.veneers + use.data + use.padding == use.bytes);
    for (const CheckResult& one : report.checks) require(!one.name.empty() && !one.summary.empty());
  }
}

void place_code(const SampleSet& samples, const Target& target, const PlaceOptions& options,
                ElfIndex* index) {
  Placement out;
  const Failure failure = place(index, samples, {}, target, options, &out);
  if (failure) {
    require(is_sentence(failure));
    return;
  }
  require(out.chosen.total_bytes() <= options.budget);
  require(std::isfinite(out.chosen.gain) && out.chosen.gain >= 0 && out.chosen.gain <= 1);
  require(out.gain_interval.low <= out.gain_interval.high);
  check_list(out.list, index);
  require(!gnu_ld_order(out.flash_order).empty());
  check_all(out.list, target, out.profile, index);
}

void place_objects(const SampleSet& samples, const Target& target, const PlaceOptions& code,
                   ElfIndex* index) {
  DataOptions options;
  options.budget = code.budget;
  options.min_samples = code.min_samples;
  options.pin = code.pin;
  options.never = code.never;
  DataPlacement out;
  const Failure failure = place_data(index, samples, {}, target, options, &out);
  if (failure) {
    require(is_sentence(failure));
    return;
  }
  require(out.bytes <= options.budget);
  check_list(out.list, index);
  require(zephyr_data_cmake(out).find('#') == 0);
}

void push_out(const SampleSet& samples, const Target& target, const PlaceOptions& place,
              ElfIndex* index) {
  EvictOptions options;
  options.bytes = place.budget % 100;  // 0: a bank
  options.never = place.never;
  Eviction out;
  const Failure failure = evict(index, samples, target, options, &out);
  if (failure) {
    require(is_sentence(failure));
    return;
  }
  require(out.is_enough == (out.bytes >= out.wanted));
  require(out.banks_after <= out.banks_before || out.bank_bytes == 0);
  check_list(out.list, index);
  check_all(out.list, target, out.profile, index);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<uint8_t> elf = testing::SmallProgram().elf();
  std::map<std::string, std::string> parts = parts_of({data, data + size});
  ElfIndex index;
  Failure failure = ElfIndex::parse("small.elf", elf, "small.map", parts["MAP:"], &index);
  if (failure) {
    require(is_sentence(failure));
    require(!ElfIndex::parse("small.elf", elf, "", "", &index));
  }
  Target target;
  if (failure = parse_target("t", parts["TARGET:"], &target); failure) {
    require(is_sentence(failure));
    require(!parse_target("tiny", kTiny, &target));
  }
  PlacementList list;
  if (failure = parse_list("l", parts["LIST:"], &list); failure) {
    require(is_sentence(failure));
    list.entries.clear();
  }
  SampleSet samples;
  ReadOptions read;
  read.format = SampleFormat::hex_text;
  const std::string& text = parts["SAMPLES:"];
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  if (parse_samples("s", bytes, read, &samples)) return 0;
  Profile profile;
  if (attribute(&index, samples, target, {}, &profile)) return 0;
  const std::string& numbers = parts["OPTIONS:"];
  const auto option = [&](size_t n) -> uint8_t {
    return n < numbers.size() ? static_cast<uint8_t>(numbers[n]) : 0;
  };
  PlaceOptions options;
  options.budget = option(0) * uint64_t{4};
  options.granularity = static_cast<Granularity>(option(1) % 3);
  options.min_samples = option(2) % 8 + 1u;
  options.pin_interrupts = option(3) % 2 == 1;
  options.pin = lines_of(parts["PIN:"]);
  options.never = lines_of(parts["NEVER:"]);
  switch (option(4) % 4) {
    case 0:
      check_all(list, target, profile, &index);
      break;
    case 1:
      place_code(samples, target, options, &index);
      break;
    case 2:
      place_objects(samples, target, options, &index);
      break;
    default:
      push_out(samples, target, options, &index);
  }
  return 0;
}
