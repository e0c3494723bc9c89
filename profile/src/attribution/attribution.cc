// SPDX-License-Identifier: Apache-2.0
// A million samples have some ten thousand different addresses: they are sorted once and added up,
// and everything that costs is done once an address. Callers come from sampled link registers, of
// which those that the unwind table does not vouch for are counted and not used: on a Cortex-M7
// two thirds of all samples are behind a function's first call, where r14 is any old return
// address.
#include "millrace/profile/attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace millrace::profile {
namespace {

constexpr uint32_t kDefaultLineBytes = 32;
constexpr double kMostlyOutside = 0.5;

bool is_exception_return(uint32_t lr) { return lr >= 0xFFFFFF00; }

template <class Row>
void sort_rows(std::vector<Row>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [](const Row& a, const Row& b) { return a.weight > b.weight; });
}

void add(Weight* to, const Weight& from) {
  to->weight += from.weight;
  to->stall += from.stall;
}

std::vector<NamedRow> rows_of(const std::map<std::string, Weight>& weights) {
  std::vector<NamedRow> out;
  for (const auto& [name, weight] : weights) out.push_back({weight, name});
  sort_rows(&out);
  return out;
}

}  // namespace

std::string exception_name(uint16_t number) {
  static constexpr const char* kSystem[] = {
      "thread", "Reset", "NMI", "HardFault", "MemManage",    "BusFault", "UsageFault", "7",
      "8",      "9",     "10",  "SVCall",    "DebugMonitor", "13",       "PendSV",     "SysTick"};
  if (number < std::size(kSystem)) return kSystem[number];
  return fmt::format("IRQ {}", number - 16);
}

namespace {

class Attributor {
 public:
  Attributor(ElfIndex* index, const SampleSet& samples, const ProfileOptions& options, Profile* out)
      : index_(*index), samples_(samples), options_(options), out_(*out) {}

  Failure run() {
    collect();
    Failure failure = check();
    if (failure) return failure;
    for (size_t i = 0; i < out_.stacks.size();) i = one_address(i);
    finish();
    return {};
  }

 private:
  static std::tuple<const uint32_t&, const uint16_t&, const std::vector<uint32_t>&> key(
      const StackSample& one) {
    return std::tie(one.pc, one.exception, one.callers);
  }

