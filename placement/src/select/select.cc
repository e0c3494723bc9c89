// SPDX-License-Identifier: Apache-2.0
// The exact knapsack in three steps. (1) The fractional solution (densest first, the last one cut)
// bounds what any selection can be worth; an item whose being in, or out, pushes that bound below a
// selection already known is decided (Dembo and Hammer 1980). Of thousands of items a few dozen
// stay open. (2) A narrow search over the open ones finds a better known selection, and (1) decides
// more. (3) Dynamic programming over lists of undominated states (Nemhauser and Ullmann 1969), each
// pruned by the bound of its rest. Rejected: the table of bytes x items, which is 330 MB of
// decisions for 20,000 items and 512 KB. Hard instances (values that are bytes plus a constant) can
// defeat any exact method: beyond kWidth states the worst are dropped, and the result says that it
// is no proof.
#include "millrace/placement/select.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>

namespace millrace::placement {
namespace {

constexpr size_t kNarrow = 512;
constexpr size_t kWidth = 200'000;
constexpr size_t kMaxNodes = 4'000'000;                // 8 bytes each
constexpr uint64_t kMaxSteps = UINT64_C(400'000'000);  // states looked at, some 2 s
constexpr uint32_t kRoot = UINT32_MAX;

struct Open {
  uint32_t item = 0;
  uint32_t bytes = 0;
  uint64_t value = 0;
};

bool is_denser(const Open& a, const Open& b) {
  const auto left = static_cast<long double>(a.value) * b.bytes;
  const auto right = static_cast<long double>(b.value) * a.bytes;
  if (left != right) return left > right;
  if (a.value != b.value) return a.value > b.value;
  return a.item < b.item;
}

// Rounded up: a bound may be too high, never too low.
uint64_t part_of(const Open& item, uint64_t bytes) {
  return static_cast<uint64_t>(static_cast<long double>(item.value) *
                               static_cast<long double>(bytes) / item.bytes) +
         1;
}

struct State {
  uint64_t bytes = 0, value = 0;
  uint32_t node = kRoot;
};

struct Node {
  uint32_t before = kRoot, open = 0;
};

class Solver {
 public:
  Solver(const std::vector<Item>& items, uint64_t budget) : budget_(budget) {
    for (uint32_t i = 0; i < items.size(); ++i) {
      if (items[i].value == 0 || items[i].bytes > budget) continue;
      if (items[i].bytes == 0) {
        take(i, 0, items[i].value);
      } else {
        open_.push_back({i, items[i].bytes, items[i].value});
      }
    }
    std::sort(open_.begin(), open_.end(), is_denser);
  }

  Selection run() {
    remember(greedy());
    out_.bound = std::max(best_value_, fixed_value_ + bound_of_rest());
    decide();
    out_.core_items = open_.size();
    bool is_complete = search(kNarrow);
    if (!is_complete) {
      decide();
      out_.core_items = open_.size();
      is_complete = search(kWidth);
    }
    std::sort(best_.begin(), best_.end());
    out_.chosen = best_;
    out_.value = best_value_;
    out_.bytes = best_bytes_;
    out_.is_exact = is_complete;
    if (is_complete) out_.bound = best_value_;
    return std::move(out_);
  }

 private:
  void take(uint32_t item, uint32_t bytes, uint64_t value) {
    fixed_.push_back(item);
    fixed_bytes_ += bytes;
    fixed_value_ += value;
  }

  std::vector<uint32_t> greedy() const {
    std::vector<uint32_t> out;
    uint64_t left = budget_ - fixed_bytes_;
    for (uint32_t i = 0; i < open_.size(); ++i) {
      if (open_[i].bytes > left) continue;
      left -= open_[i].bytes;
      out.push_back(i);
    }
    return out;
  }

  void remember(const std::vector<uint32_t>& open) {
    uint64_t value = fixed_value_, bytes = fixed_bytes_;
    for (const uint32_t i : open) {
      value += open_[i].value;
      bytes += open_[i].bytes;
    }
    if (value < best_value_ || (value == best_value_ && !best_.empty())) return;
    best_value_ = value;
    best_bytes_ = bytes;
    best_ = fixed_;
    for (const uint32_t i : open) best_.push_back(open_[i].item);
  }

