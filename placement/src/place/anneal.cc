// SPDX-License-Identifier: Apache-2.0
// Simulated annealing. Single exchanges that must each help end in a local optimum, of which there
// are many: moving a function shifts all code behind it and deals the cache's sets anew, so that
// what two exchanges gain together one of them may lose. So a worse selection is accepted now and
// then, less often and less bad ones as the tries go on, and the best of all is kept. Proposals
// prefer what is worth much a byte when they put in, and little when they take out.
#include "place/anneal.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace millrace::placement {
namespace {

// Shares of the stall at the start: a loss that is accepted in every third case.
constexpr double kHot = 0.01, kCold = 0.0005;
constexpr int kTournament = 3;  // drawn at a time; the best is taken
constexpr int kMostIn = 2;      // put in by intention
constexpr int kFill = 3;        // more where room is left
constexpr int kMostOut = 64;

class Annealer {
 public:
  Annealer(const Workspace& work, const Chosen& may, const Chosen& pinned, uint64_t budget)
      : work_(work), may_(may), pinned_(pinned), budget_(budget), density_(may.size()) {}

  Choice run(const Choice& start, uint64_t tries) {
    value(start.chosen);
    Choice best = start, now = start;
    const double hot = std::log(kHot), cooling = std::log(kCold / kHot);
    for (uint64_t k = 0; k < tries; ++k) {
      Chosen changed = now.chosen;
      if (!propose(&changed)) continue;
      const double stall = work_.stall(changed);
      const double loss = (stall - now.stall) / std::max(start.stall, 1.0);
      const double share = static_cast<double>(k) / static_cast<double>(tries);
      if (loss > 0 && unit() >= std::exp(-loss / std::exp(hot + cooling * share))) continue;
      now.chosen = std::move(changed);
      now.stall = stall;
      if (stall < best.stall * (1 - 1e-9)) {
        best.chosen = now.chosen;
        best.stall = stall;
      }
    }
    if (best.stall < start.stall) {
      best.method = start.method + ", annealed";
      best.is_proved = false;
    }
    return best;
  }

 private:
  uint32_t next() { return static_cast<uint32_t>(random_()); }
  uint32_t below(size_t count) { return next() % static_cast<uint32_t>(count); }
  double unit() { return next() * 0x1p-32; }

  // What each is worth a byte: what it waits, or what its leaving would save others.
  void value(const Chosen& chosen) {
    const std::vector<double> more = work_.marginal(chosen);
    for (uint32_t i = 0; i < may_.size(); ++i) {
      const Candidate& one = work_.candidates[i];
      const double worth = std::max(one.stall, more[i]);
      density_[i] = worth / std::max(1u, one.bytes);
      if (may_[i] && !pinned_[i] && one.bytes <= budget_ && (worth > 0 || chosen[i])) {
        open_.push_back(i);
      }
    }
  }

  // One that is in, or not; kNone: none was drawn.
  uint32_t draw(const Chosen& chosen, bool is_in) {
    uint32_t best = profile::kNone;
    for (int k = 0; k < kTournament; ++k) {
      const uint32_t one = open_[below(open_.size())];
      if (chosen[one] != is_in) continue;
      if (best == profile::kNone || (density_[one] < density_[best]) == is_in) best = one;
    }
    return best;
  }

  bool propose(Chosen* chosen) {
    if (open_.empty()) return false;
    uint64_t bytes = work_.bytes(*chosen);
    const uint64_t veneers = work_.veneers(*chosen);
    std::vector<uint32_t> added;
    const auto put = [&](uint32_t one) {
      if (one == profile::kNone) return;
      (*chosen)[one] = true;
      bytes += work_.candidates[one].bytes;
      added.push_back(one);
    };
    const uint32_t count = 1 + below(kMostIn);
    for (uint32_t k = 0; k < count; ++k) put(draw(*chosen, false));
    if (added.empty()) return false;
    const auto take_out = [&] {
      const uint32_t one = draw(*chosen, true);
      if (one == profile::kNone) return;
      if (std::find(added.begin(), added.end(), one) != added.end()) return;
      (*chosen)[one] = false;
      bytes -= work_.candidates[one].bytes;
    };
    for (int k = 0; k < kMostOut && bytes + veneers > budget_; ++k) take_out();
    for (int k = 0; k < kFill; ++k) {
      const uint32_t one = draw(*chosen, false);
      if (one == profile::kNone) continue;
      if (bytes + veneers + work_.candidates[one].bytes <= budget_) put(one);
    }
    // Other functions call others.
    for (int k = 0; k < kFill && work_.total(*chosen) > budget_; ++k) take_out();
    return work_.total(*chosen) <= budget_;
  }

  const Workspace& work_;
  const Chosen& may_;
  const Chosen& pinned_;
  const uint64_t budget_;
  std::vector<double> density_;  // by candidate
  std::vector<uint32_t> open_;   // candidates that may be in or out
  std::mt19937 random_;          // its default seed: the same numbers everywhere
};

}  // namespace

Choice anneal(const Workspace& work, const Chosen& may, const Chosen& pinned, uint64_t budget,
              const Choice& start, uint64_t tries) {
  return Annealer(work, may, pinned, budget).run(start, tries);
}

}  // namespace millrace::placement