  // Samples with equal place, exception and caller become one; idle ones are counted out.
  void collect() {
    std::vector<uint32_t> idle;
    for (const std::string& name : options_.idle_functions) {
      const uint32_t number = index_.function_named(name);
      if (number == kNone) {
        out_.notes.push_back(
            fmt::format("no function {}, which was to be counted as idle", printable(name, 80)));
      } else {
        idle.push_back(number);
      }
    }
    std::vector<Sample> sorted = samples_.samples;
    for (const NamedSample& one : samples_.named) by_name(one, &sorted);
    std::unordered_map<uint32_t, const SampleStack*> stacks;
    for (const SampleStack& stack : samples_.stacks) stacks.emplace(stack.sample, &stack);
    if (stacks.empty()) {
      std::sort(sorted.begin(), sorted.end(), [](const Sample& a, const Sample& b) {
        return std::tie(a.pc, a.exception, a.lr) < std::tie(b.pc, b.exception, b.lr);
      });
    }
    uint32_t last_pc = UINT32_MAX;
    bool is_idle = false;
    LinkRegister state = LinkRegister::unknown;
    for (uint32_t i = 0; i < sorted.size(); ++i) {
      const Sample& sample = sorted[i];
      out_.total += sample.weight;
      out_.stall += sample.stall;
      if (sample.pc != last_pc || i == 0) {
        last_pc = sample.pc;
        is_idle = sample.pc == kPcSleeping || index_.is_waiting(sample.pc) ||
                  std::find(idle.begin(), idle.end(), function_of(sample.pc)) != idle.end();
        state = samples_.has_lr ? index_.link_register_at(sample.pc) : LinkRegister::unknown;
      }
      if (is_idle) {
        out_.idle += sample.weight;
        continue;
      }
      StackSample one;
      one.pc = sample.pc;
      one.exception = sample.exception;
      one.weight = sample.weight;
      one.stall = sample.stall;
      if (samples_.has_lr) {
        if (state == LinkRegister::unknown) {
          out_.caller_quality.no_unwind += sample.weight;
        } else if (state == LinkRegister::saved) {
          out_.caller_quality.saved += sample.weight;
        } else if (is_exception_return(sample.lr)) {
          out_.caller_quality.exception += sample.weight;
        } else {
          out_.caller_quality.known += sample.weight;
          one.callers.push_back(sample.lr & ~1u);
        }
      }
      const auto stack = stacks.find(i);
      if (stack != stacks.end()) {
        one.callers = stack->second->callers;
        for (uint32_t& address : one.callers) address &= ~1u;
      }
      // Sorted samples repeat: this alone leaves a tenth or less of them.
      if (!out_.stacks.empty() && key(out_.stacks.back()) == key(one)) {
        add(&out_.stacks.back(), one);
      } else {
        out_.stacks.push_back(std::move(one));
      }
    }
    std::stable_sort(out_.stacks.begin(), out_.stacks.end(),
                     [&](const StackSample& a, const StackSample& b) { return key(a) < key(b); });
    size_t kept = 0;
    for (size_t i = 0; i < out_.stacks.size(); ++i) {
      if (kept > 0 && key(out_.stacks[kept - 1]) == key(out_.stacks[i])) {
        add(&out_.stacks[kept - 1], out_.stacks[i]);
      } else {
        if (kept != i) out_.stacks[kept] = std::move(out_.stacks[i]);
        ++kept;
      }
    }
    out_.stacks.resize(kept);
  }

  void by_name(const NamedSample& one, std::vector<Sample>* sorted) {
    const uint32_t number = index_.function_named(one.name);
    Sample sample;
    // A name that is not there counts as outside, at an address that no program has code at.
    sample.pc = number == kNone ? 0xFFFFFFF0 : index_.functions()[number].start;
    sample.weight = static_cast<uint32_t>(std::min<uint64_t>(one.count, UINT32_MAX));
    sorted->push_back(sample);
    if (number == kNone) ++names_missing_;
  }

  uint32_t function_of(uint32_t pc) const { return index_.function_at(pc); }

  Failure check() {
    const auto outside = [this](uint32_t pc) {
      const uint32_t section = index_.section_at(pc);
      return section == kNone || !index_.sections()[section].is_code;
    };
    uint64_t wrong = 0;
    for (const StackSample& one : out_.stacks) wrong += outside(one.pc) ? one.weight : 0;
    if (!index_.is_same_program(samples_.identity)) {
      const bool by_id = samples_.identity.kind == IdentityKind::build_id;
      const std::string sentence =
          fmt::format("{} was sampled from another program than {}: {}, the ELF has {}",
                      printable(samples_.path), printable(index_.path()), samples_.identity.text(),
                      by_id ? index_.build_id().text() : index_.image_hash().text());
      if (!options_.accept_mismatch) {
        return Error{Error::Kind::mismatch, sentence + " (give the ELF that ran)"};
      }
      out_.notes.push_back(sentence);
    }
    const double share = out_.share(wrong);
    if (out_.busy() > 0 && share > kMostlyOutside) {
      const std::string sentence =
          fmt::format("{:.0f} % of the samples in {} lie outside the code of {}", share * 100,
                      printable(samples_.path), printable(index_.path()));
      if (!options_.accept_mismatch) {
        return Error{Error::Kind::mismatch,
                     sentence + " (give the ELF that ran, or --force if it is)"};
      }
      out_.notes.push_back(sentence);
    }
    if (names_missing_ > 0) {
      out_.notes.push_back(fmt::format(
          "{} names of the samples are not in the ELF: counted as outside", names_missing_));
    }
    return {};
  }