  uint64_t bound_of_rest() const {
    uint64_t left = budget_ - fixed_bytes_, value = 0;
    for (const Open& one : open_) {
      if (one.bytes > left) return value + part_of(one, left);
      left -= one.bytes;
      value += one.value;
    }
    return value;
  }

  // Step (1): what can only be in is fixed, what can only be out is dropped.
  void decide() {
    uint64_t left = budget_ - fixed_bytes_, sum = fixed_value_;
    size_t cut = 0;
    while (cut < open_.size() && open_[cut].bytes <= left) {
      left -= open_[cut].bytes;
      sum += open_[cut].value;
      ++cut;
    }
    if (cut == open_.size()) {  // all fit
      for (const Open& one : open_) take(one.item, one.bytes, one.value);
      open_.clear();
      remember({});
      return;
    }
    const Open critical = open_[cut];
    std::vector<Open> still_open;
    for (size_t i = 0; i < open_.size(); ++i) {
      const Open& one = open_[i];
      if (i < cut) {
        if (sum - one.value + part_of(critical, left + one.bytes) <= best_value_) {
          take(one.item, one.bytes, one.value);
        } else {
          still_open.push_back(one);
        }
        continue;
      }
      // With it in, `bytes - left` must go at the critical density, at least (a lower bound of
      // what is lost, rounded down).
      const uint64_t over = one.bytes > left ? one.bytes - left : 0;
      const uint64_t lost = over == 0 ? 0 : part_of(critical, over) - 1;
      const uint64_t gained =
          over == 0 ? one.value + part_of(critical, left - one.bytes) : one.value;
      if (sum + gained > best_value_ + lost) still_open.push_back(one);
    }
    open_ = std::move(still_open);
  }

  // Steps (2) and (3); true if no state was dropped for want of room.
  bool search(size_t width) {
    first_.assign(1, 0);
    sums_.assign(1, 0);
    for (const Open& one : open_) {
      first_.push_back(first_.back() + one.bytes);
      sums_.push_back(sums_.back() + one.value);
    }
    nodes_.clear();
    states_.assign(1, {fixed_bytes_, fixed_value_, kRoot});
    bool is_complete = true;
    uint64_t steps = 0;
    State best{fixed_bytes_, fixed_value_, kRoot};
    for (uint32_t i = 0; i < open_.size(); ++i) {
      extend(i);
      for (const State& one : states_) {
        if (one.value > best.value) best = one;
      }
      // A state's node survives only while it is in the list: write a new best down at once.
      if (best.value > best_value_) write_down(best);
      steps += states_.size();
      prune(i + 1);
      if (states_.empty()) break;
      size_t limit = width;
      if (steps > kMaxSteps) limit = std::min(limit, kNarrow);
      if (nodes_.size() > kMaxNodes) compact();
      if (nodes_.size() > kMaxNodes / 2) limit = std::min(limit, width / 8);
      if (states_.size() > limit) {
        is_complete = false;
        thin(i + 1, limit);
      }
    }
    return is_complete;
  }

  // Merges the states with themselves plus item i; both lists are in the order of bytes, and of
  // value: what is heavier and worth no more is left out.
  void extend(uint32_t i) {
    const Open& item = open_[i];
    next_.clear();
    size_t with = 0, without = 0;
    uint64_t top = 0;
    bool any = false;
    const auto add = [&](const State& state, bool takes) {
      if (any && state.value <= top) return;
      top = state.value;
      any = true;
      next_.push_back(state);
      if (takes) {
        next_.back().node = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back({state.node, i});
      }
    };
    while (without < states_.size() || with < states_.size()) {
      State taken;
      bool has_taken = false;
      if (with < states_.size()) {
        taken = states_[with];
        taken.bytes += item.bytes;
        taken.value += item.value;
        has_taken = taken.bytes <= budget_;
        if (!has_taken) {
          with = states_.size();
          continue;
        }
      }
      const bool first_without =
          without < states_.size() &&
          (!has_taken || states_[without].bytes < taken.bytes ||
           (states_[without].bytes == taken.bytes && states_[without].value >= taken.value));
      if (first_without) {
        add(states_[without++], false);
      } else {
        add(taken, true);
        ++with;
      }
    }
    states_.swap(next_);
  }

