// SPDX-License-Identifier: Apache-2.0
// Minimising the weight that leaves with at least so many bytes is the knapsack of what stays:
// as much weight as possible in the bytes that remain. Of the functions that were never sampled any
// will do, and each has to be edited by hand, so the largest are taken; a last pass drops those
// that the rest makes unnecessary.
//
// What moves as one is what one edit moves: an attribute before a function takes its clones along,
// so `f.part.0` that never runs cannot leave without a busy `f`. What leaves gives back less than
// its bytes: code that stays reaches it by a veneer, and these stand in fast memory. Each piece is
// charged for the veneers it would need if all its callers stayed, which keeps the knapsack exact
// and errs to the safe side.
#include "millrace/placement/evict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "evict/editable.h"
#include "evict/stays.h"
#include "millrace/placement/select.h"
#include "millrace/profile/memory_report.h"
#include "place/region.h"
#include "place/workspace.h"

namespace millrace::placement {
namespace {

using profile::CallEdge;
using profile::EdgeKind;
using profile::kNone;
using profile::TargetRegion;

constexpr const char* kPurposely[] = {".fastrun",       ".itcm", ".ramfunc",
                                      ".time_critical", ".iram", "CodeQuickAccess"};
// More than the bytes of a bank's last part: sections end aligned to 16 or 32, and where the order
// of code changes, a table of unwind information (.ARM.exidx) may get entries of 8 bytes.
constexpr uint64_t kBankSlack = 64;

// What one edit moves.
struct Piece {
  std::vector<uint32_t> units;  // in the region
  uint64_t bytes = 0;
  uint64_t veneers = 0;  // bytes, if all callers stay
  uint64_t weight = 0;
  bool is_editable = false;
  bool may_go = true;
  uint64_t won() const { return bytes - std::min(bytes, veneers); }
};

class Evictor {
 public:
  Evictor(ElfIndex* index, const profile::Target& target, const EvictOptions& options,
          Eviction* out)
      : index_(*index), target_(target), options_(options), out_(*out), editable_(*index) {}

  Failure run(const profile::SampleSet& samples) {
    Failure failure = find_region(index_, target_, options_.region, Contents::code, &region_);
    if (!failure) {
      failure = profile::attribute(&index_, samples, target_, options_.profile, &out_.profile);
    }
    if (failure) return failure;
    // An attribute moves one function out of a section that holds many.
    units_ = split_units(index_, find_units(index_),
                         [this](const Unit& unit) { return editable_.any_is_editable(unit); });
    graph_ = profile::CallGraph::build(index_);
    failure = units_named(options_.never, "--never", &index_, units_, &never_);
    if (failure) return failure;
    const auto to =
        std::find_if(target_.regions.begin(), target_.regions.end(),
                     [](const TargetRegion& one) { return !one.is_fast && one.is_code; });
    const TargetRegion* const slow = to == target_.regions.end() ? nullptr : &*to;
    out_.region = region_->name;
    out_.to = slow == nullptr ? "slow memory" : slow->name;
    count_banks();
    if (out_.wanted == 0) {
      return Error{Error::Kind::usage,
                   fmt::format("target {} has no banks to win back (give the bytes: --evict 32K)",
                               target_.name)};
    }
    const Stays stays = find_stays(index_, units_, graph_, target_, *region_, slow);
    stays_ = stays.units;
    out_.kept_for_interrupts = stays.for_interrupts;
    out_.kept_for_controller = stays.for_controller;
    out_.drivers.reserve(stays.drivers.size());
    for (const uint32_t one : stays.drivers) {
      out_.drivers.push_back(profile::readable_name(index_.functions()[one].name));
    }
    if (!out_.profile.has_exceptions) {
      out_.notes.emplace_back(
          "the samples do not say what ran in interrupts: handlers are known by their names and by "
          "who installs them, what these call further down is not kept (record with --mode "
          "callers)");
    }
    input_ = read_fetches(out_.profile, units_, index_, {});
    make_pieces();
    choose();
    finish();
    return {};
  }

 private:
  void count_banks() {
    const profile::MemoryReport report = profile::report_memory(index_, target_, nullptr);
    out_.wanted = options_.bytes;
    if (!report.banks || report.banks->banks.regions.empty() ||
        report.banks->banks.regions[0] != region_->name) {
      return;
    }
    out_.bank_bytes = report.banks->banks.bytes;
    out_.banks_before = report.banks->assigned;
    if (out_.wanted == 0 && report.banks->to_win_back > 0) {
      out_.wanted = report.banks->to_win_back + kBankSlack;
    }
    used_ = uint64_t{report.banks->needed} * out_.bank_bytes - report.banks->left_in_last;
  }