  struct FunctionSum : Weight {
    uint64_t in_handlers = 0;
    uint32_t lines = 0;
    uint32_t last_line = UINT32_MAX;
    uint32_t first_pc = 0;
  };
  struct InlineSum {
    uint64_t self = 0, total = 0;
    std::set<uint32_t> places;
  };

  // All stacks of one address, from `i` on; the index behind them.
  size_t one_address(size_t i) {
    const uint32_t pc = out_.stacks[i].pc;
    Weight weight;
    uint64_t in_handlers = 0;
    const Location at = index_.locate(pc);
    size_t end = i;
    for (; end < out_.stacks.size() && out_.stacks[end].pc == pc; ++end) {
      const StackSample& one = out_.stacks[end];
      add(&weight, one);
      if (one.exception != 0) in_handlers += one.weight;
      if (samples_.has_exception) add(&exceptions_[one.exception], one);
      if (!one.callers.empty()) add_caller(at, one);
    }
    const TargetRegion* region = out_.target.region_at(pc);
    add(&memories_[region == nullptr ? "(no region)" : region->name], weight);
    const bool inside = at.section != kNone;
    add(&sections_[inside ? index_.sections()[at.section].name : "(outside)"], weight);
    if (!inside) out_.outside += weight.weight;

    const uint32_t line_bytes =
        out_.target.cache ? out_.target.cache->line_bytes : kDefaultLineBytes;
    const uint32_t cache_line = pc / line_bytes;
    if (cache_line != last_cache_line_) ++out_.lines_executed;
    last_cache_line_ = cache_line;
    if (region != nullptr && region->is_cached) cached_lines_[cache_line] += weight.weight;

    const uint64_t key = at.function != kNone ? at.function
                         : inside             ? (uint64_t{1} << 32) + at.section
                                              : UINT64_MAX;
    FunctionSum& sum = functions_[key];
    if (sum.weight == 0) sum.first_pc = pc;
    add(&sum, weight);
    sum.in_handlers += in_handlers;
    if (cache_line != sum.last_line) ++sum.lines;
    sum.last_line = cache_line;

    if (at.function == kNone) {
      add(&files_["(no symbol)"], weight);
      add(&libraries_["(no symbol)"], weight);
      return end;
    }
    const Function& function = index_.functions()[at.function];
    add(&files_[function.file.empty() ? "(unknown)" : function.file], weight);
    add(&libraries_[function.library.empty() ? "(unknown)" : function.library], weight);
    const Frame& inner = at.frames.front();
    if (inner.at.file != kNone && inner.at.line != 0)
      add(&lines_[{inner.at.file, inner.at.line, inner.name}], weight);
    for (size_t f = 0; f + 1 < at.frames.size(); ++f) {
      InlineSum& inlined = inlines_[at.frames[f].name];
      if (f == 0) inlined.self += weight.weight;
      // A recursion that was inlined into itself counts once.
      const auto first = at.frames.begin();
      const bool again = std::any_of(first, first + static_cast<ptrdiff_t>(f),
                                     [&](const Frame& x) { return x.name == at.frames[f].name; });
      if (!again) inlined.total += weight.weight;
      inlined.places.insert(at.function);
    }
    return end;
  }

  void add_caller(const Location& callee, const StackSample& one) {
    // The call is in front of the return address, and may be the last instruction of its function.
    const uint32_t call = one.callers[0] - 2;
    const uint32_t caller = index_.function_at(call);
    add(&callers_[{callee.function, caller, caller == kNone ? 0 : call}], one);
  }

  std::string memory_of(uint32_t address) const {
    const TargetRegion* region = out_.target.region_at(address);
    return region == nullptr ? "-" : region->name;
  }

