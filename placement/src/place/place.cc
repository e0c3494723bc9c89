// SPDX-License-Identifier: Apache-2.0
// place(): from a program, its profile and a budget to a list. The parts are the workspace (what a
// selection costs and what it leaves waiting), the chooser (which selection), and here who may move
// and why.
#include "millrace/placement/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "evict/editable.h"
#include "millrace/placement/build_input.h"
#include "place/choose.h"
#include "place/region.h"
#include "place/workspace.h"

namespace millrace::placement {
namespace {

using profile::CallEdge;
using profile::EdgeKind;
using profile::Function;
using profile::kNone;
using profile::printable;
using profile::Target;
using profile::TargetRegion;
using profile::WeightUnit;

constexpr size_t kMaxCurvePoints = 40;
// Of a gain from samples, in shares of the busy time.
constexpr double kShareError = 0.04, kSampleError = 4;
constexpr double kSpan = 0.25;       // of the model's two ends' distance
constexpr double kDoubtful = 0.5;    // of waits for lines that should be resident: data's perhaps
constexpr double kResident = 0.005;  // of the busy weight: what may wait and count as resident

class Placer {
 public:
  Placer(ElfIndex* index, const profile::SampleSet& samples, std::span<const uint8_t> trace,
         const Target& target, const PlaceOptions& options, Placement* out)
      : index_(*index),
        samples_(samples),
        trace_(trace),
        target_(target),
        options_(options),
        out_(*out) {}

  Failure run() {
    Failure failure = find_region();
    if (!failure) {
      failure = profile::attribute(&index_, samples_, target_, options_.profile, &out_.profile);
    }
    if (!failure) failure = prepare();
    if (!failure) failure = constraints();
    if (failure) return failure;
    make_candidates();
    failure = sort_out();
    if (failure) return failure;
    choose();
    explain();
    draw_curve();
    write_list();
    const std::vector<uint32_t> order =
        flash_order(out_.profile, work_.units, work_.graph, work_.moved(chosen_));
    for (const uint32_t unit : order) {
      out_.flash_order.push_back(entry_of(work_.units.units[unit], work_.units));
      out_.flash_order.back().name = work_.units.units[unit].name;  // the clone itself
    }
    return {};
  }

 private:
  Failure usage(std::string message) const { return Error{Error::Kind::usage, std::move(message)}; }

  Failure find_region() {
    Failure failure =
        placement::find_region(index_, target_, options_.region, Contents::code, &region_);
    if (!failure) failure = check_budget(*region_, options_.budget, Contents::code);
    if (failure) return failure;
    out_.budget = options_.budget;
    out_.region = region_->name;
    return {};
  }

  Failure prepare() {
    work_.index = &index_;
    work_.units = find_units(index_);
    work_.graph = profile::CallGraph::build(index_);
    work_.input = read_fetches(out_.profile, work_.units, index_, trace_);
    work_.model =
        std::make_unique<FetchModel>(work_.units, index_, target_, work_.graph, work_.input);
    if (!trace_.empty() && target_.cache) {
      work_.sim = std::make_unique<TraceSim>(trace_, work_.units, index_, target_, work_.graph);
      if (work_.sim->visits() == 0) work_.sim.reset();
    }
    work_.region_start = region_->start;
    work_.veneer_bytes = veneer_bytes(index_);
    out_.is_measured = work_.input.is_measured;
    out_.is_simulated = work_.sim != nullptr;
    out_.stall = work_.input.stall;
    if (!samples_.named.empty()) {
      out_.notes.emplace_back(
          "the samples are names without addresses: which lines of the cache they use is not "
          "known");
    }
    if (!target_.cache) {
      out_.notes.push_back(fmt::format(
          "target {} says nothing of a cache: every sample outside fast memory counts as waiting",
          target_.name));
    }
    return {};
  }