  bool may_go(uint32_t i, bool is_editable) const {
    const Unit& unit = units_.units[i];
    if (unit.name.empty() || never_[i] || stays_[i]) return false;
    if (unit.is_part && !is_editable) return false;
    // What ran while an exception was active is interrupt code, whoever installed it.
    if (input_.by_unit[i].handlers > 0) return false;
    return std::none_of(std::begin(kPurposely), std::end(kPurposely), [&](const char* one) {
      return units_.is_from_map && unit.section.starts_with(one);
    });
  }

  void make_pieces() {
    std::map<std::string, uint32_t> by_edit;
    piece_of_.assign(units_.units.size(), kNone);
    for (uint32_t i = 0; i < units_.units.size(); ++i) {
      const Unit& unit = units_.units[i];
      if (unit.kind != UnitKind::code || unit.functions.empty()) continue;
      if (target_.region_at(unit.address) != region_) continue;
      const profile::Function& function = index_.functions()[unit.functions[0]];
      const bool is_editable = editable_.is_editable(unit);
      const std::string edit = is_editable ? fmt::format("{}:{}", function.file, function.line)
                                           : entry_text(entry_of(unit, units_));
      const auto [at, is_new] = by_edit.emplace(edit, static_cast<uint32_t>(pieces_.size()));
      if (is_new) pieces_.emplace_back();
      piece_of_[i] = at->second;
      Piece& piece = pieces_[at->second];
      piece.is_editable = is_editable;
      piece.units.push_back(i);
      piece.bytes += unit.aligned();
      piece.weight += input_.by_unit[i].weight;
      piece.may_go = piece.may_go && may_go(i, is_editable);
      if (unit.is_part && !is_editable) crowded_bytes_ += unit.aligned();
    }
    const uint32_t bytes = veneer_bytes(index_);
    const std::vector<bool> nothing(pieces_.size());
    for (const uint32_t function : reached_from_what_stays(nothing, true)) {
      pieces_[piece_of_[units_.of_function[function]]].veneers += bytes;
    }
  }

  // Functions of pieces (of those that go, or of any) that code of another piece calls; of those
  // callers that stay. A call through a pointer needs no veneer.
  std::set<uint32_t> reached_from_what_stays(const std::vector<bool>& goes, bool of_any) const {
    std::set<uint32_t> out;
    for (const CallEdge& edge : graph_.edges()) {
      if (edge.kind == EdgeKind::address) continue;
      const uint32_t to = piece_of(edge.to), from = piece_of(edge.from);
      if (to == kNone || from == kNone || to == from) continue;
      if ((of_any || goes[to]) && !goes[from]) out.insert(edge.to);
    }
    return out;
  }

  uint32_t piece_of(uint32_t function) const {
    const uint32_t unit = units_.of_function[function];
    return unit == kNone ? kNone : piece_of_[unit];
  }

  // What is edited by hand first, and of that the largest.
  void sort(std::vector<uint32_t>* numbers) const {
    std::stable_sort(numbers->begin(), numbers->end(), [&](uint32_t a, uint32_t b) {
      const Piece &one = pieces_[a], &other = pieces_[b];
      return one.is_editable != other.is_editable ? one.is_editable : one.bytes > other.bytes;
    });
  }

  void choose() {
    std::vector<uint32_t> cold, warm;
    uint64_t cold_bytes = 0, warm_bytes = 0;
    for (uint32_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (!piece.may_go || piece.won() == 0) continue;
      (piece.weight == 0 ? cold_bytes : warm_bytes) += piece.won();
      (piece.weight == 0 ? cold : warm).push_back(i);
    }
    sort(&cold);
    out_.is_proved = true;
    for (const uint32_t i : cold) {
      if (won_ < out_.wanted) take(i);
    }
    if (cold_bytes < out_.wanted) {
      const uint64_t more = out_.wanted - cold_bytes;
      std::vector<Item> items;
      items.reserve(warm.size());
      for (const uint32_t i : warm) {
        items.push_back({static_cast<uint32_t>(pieces_[i].won()), pieces_[i].weight});
      }
      const Selection stays = select_exactly(items, warm_bytes - std::min(warm_bytes, more));
      out_.is_proved = stays.is_exact;
      const std::set<uint32_t> staying(stays.chosen.begin(), stays.chosen.end());
      for (uint32_t k = 0; k < warm.size(); ++k) {
        if (!staying.contains(k)) take(warm[k]);
      }
    }
    // The smallest that are not needed stay.
    sort(&chosen_);
    for (size_t k = chosen_.size(); k > 0; --k) {
      const uint64_t won = pieces_[chosen_[k - 1]].won();
      if (won_ < out_.wanted + won) continue;
      won_ -= won;
      chosen_.erase(chosen_.begin() + static_cast<ptrdiff_t>(k - 1));
    }
  }

  void take(uint32_t piece) {
    chosen_.push_back(piece);
    won_ += pieces_[piece].won();
  }