  std::string name_of(uint32_t function) {
    if (function == kNone) return "(no symbol)";
    const Function& one = index_.functions()[function];
    std::string name = readable_name(one.name);
    if (one.is_local && !one.file.empty() && count_of(one.name) > 1) {
      name += fmt::format(" [{}]", one.file.substr(one.file.rfind('/') + 1));
    }
    return name;
  }

  uint32_t count_of(const std::string& name) {
    if (name_counts_.empty()) {
      for (const Function& function : index_.functions()) ++name_counts_[function.name];
    }
    return name_counts_[name];
  }

  void finish() {
    for (const auto& [key, sum] : functions_) {
      FunctionRow row;
      static_cast<Weight&>(row) = sum;
      row.in_handlers = sum.in_handlers;
      row.lines_executed = sum.lines;
      row.start = sum.first_pc;
      row.memory = memory_of(sum.first_pc);
      if (key < index_.functions().size()) {
        const Function& function = index_.functions()[key];
        row.function = static_cast<uint32_t>(key);
        row.name = name_of(row.function);
        row.file = function.file;
        row.line = function.line;
        row.library = function.library;
        row.start = function.start;
        row.size = function.size;
      } else if (key != UINT64_MAX) {
        row.name =
            fmt::format("({} without a symbol)", index_.sections()[key - (uint64_t{1} << 32)].name);
      } else {
        row.name = "(outside the ELF)";
      }
      out_.functions.push_back(std::move(row));
    }
    for (const auto& [key, weight] : lines_) {
      out_.lines.push_back({weight, index_.files()[std::get<0>(key)], std::get<1>(key),
                            index_.names()[std::get<2>(key)]});
    }
    for (const auto& [name, sum] : inlines_) {
      out_.inlines.push_back(
          {index_.names()[name], sum.self, sum.total, static_cast<uint32_t>(sum.places.size())});
    }
    std::stable_sort(out_.inlines.begin(), out_.inlines.end(),
                     [](const InlineRow& a, const InlineRow& b) { return a.total > b.total; });
    finish_callers();
    std::map<std::string, Weight> exceptions;
    for (const auto& [number, weight] : exceptions_) exceptions[exception_name(number)] = weight;
    out_.memories = rows_of(memories_);
    out_.sections = rows_of(sections_);
    out_.libraries = rows_of(libraries_);
    out_.files = rows_of(files_);
    out_.exceptions = rows_of(exceptions);
    sort_rows(&out_.functions);
    sort_rows(&out_.lines);
    finish_cache();
  }

  void finish_callers() {
    out_.has_callers = samples_.has_lr || !samples_.stacks.empty();
    for (const auto& [key, weight] : callers_) {
      CallerRow row;
      static_cast<Weight&>(row) = weight;
      row.callee = name_of(std::get<0>(key));
      row.caller = name_of(std::get<1>(key));
      const uint32_t call = std::get<2>(key);
      if (std::get<1>(key) != kNone) {
        const Location at = index_.locate(call);
        if (!at.frames.empty() && at.frames.front().at.file != kNone) {
          row.file = index_.files()[at.frames.front().at.file];
          row.line = at.frames.front().at.line;
        }
      }
      out_.callers.push_back(std::move(row));
    }
    sort_rows(&out_.callers);
  }

  void finish_cache() {
    if (!out_.target.cache) return;
    CacheUse use;
    use.cache = *out_.target.cache;
    std::vector<uint32_t> in_set(use.cache.sets);
    for (const auto& [line, weight] : cached_lines_) ++in_set[line % use.cache.sets];
    use.lines = cached_lines_.size();
    use.sets_by_lines.assign(size_t{use.cache.ways} + 4, 0);
    for (const uint32_t lines : in_set) {
      ++use.sets_by_lines[std::min<size_t>(lines, use.sets_by_lines.size() - 1)];
      if (lines > use.cache.ways) use.lines_over += lines - use.cache.ways;
    }
    for (const auto& [line, weight] : cached_lines_) {
      use.weight += weight;
      if (in_set[line % use.cache.sets] > use.cache.ways) use.weight_over += weight;
    }
    out_.cache = std::move(use);
  }