  Failure constraints() {
    Failure failure = check_boot_options(index_, options_.boot);
    if (failure) return failure;
    out_.boot = find_boot_closure(index_, work_.graph, options_.boot);
    for (const std::string& note : out_.boot.notes) out_.notes.push_back(note);
    failure = units_named(options_.pin, "--pin", &index_, work_.units, &pinned_units_);
    if (!failure) {
      failure = units_named(options_.never, "--never", &index_, work_.units, &never_units_);
    }
    if (failure) return failure;
    for (size_t i = 0; i < pinned_units_.size(); ++i) {
      if (pinned_units_[i] && never_units_[i]) {
        return usage(fmt::format("{} is pinned and never to move (decide)",
                                 printable(work_.units.units[i].name, 80)));
      }
    }
    boot_units_.assign(work_.units.units.size(), false);
    for (const BootFunction& one : out_.boot.functions) {
      const uint32_t unit = work_.units.of_function[one.function];
      if (unit != kNone) boot_units_[unit] = true;
    }
    if (options_.pin_interrupts) pin_interrupts();
    return {};
  }

  void pin_interrupts() {
    const std::vector<uint32_t> handlers = interrupt_handlers(index_);
    if (handlers.empty()) {
      out_.notes.emplace_back(
          "no vector table was found in the ELF, so no interrupt handler was pinned (name them "
          "with "
          "--pin)");
    }
    const auto pin = [&](uint32_t function) {
      const uint32_t unit = work_.units.of_function[function];
      if (unit != kNone && !never_units_[unit] && !boot_units_[unit]) pinned_units_[unit] = true;
    };
    for (const uint32_t handler : handlers) {
      pin(handler);
      for (const CallEdge& edge : work_.graph.from(handler)) {
        if (edge.kind != EdgeKind::address) pin(edge.to);
      }
    }
  }

  bool is_candidate(const Unit& unit) const {
    if (unit.kind != UnitKind::code || unit.functions.empty()) return false;
    const TargetRegion* at = target_.region_at(unit.address);
    return at == nullptr || !at->is_fast;
  }

  void make_candidates() {
    work_.candidate_of.assign(work_.units.units.size(), kNone);
    std::map<std::string, uint32_t> groups;
    for (uint32_t i = 0; i < work_.units.units.size(); ++i) {
      const Unit& unit = work_.units.units[i];
      if (!is_candidate(unit)) continue;
      std::string key;
      if (options_.granularity == Granularity::library) {
        key = unit.library.empty() ? "(unknown)" : unit.library;
      } else if (options_.granularity == Granularity::file) {
        key = work_.units.is_from_map ? unit.library + ":" + unit.object : unit.file;
      }
      uint32_t number = static_cast<uint32_t>(work_.candidates.size());
      if (options_.granularity != Granularity::function) {
        // What runs before the copy stays, the rest of its file may go.
        if (boot_units_[i] || never_units_[i]) key += '\n';
        number = groups.emplace(key, number).first->second;
      }
      if (number == work_.candidates.size()) work_.candidates.emplace_back();
      add(i, &work_.candidates[number]);
      work_.candidate_of[i] = number;
    }
  }

  void add(uint32_t number, Candidate* to) {
    const Unit& unit = work_.units.units[number];
    const UnitUse& use = work_.input.by_unit[number];
    if (to->units.empty()) {
      to->library = unit.library;
      to->file = unit.file;
      switch (options_.granularity) {
        case Granularity::function:
          to->name = profile::readable_name(
              unit.name.empty() ? index_.functions()[unit.functions[0]].name : unit.name);
          break;
        case Granularity::file:
          to->name = unit.object.empty() ? unit.file : unit.object;
          break;
        case Granularity::library:
          to->name = unit.library;
          break;
      }
      if (to->name.empty()) to->name = "(unknown)";
    }
    const double before = to->pressure * to->lines;
    to->units.push_back(number);
    to->bytes += unit.aligned();
    to->weight += use.weight;
    to->stall += use.stall;
    const uint32_t lines = work_.model->lines(number);
    to->lines += lines;
    to->pressure =
        to->lines == 0 ? 0 : (before + work_.model->pressure(number) * lines) / to->lines;
  }

