// SPDX-License-Identifier: Apache-2.0
// No single method is best everywhere. What a function is worth depends on what else moves (they
// share cache sets, and what stays moves together), so a knapsack over fixed values is exact for a
// problem that is not quite ours; taking steps and valuing anew follows the interaction but is
// greedy. So: the published density, the exact knapsack over measured stalls, the same over
// marginal values, the knapsack in four rounds, and small steps; each is judged by the same model
// (or simulation, with a trace). The best is annealed (anneal.cc), a fixed number of tries, and
// single exchanges improve that and the next best until none helps. On random small programs
// (choose_test.cc) the result saves 99 % of what the exhaustive optimum saves. Much of what
// exchanges gain is how what stays falls into the cache's sets: real, as the linked images show,
// and gone with the next change of the code.
#include "place/choose.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "millrace/placement/select.h"
#include "place/anneal.h"

namespace millrace::placement {
namespace {

constexpr double kValueScale = 1e9;  // of all values together: integers for the knapsack
constexpr int kFitRounds = 12;
constexpr size_t kFillTries = 300;
constexpr int kRounds = 4;
constexpr int kSteps = 24;
// Steps of Workspace::steps(), some of a nanosecond: of all exchanges of a choice two seconds or
// so, and as much of annealing.
constexpr uint64_t kMaxWork = UINT64_C(2'000'000'000);
constexpr uint64_t kMaxExchanges = 400;
constexpr uint64_t kMinExchanges = 8;
constexpr uint64_t kMaxAnnealed = 2000;
constexpr size_t kStarts = 2;  // choices that exchanges improve, the better of them annealed first
constexpr int kPasses = 3;     // of exchanges, as long as the last one helped

class Chooser {
 public:
  Chooser(const Workspace& work, const Chosen& may, const Chosen& pinned, uint64_t budget)
      : work_(work), may_(may), pinned_(pinned), budget_(budget) {}

  Choice density() const {
    std::vector<double> values(work_.candidates.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(work_.candidates[i].weight);
    }
    return judged(fit(values, pinned_, budget_, false, nullptr), "density", false);
  }

  Choice best() const {
    if (std::optional<Choice> all = everything()) return std::move(*all);
    std::vector<Choice> found;
    const auto consider = [&](Choice choice) { found.push_back(std::move(choice)); };
    consider(density());
    bool is_proved = false;
    std::vector<double> stalls(work_.candidates.size(), 0);
    for (size_t i = 0; i < stalls.size(); ++i) stalls[i] = work_.candidates[i].stall;
    Chosen chosen = fit(stalls, pinned_, budget_, true, &is_proved);
    consider(judged(std::move(chosen), "knapsack over stalls", is_proved));
    chosen = fit(work_.marginal(pinned_), pinned_, budget_, true, &is_proved);
    consider(judged(std::move(chosen), "knapsack over marginal stalls", is_proved));
    consider(judged(in_rounds(), "knapsack in rounds", false));
    consider(judged(in_steps(), "small steps", false));
    std::stable_sort(found.begin(), found.end(), [](const Choice& a, const Choice& b) {
      return a.stall < b.stall * (1 - 1e-9);
    });
    found.resize(std::min(found.size(), kStarts));
    found[0] = anneal(work_, may_, pinned_, budget_, found[0], anneal_tries());
    for (Choice& one : found) {
      double before = one.stall;
      for (int pass = 0; pass < kPasses; ++pass) {
        exchange(&one);
        if (one.stall >= before * (1 - 1e-3)) break;
        before = one.stall;
      }
    }
    Choice best = *std::min_element(
        found.begin(), found.end(),
        [](const Choice& a, const Choice& b) { return a.stall < b.stall * (1 - 1e-9); });
    if (work_.input.is_counted) {
      use_room(&best);
    } else {
      drop_idle(&best);
    }
    return best;
  }

  std::vector<uint32_t> order() const {
    std::vector<uint32_t> out;
    Chosen chosen = pinned_;
    std::vector<uint32_t> left;
    for (uint32_t i = 0; i < may_.size(); ++i) {
      if (may_[i] && !pinned_[i]) left.push_back(i);
    }
    for (int step = 0; step < kSteps && !left.empty(); ++step) {
      const std::vector<double> values = work_.marginal(chosen);
      sort_by_density(values, &left);
      const size_t take = step + 1 == kSteps ? left.size() : std::max<size_t>(1, left.size() / 6);
      for (size_t i = 0; i < take; ++i) {
        out.push_back(left[i]);
        chosen[left[i]] = true;
      }
      left.erase(left.begin(), left.begin() + static_cast<ptrdiff_t>(take));
    }
    return out;
  }

 private:
  // If all fits there is nothing to weigh: all of it, less what a trace shows to be idle; or
  // nothing, if nothing waits.
  std::optional<Choice> everything() const {
    Chosen all = pinned_;
    for (size_t i = 0; i < all.size(); ++i) all[i] = all[i] || may_[i];
    if (work_.total(all) > budget_) return std::nullopt;
    Choice none = judged(pinned_, "everything fits", false);
    Choice out = judged(std::move(all), "everything fits", false);
    if (none.stall <= out.stall) return none;
    if (!work_.input.is_counted) drop_idle(&out);
    return out;
  }

  void sort_by_density(const std::vector<double>& values, std::vector<uint32_t>* list) const {
    std::stable_sort(list->begin(), list->end(), [&](uint32_t a, uint32_t b) {
      return values[a] * work_.candidates[b].bytes > values[b] * work_.candidates[a].bytes;
    });
  }

  Choice judged(Chosen chosen, const char* method, bool is_proved) const {
    const double stall = work_.stall(chosen);
    return {std::move(chosen), stall, method, is_proved};
  }

  // The best by `values`, with `base` in it, so that everything with its veneers fits. Veneers
  // depend on what is chosen: the room for sections shrinks by what they took too much.
  Chosen fit(const std::vector<double>& values, const Chosen& base, uint64_t budget, bool exactly,
             bool* is_proved) const {
    double sum = 0;
    for (const double value : values) sum += std::max(0.0, value);
    const double scale = sum > 0 ? kValueScale / sum : 0;
    std::vector<Item> items;
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < values.size(); ++i) {
      if (!may_[i] || base[i] || values[i] <= 0) continue;
      const auto value = static_cast<uint64_t>(std::llround(values[i] * scale));
      items.push_back({work_.candidates[i].bytes, value});
      numbers.push_back(i);
    }
    const uint64_t base_bytes = work_.bytes(base);
    uint64_t room = budget - std::min(budget, base_bytes);
    Chosen out = base;
    for (int round = 0; round < kFitRounds; ++round) {
      const Selection selection =
          exactly ? select_exactly(items, room) : select_by_density(items, room);
      if (is_proved != nullptr) *is_proved = selection.is_exact;
      out = base;
      for (const uint32_t item : selection.chosen) out[numbers[item]] = true;
      const uint64_t total = work_.total(out);
      if (total <= budget || room == 0) break;
      room -= std::min(room, total - budget);
    }
    make_fit(values, base, budget, &out);
    fill(values, budget, &out);
    return out;
  }

  // The least dense go until all fits: another selection has other veneers, and may be too large
  // again and again.
  void make_fit(const std::vector<double>& values, const Chosen& base, uint64_t budget,
                Chosen* chosen) const {
    uint64_t total = work_.total(*chosen);
    if (total <= budget) return;
    std::vector<uint32_t> inside;
    for (uint32_t i = 0; i < values.size(); ++i) {
      if ((*chosen)[i] && !base[i]) inside.push_back(i);
    }
    sort_by_density(values, &inside);
    for (; !inside.empty() && total > budget; inside.pop_back()) {
      (*chosen)[inside.back()] = false;
      total = work_.total(*chosen);
    }
  }

  // What the shrinking left unused. A candidate may even make room: calls to it need no veneer.
  void fill(const std::vector<double>& values, uint64_t budget, Chosen* chosen) const {
    const uint64_t used = work_.total(*chosen);
    std::vector<uint32_t> left;
    for (uint32_t i = 0; i < values.size(); ++i) {
      const bool is_open = may_[i] && !(*chosen)[i] && values[i] > 0;
      // At most all its callers' veneers come back.
      if (is_open && used + work_.candidates[i].bytes <= budget + work_.veneer_bytes) {
        left.push_back(i);
      }
    }
    sort_by_density(values, &left);
    if (left.size() > kFillTries) left.resize(kFillTries);
    for (const uint32_t i : left) {
      (*chosen)[i] = true;
      (*chosen)[i] = work_.total(*chosen) <= budget;
    }
  }

  // Half of what is left each time, valued anew.
  Chosen in_rounds() const {
    Chosen chosen = pinned_;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t used = work_.total(chosen);
      const uint64_t left = budget_ - std::min(budget_, used);
      const uint64_t share = round + 1 == kRounds ? left : left / 2;
      chosen = fit(work_.marginal(chosen), chosen, used + share, true, nullptr);
    }
    return chosen;
  }