  // The most that a state can become with the items from `first` on.
  uint64_t bound(const State& state, size_t first, size_t* cut) const {
    const uint64_t left = budget_ - state.bytes;
    while (*cut > first && first_[*cut] - first_[first] > left) --*cut;
    uint64_t out = state.value + sums_[*cut] - sums_[first];
    if (*cut < open_.size()) {
      out += part_of(open_[*cut], left - (first_[*cut] - first_[first]));
    }
    return out;
  }

  void prune(size_t first) {
    size_t cut = open_.size();
    size_t kept = 0;
    for (const State& one : states_) {
      if (bound(one, first, &cut) > best_value_) states_[kept++] = one;
    }
    states_.resize(kept);
  }

  // Keeps the `limit` states with the highest bounds, in their order.
  void thin(size_t first, size_t limit) {
    std::vector<uint64_t> bounds(states_.size());
    size_t cut = open_.size();
    for (size_t i = 0; i < states_.size(); ++i) bounds[i] = bound(states_[i], first, &cut);
    std::vector<uint64_t> sorted = bounds;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(limit - 1),
                     sorted.end(), std::greater<>());
    const uint64_t least = sorted[limit - 1];
    size_t kept = 0;
    for (size_t i = 0; i < states_.size() && kept < limit; ++i) {
      if (bounds[i] >= least) states_[kept++] = states_[i];
    }
    states_.resize(kept);
  }

  // Drops nodes that no state leads to.
  void compact() {
    std::vector<bool> live(nodes_.size());
    for (const State& one : states_) {
      for (uint32_t n = one.node; n != kRoot && !live[n]; n = nodes_[n].before) live[n] = true;
    }
    std::vector<uint32_t> moved(nodes_.size(), kRoot);
    uint32_t count = 0;
    for (uint32_t n = 0; n < nodes_.size(); ++n) {  // `before` is always smaller
      if (!live[n]) continue;
      const Node node = nodes_[n];
      moved[n] = count;
      nodes_[count++] = {node.before == kRoot ? kRoot : moved[node.before], node.open};
    }
    nodes_.resize(count);
    for (State& one : states_) one.node = one.node == kRoot ? kRoot : moved[one.node];
  }

  void write_down(const State& state) {
    best_value_ = state.value;
    best_bytes_ = state.bytes;
    best_ = fixed_;
    for (uint32_t n = state.node; n != kRoot; n = nodes_[n].before) {
      best_.push_back(open_[nodes_[n].open].item);
    }
  }

  uint64_t budget_;
  std::vector<Open> open_;
  std::vector<uint32_t> fixed_, best_;
  uint64_t fixed_bytes_ = 0, fixed_value_ = 0, best_value_ = 0, best_bytes_ = 0;
  std::vector<uint64_t> first_, sums_;  // bytes and values of open_[0..i)
  std::vector<State> states_, next_;
  std::vector<Node> nodes_;
  Selection out_;
};

}  // namespace

Selection select_by_density(const std::vector<Item>& items, uint64_t budget) {
  std::vector<Open> order;
  Selection out;
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].value == 0) continue;
    if (items[i].bytes == 0) {
      out.chosen.push_back(i);
      out.value += items[i].value;
    } else {
      order.push_back({i, items[i].bytes, items[i].value});
    }
  }
  std::sort(order.begin(), order.end(), is_denser);
  for (const Open& one : order) {
    if (one.bytes > budget - out.bytes) continue;
    out.bytes += one.bytes;
    out.value += one.value;
    out.chosen.push_back(one.item);
  }
  std::sort(out.chosen.begin(), out.chosen.end());
  out.bound = std::numeric_limits<uint64_t>::max();
  return out;
}

Selection select_exactly(const std::vector<Item>& items, uint64_t budget) {
  return Solver(items, budget).run();
}

}  // namespace millrace::placement