  Failure sort_out() {
    const size_t count = work_.candidates.size();
    may_.assign(count, false);
    pinned_.assign(count, false);
    const bool counted = out_.profile.unit == WeightUnit::samples;
    for (size_t i = 0; i < count; ++i) {
      Candidate& one = work_.candidates[i];
      const auto any = [&](const std::vector<bool>& of) {
        return std::any_of(one.units.begin(), one.units.end(), [&](uint32_t u) { return of[u]; });
      };
      const bool has_name = std::all_of(one.units.begin(), one.units.end(), [&](uint32_t u) {
        return !work_.units.units[u].name.empty();
      });
      if (any(pinned_units_)) {
        if (any(boot_units_)) {
          return usage(fmt::format("{} cannot be pinned: it runs before the copy to {} ({})",
                                   printable(one.name, 80), region_->name, boot_path(one)));
        }
        one.why = Why::pinned;
        pinned_[i] = true;
      } else if (any(boot_units_)) {
        one.why = Why::boot;
      } else if (any(never_units_)) {
        one.why = Why::never;
      } else if (one.weight == 0) {
        one.why = Why::unsampled;
      } else if (!has_name) {
        one.why = Why::not_movable;
      } else if (counted && one.weight < options_.min_samples) {
        one.why = Why::too_little;
      } else {
        may_[i] = true;
        one.why = one.bytes > options_.budget ? Why::too_large : Why::outweighed;
      }
    }
    const uint64_t pinned_bytes = work_.total(pinned_);
    if (pinned_bytes > options_.budget) {
      return usage(fmt::format("what is pinned takes {} bytes, more than the budget of {}",
                               pinned_bytes, options_.budget));
    }
    return {};
  }

  std::string boot_path(const Candidate& one) const {
    for (const uint32_t unit : one.units) {
      for (const uint32_t function : work_.units.units[unit].functions) {
        std::string path = out_.boot.path_to(function, index_);
        if (!path.empty()) return path;
      }
    }
    return "the user says so";
  }

  Outcome outcome_of(const Chosen& chosen, double stall) const {
    Outcome out;
    for (uint32_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i]) out.candidates.push_back(i);
    }
    out.bytes = work_.bytes(chosen);
    out.veneer_bytes = work_.veneers(chosen);
    const auto busy = static_cast<double>(out_.profile.busy());
    if (busy > 0) out.gain = std::clamp((base_stall_ - stall) / busy, 0.0, 1.0);
    return out;
  }

  void choose() {
    const Chosen nothing(work_.candidates.size());
    base_stall_ = work_.stall(nothing);
    Choice best = choose_best(work_, may_, pinned_, options_.budget);
    const Chosen doubtful = doubtful_ones();
    fill_with(doubtful, &best);
    Choice density = choose_by_density(work_, may_, pinned_, options_.budget);
    fill_with(doubtful, &density);
    Chosen everything = pinned_;
    for (size_t i = 0; i < may_.size(); ++i) {
      everything[i] = everything[i] || may_[i] || doubtful[i];
    }
    out_.method = best.method;
    out_.is_proved = best.is_proved;
    chosen_ = best.chosen;
    out_.chosen = outcome_of(best.chosen, best.stall);
    out_.density = outcome_of(density.chosen, density.stall);
    out_.everything = outcome_of(everything, work_.stall(everything));
    work_.model->remaining(work_.moved(best.chosen), &out_.lines_left, &out_.lines_over);
    const auto busy = static_cast<double>(out_.profile.busy());
    out_.rest_is_resident =
        target_.cache.has_value() && (out_.lines_over == 0 || best.stall < busy * kResident);
    out_.gain_interval = interval();
  }

  // Beyond the number of samples: the two ends of the model, and what the share of waiting itself
  // may be off. docs/placement.md has how often the truth was within.
  profile::Interval interval() const {
    const double gain = out_.chosen.gain;
    const auto busy = static_cast<double>(out_.profile.busy());
    if (!work_.input.is_counted || busy <= 0) return {gain, gain};
    const FetchModel::Stall parts = work_.model->stall_parts(work_.moved(chosen_));
    const double span = std::abs(parts.as_before - parts.relieved) * kSpan;
    const double error = kShareError + kSampleError / std::sqrt(busy);
    const double doubtful = parts.doubtful * kDoubtful / busy;
    return {std::clamp(gain - span / busy - error - doubtful, 0.0, gain),
            std::clamp(gain + span / busy + error, gain, 1.0)};
  }