  Chosen in_steps() const {
    Chosen chosen = pinned_;
    for (int step = 0; step < kSteps; ++step) {
      const uint64_t used = work_.total(chosen);
      const uint64_t left = budget_ - std::min(budget_, used);
      const uint64_t share = left / static_cast<uint64_t>(kSteps - step);
      chosen = fit(work_.marginal(chosen), chosen, used + share, false, nullptr);
    }
    return chosen;
  }

  uint64_t anneal_tries() const { return std::min(kMaxWork / work_.steps(), kMaxAnnealed); }

  // A share of the work that may be done.
  uint64_t tries_of(uint64_t share) const {
    return std::clamp(kMaxWork / share / work_.steps(), kMinExchanges, kMaxExchanges);
  }

  // Puts in what was left out and takes out what is worth least, as long as it helps.
  void exchange(Choice* best) const {
    const uint64_t tries = tries_of(kStarts * kPasses);
    std::vector<double> worth = work_.marginal(best->chosen);
    std::vector<uint32_t> out_side;
    for (uint32_t i = 0; i < may_.size(); ++i) {
      if (may_[i] && !best->chosen[i] && worth[i] > 0 && work_.candidates[i].bytes <= budget_) {
        out_side.push_back(i);
      }
    }
    std::stable_sort(out_side.begin(), out_side.end(),
                     [&](uint32_t a, uint32_t b) { return worth[a] > worth[b]; });
    // Those inside, what saves least a byte first.
    std::vector<uint32_t> inside;
    for (uint32_t i = 0; i < best->chosen.size(); ++i) {
      if (best->chosen[i] && !pinned_[i]) inside.push_back(i);
    }
    const auto alone = [&](uint32_t i) { return work_.candidates[i].stall; };
    std::stable_sort(inside.begin(), inside.end(), [&](uint32_t a, uint32_t b) {
      return alone(a) * work_.candidates[b].bytes < alone(b) * work_.candidates[a].bytes;
    });
    uint64_t tried = 0;
    const size_t most = std::min<size_t>(out_side.size(), 2 * tries);
    for (size_t k = 0; k < most && tried < tries; ++k) {
      Chosen changed = best->chosen;
      changed[out_side[k]] = true;
      uint64_t total = work_.total(changed);
      for (const uint32_t i : inside) {
        if (total <= budget_) break;
        if (!changed[i] || i == out_side[k] || alone(i) > worth[out_side[k]]) continue;
        changed[i] = false;
        total -= std::min<uint64_t>(total, work_.candidates[i].bytes);
      }
      if (work_.total(changed) > budget_) continue;
      ++tried;
      const double stall = work_.stall(changed);
      if (stall < best->stall * (1 - 1e-6)) {
        best->chosen = std::move(changed);
        best->stall = stall;
        best->is_proved = false;
        if (!best->method.ends_with("exchanges")) best->method += ", exchanges";
      }
    }
  }