  void finish() {
    std::vector<bool> goes(pieces_.size());
    uint64_t bytes = 0;
    for (const uint32_t i : chosen_) {
      goes[i] = true;
      bytes += pieces_[i].bytes;
    }
    out_.veneer_bytes =
        reached_from_what_stays(goes, false).size() * uint64_t{veneer_bytes(index_)};
    out_.bytes = bytes - std::min(bytes, out_.veneer_bytes);
    out_.is_enough = out_.bytes >= out_.wanted;
    count_lines(goes);
    for (const uint32_t i : chosen_) add(pieces_[i]);
    say_how();
    out_.share = out_.profile.share(out_.weight);
    if (out_.bank_bytes > 0) {
      const uint64_t left = used_ - std::min(used_, out_.bytes);
      out_.banks_after = static_cast<uint32_t>((left + out_.bank_bytes - 1) / out_.bank_bytes);
    }
    if (!units_.is_from_map) {
      out_.notes.emplace_back(
          "without --map, functions that the source puts into fast memory on purpose (FASTRUN) are "
          "not told from the others");
    }
  }

  void count_lines(const std::vector<bool>& goes) {
    const uint32_t line_bytes = target_.cache ? target_.cache->line_bytes : 32;
    std::set<uint32_t> lines;
    lines_of_.resize(units_.units.size());
    for (const profile::StackSample& one : out_.profile.stacks) {
      const uint32_t unit = unit_at(units_, one.pc);
      if (unit == kNone || piece_of_[unit] == kNone || !goes[piece_of_[unit]]) continue;
      lines.insert(one.pc / line_bytes);
      lines_of_[unit].insert(one.pc / line_bytes);
    }
    if (target_.cache) out_.fits_cache = lines.size() <= target_.cache->lines();
  }

  // A row for each entry of a list: clones are one.
  void add(const Piece& piece) {
    std::map<std::string, size_t> rows;
    for (const uint32_t i : piece.units) {
      const Unit& unit = units_.units[i];
      const Entry entry = entry_of(unit, units_);
      const auto [at, is_new] = rows.emplace(entry_text(entry), out_.evicted.size());
      if (is_new) {
        Evicted one;
        one.unit = i;
        one.name = profile::readable_name(entry.name);
        one.library = unit.library;
        one.file = unit.file;
        one.line = index_.functions()[unit.functions[0]].line;
        one.has_source = piece.is_editable;
        one.entry = entry;
        out_.evicted.push_back(std::move(one));
      }
      Evicted& row = out_.evicted[at->second];
      row.bytes += unit.aligned();
      row.weight += input_.by_unit[i].weight;
      row.lines += static_cast<uint32_t>(lines_of_[i].size());
      row.entry.comment = fmt::format("{} bytes", row.bytes);
    }
    out_.weight += piece.weight;
    for (const auto& [text, row] : rows) out_.list.entries.push_back(out_.evicted[row].entry);
  }

  void say_how() {
    if (crowded_bytes_ > 0) {
      out_.notes.push_back(fmt::format(
          "{} bytes of functions stay that share a section with others and that no attribute can "
          "move (compile with -ffunction-sections, and with link-time optimisation give it to the "
          "linker too)",
          crowded_bytes_));
    }
    uint64_t by_edit = 0;
    size_t by_script = 0;
    for (const Evicted& one : out_.evicted) {
      by_edit += one.has_source ? one.bytes : 0;
      by_script += one.has_source ? 0 : 1;
    }
    if (by_script == 0) return;
    out_.notes.push_back(fmt::format(
        "{} of these cannot be given an attribute (the C library, templates, inline functions): "
        "--gnu-ld FILE writes them for the linker script, ahead of what takes all other code; "
        "attributes alone move {} bytes",
        by_script, by_edit));
  }

  ElfIndex& index_;
  const profile::Target& target_;
  const EvictOptions& options_;
  Eviction& out_;
  Editable editable_;
  const TargetRegion* region_ = nullptr;
  Units units_;
  profile::CallGraph graph_;
  FetchInput input_;
  std::vector<bool> never_, stays_;
  std::vector<Piece> pieces_;
  std::vector<uint32_t> piece_of_;            // by unit
  std::vector<uint32_t> chosen_;              // pieces
  uint64_t won_ = 0;                          // by them, at least
  uint64_t used_ = 0;                         // of the region, before
  uint64_t crowded_bytes_ = 0;                // in shared sections, and no attribute moves them
  std::vector<std::set<uint32_t>> lines_of_;  // by unit
};

}  // namespace

Failure evict(ElfIndex* index, const profile::SampleSet& samples, const profile::Target& target,
              const EvictOptions& options, Eviction* out) {
  *out = {};
  return Evictor(index, target, options, out).run(samples);
}

}  // namespace millrace::placement