  Chosen doubtful_ones() const {
    Chosen out(work_.candidates.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = work_.candidates[i].why == Why::too_little;
    return out;
  }

  // Room that is left is free: what has a few samples only may use it.
  void fill_with(const Chosen& doubtful, Choice* best) const {
    const bool any = std::find(doubtful.begin(), doubtful.end(), true) != doubtful.end();
    if (!any || best->stall <= 0 || work_.total(best->chosen) >= options_.budget) return;
    Choice more = choose_best(work_, doubtful, best->chosen, options_.budget);
    best->chosen = std::move(more.chosen);
    best->stall = more.stall;
  }

  void explain() {
    const std::vector<double> alone = work_.marginal(pinned_);
    const std::vector<double> more = work_.marginal(chosen_);
    const auto busy = static_cast<double>(out_.profile.busy());
    for (uint32_t i = 0; i < work_.candidates.size(); ++i) {
      Candidate& one = work_.candidates[i];
      one.gain = chosen_[i] ? (pinned_[i] ? one.stall : alone[i]) : more[i];
      if (!chosen_[i] || pinned_[i] || one.bytes == 0) continue;
      one.why = Why::chosen;
    }
    for (uint32_t i = 0; i < work_.candidates.size(); ++i) {
      Candidate& one = work_.candidates[i];
      if (one.why == Why::unsampled) {
        ++out_.unsampled;
        continue;
      }
      if (one.why == Why::outweighed && one.gain <= busy * 1e-5) one.why = Why::resident;
      one.reason = reason(one);
      for (const uint32_t unit : one.units) {
        if (!work_.units.units[unit].name.empty()) {
          one.entries.push_back(entry_of(work_.units.units[unit], work_.units));
        }
      }
    }
    order();
  }

  // Of what was left out for its bytes: what it would add, beside what the list brings.
  std::string room_sentence(const Candidate& one) const {
    const auto busy = static_cast<double>(std::max<uint64_t>(out_.profile.busy(), 1));
    const uint64_t used = out_.chosen.total_bytes();
    const double by_list = used == 0 ? 0 : 100 * out_.chosen.gain / static_cast<double>(used);
    const uint64_t left = out_.budget - std::min(out_.budget, used);
    if (one.bytes <= left) return "fits, but with its veneers it would save nothing more";
    return fmt::format("{} bytes are left; {:.2f} % more a KB, the list saves {:.2f} a KB", left,
                       100 * one.gain / busy / one.bytes * 1024, by_list * 1024);
  }

  std::string reason(const Candidate& one) const {
    const auto weight = static_cast<double>(one.weight);
    const double waiting = weight > 0 ? 100 * std::min(1.0, one.stall / weight) : 0;
    const std::string crowd =
        one.lines == 0 || !target_.cache
            ? ""
            : fmt::format("; {:.1f} lines for {} ways", one.pressure, target_.cache->ways);
    switch (one.why) {
      case Why::chosen:
        return fmt::format("{:.0f} % waits for code{}", waiting, crowd);
      case Why::pinned:
        return "pinned";
      case Why::boot:
        return "runs before the copy: " + boot_path(one);
      case Why::never:
        return "kept by --never";
      case Why::resident:
        return fmt::format("stays in the cache then{}", crowd);
      case Why::too_little:
        return fmt::format("{} samples, fewer than the {} to be believed", one.weight,
                           options_.min_samples);
      case Why::too_large:
        return fmt::format("{} bytes are more than the budget", one.bytes);
      case Why::outweighed:
        return room_sentence(one) + crowd;
      case Why::not_movable:
        return why_unnamed(work_.units.units[one.units[0]], work_.units);
      case Why::unsampled:
        break;
    }
    return {};
  }

  // Those that are worth showing, the chosen first.
  void order() {
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < work_.candidates.size(); ++i) {
      if (work_.candidates[i].why != Why::unsampled) numbers.push_back(i);
    }
    std::stable_sort(numbers.begin(), numbers.end(), [&](uint32_t a, uint32_t b) {
      if (chosen_[a] != chosen_[b]) return static_cast<bool>(chosen_[a]);
      if (work_.candidates[a].gain != work_.candidates[b].gain) {
        return work_.candidates[a].gain > work_.candidates[b].gain;
      }
      return work_.candidates[a].weight > work_.candidates[b].weight;
    });
    std::vector<uint32_t> place(work_.candidates.size(), kNone);
    for (uint32_t k = 0; k < numbers.size(); ++k) {
      place[numbers[k]] = k;
      out_.candidates.push_back(work_.candidates[numbers[k]]);
    }
    for (Outcome* outcome : {&out_.chosen, &out_.density, &out_.everything}) {
      for (uint32_t& one : outcome->candidates) one = place[one];
      std::sort(outcome->candidates.begin(), outcome->candidates.end());
    }
  }