  // What the others' leaving made resident needs no fast memory.
  void drop_idle(Choice* best) const {
    const uint64_t tries = tries_of(kStarts);
    Chosen without = best->chosen;
    std::vector<std::pair<double, uint32_t>> little;
    double sum = 0;
    for (const Candidate& one : work_.candidates) sum += one.stall;
    for (uint32_t i = 0; i < without.size(); ++i) {
      if (!without[i] || pinned_[i]) continue;
      const double density = work_.candidates[i].stall / std::max(1u, work_.candidates[i].bytes);
      little.emplace_back(density, i);
    }
    std::sort(little.begin(), little.end());
    const double limit = sum * 1e-5;
    double allowed = best->stall + sum * 1e-3;
    for (size_t k = 0; k < std::min<size_t>(little.size(), tries); ++k) {
      const uint32_t i = little[k].second;
      without[i] = false;
      const double stall = work_.stall(without);
      if (stall <= best->stall + limit && stall <= allowed && work_.total(without) <= budget_) {
        best->chosen = without;
        best->stall = stall;
      } else {
        without[i] = true;
        if (k > 16) break;
      }
    }
  }

  // Samples cannot tell what will be resident as surely as a trace: room that is left costs
  // nothing, so what has samples uses it, the most of them a byte first.
  void use_room(Choice* best) const {
    if (best->stall <= 0) return;  // resident, with margin
    std::vector<double> weights(work_.candidates.size(), 0);
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<double>(work_.candidates[i].weight);
    }
    fill(weights, budget_, &best->chosen);
    best->stall = work_.stall(best->chosen);
  }

  const Workspace& work_;
  const Chosen& may_;
  const Chosen& pinned_;
  uint64_t budget_;
};

}  // namespace

Choice choose_by_density(const Workspace& work, const Chosen& may, const Chosen& pinned,
                         uint64_t budget) {
  return Chooser(work, may, pinned, budget).density();
}

Choice choose_best(const Workspace& work, const Chosen& may, const Chosen& pinned,
                   uint64_t budget) {
  return Chooser(work, may, pinned, budget).best();
}

std::vector<uint32_t> worth_order(const Workspace& work, const Chosen& may, const Chosen& pinned) {
  return Chooser(work, may, pinned, 0).order();
}

}  // namespace millrace::placement