  ElfIndex& index_;
  const SampleSet& samples_;
  const ProfileOptions& options_;
  Profile& out_;
  size_t names_missing_ = 0;
  uint32_t last_cache_line_ = UINT32_MAX;
  std::map<std::string, Weight> memories_, sections_, libraries_, files_;
  std::map<uint16_t, Weight> exceptions_;
  std::map<uint64_t, FunctionSum> functions_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Weight> lines_;    // file, line, name
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Weight> callers_;  // callee, caller, call
  std::map<uint32_t, InlineSum> inlines_;
  std::map<uint32_t, uint64_t> cached_lines_;
  std::unordered_map<std::string, uint32_t> name_counts_;
};

// Cycles of an event: from cycles counted, from samples and their distance, or from the busy share
// at a steady rate.
void count_cycles(const SampleSet& samples, const ProfileOptions& options, Profile* out) {
  const auto busy = static_cast<double>(out->busy());
  const double busy_share = out->total == 0 ? 0 : busy / static_cast<double>(out->total);
  if (options.events_per_s > 0) {
    if (out->core_khz == 0) {
      out->notes.push_back(
          "cycles per event need the core clock: the samples do not say it "
          "(--clock)");
      return;
    }
    out->cycles_per_event = busy_share * 1000.0 * out->core_khz / options.events_per_s;
    return;
  }
  if (out->events == 0) return;
  const auto events = static_cast<double>(out->events);
  if (out->unit == WeightUnit::cycles) {
    out->cycles_per_event = busy / events;
  } else if (samples.run_cycles > 0) {
    out->cycles_per_event = busy_share * static_cast<double>(samples.run_cycles) / events;
  } else if (out->interval_cycles > 0) {
    const double all = static_cast<double>(out->total + out->lost) * out->interval_cycles;
    out->cycles_per_event = busy_share * all / events;
  } else {
    out->notes.push_back(
        "cycles per event need the sampling interval: the samples do not say it "
        "(--interval, or --rate and --clock)");
  }
}

}  // namespace

std::optional<Interval> Profile::interval(uint64_t weight) const {
  if (unit != WeightUnit::samples) return std::nullopt;
  return wilson_interval(static_cast<double>(weight), static_cast<double>(busy()));
}

std::optional<double> Profile::cycles_of(uint64_t weight) const {
  if (!cycles_per_event) return std::nullopt;
  return *cycles_per_event * share(weight);
}

Failure attribute(ElfIndex* index, const SampleSet& samples, const Target& target,
                  const ProfileOptions& options, Profile* out) {
  *out = {};
  out->elf_path = index->path();
  out->samples_path = samples.path;
  out->samples_format = samples.format;
  out->target = target;
  out->unit = samples.unit;
  out->has_stall = samples.has_stall;
  out->has_exceptions = samples.has_exception;
  out->lost = samples.lost;
  out->overruns = samples.overruns;
  out->core_khz = options.core_khz != 0 ? options.core_khz : samples.core_khz;
  out->interval_cycles =
      options.interval_cycles != 0 ? options.interval_cycles : samples.interval_cycles;
  out->events = options.events != 0 ? options.events : samples.events;
  if (samples.run_cycles > 0) {
    out->handler_share =
        static_cast<double>(samples.handler_cycles) / static_cast<double>(samples.run_cycles);
  }
  out->notes = index->notes();
  out->notes.insert(out->notes.end(), samples.notes.begin(), samples.notes.end());
  if (!samples.named.empty()) {
    out->notes.push_back(
        "the samples are names without addresses: lines, cache lines and inlined "
        "calls mean nothing");
  }
  Failure failure = Attributor(index, samples, options, out).run();
  if (failure) return failure;
  count_cycles(samples, options, out);
  return {};
}

}  // namespace millrace::profile