  void draw_curve() {
    const std::vector<uint32_t> order = worth_order(work_, may_, pinned_);
    Chosen chosen = pinned_;
    const auto busy = static_cast<double>(out_.profile.busy());
    const auto point = [&] {
      const double stall = work_.stall(chosen);
      double gain = busy > 0 ? std::clamp((base_stall_ - stall) / busy, 0.0, 1.0) : 0;
      // More bytes can always be left empty: the best so far.
      if (!out_.curve.empty()) gain = std::max(gain, out_.curve.back().gain);
      out_.curve.push_back({work_.total(chosen), gain});
    };
    point();
    const uint64_t all = work_.bytes(pinned_) + [&] {
      uint64_t sum = 0;
      for (const uint32_t i : order) sum += work_.candidates[i].bytes;
      return sum;
    }();
    // As far as twice the budget, or all of it.
    const uint64_t end = std::min<uint64_t>(all, std::max<uint64_t>(options_.budget * 2, 4096));
    const uint64_t step = std::max<uint64_t>(end / kMaxCurvePoints, 1);
    uint64_t next = out_.curve[0].bytes + step, bytes = work_.bytes(chosen);
    for (size_t k = 0; k < order.size() && bytes < end; ++k) {
      chosen[order[k]] = true;
      bytes += work_.candidates[order[k]].bytes;
      if (bytes < next && k + 1 < order.size()) continue;
      point();
      next = bytes + step;
    }
  }

  void write_list() {
    std::set<std::string> seen;
    Editable editable(index_);
    size_t unmapped = 0;
    for (const uint32_t number : out_.chosen.candidates) {
      const Candidate& one = out_.candidates[number];
      for (size_t i = 0; i < one.entries.size(); ++i) {
        Entry entry = one.entries[i];
        const Unit& unit = work_.units.units[one.units[std::min(i, one.units.size() - 1)]];
        entry.comment = fmt::format("{} bytes", unit.size);
        if (!work_.units.is_from_map && unit.kind == UnitKind::code) {
          const Function& function = index_.functions()[unit.functions[0]];
          if (!function.has_debug_info) ++unmapped;
        }
        if (!seen.insert(entry_text(entry)).second) continue;
        (editable.is_editable(unit) ? out_.by_attribute : out_.by_script).entries.push_back(entry);
        out_.list.entries.push_back(std::move(entry));
      }
    }
    if (unmapped > 0) {
      out_.notes.push_back(fmt::format(
          "{} of the functions have no debug information: they may come from a library without a "
          "section for each function, and a pattern by name then takes nothing (give --map)",
          unmapped));
    }
  }

  ElfIndex& index_;
  const profile::SampleSet& samples_;
  std::span<const uint8_t> trace_;
  const Target& target_;
  const PlaceOptions& options_;
  Placement& out_;
  const TargetRegion* region_ = nullptr;
  Workspace work_;
  std::vector<bool> pinned_units_, never_units_, boot_units_;
  Chosen may_, pinned_, chosen_;
  double base_stall_ = 0;
};

}  // namespace

const char* name_of(Why why) {
  static constexpr const char* kNames[] = {"chosen",    "pinned",     "boot",      "never",
                                           "resident",  "too_little", "too_large", "outweighed",
                                           "unsampled", "not_movable"};
  return kNames[static_cast<size_t>(why)];
}

std::optional<double> Placement::cycles_after(const Outcome& outcome) const {
  if (!profile.cycles_per_event) return std::nullopt;
  return *profile.cycles_per_event * (1 - outcome.gain);
}

Failure place(ElfIndex* index, const profile::SampleSet& samples, std::span<const uint8_t> trace,
              const Target& target, const PlaceOptions& options, Placement* out) {
  *out = {};
  return Placer(index, samples, trace, target, options, out).run();
}

}  // namespace millrace::placement
