// SPDX-License-Identifier: Apache-2.0
// The parts of check(); each adds one result, or two.
#pragma once

#include <set>
#include <unordered_map>

#include "millrace/placement/check.h"
#include "millrace/profile/call_graph.h"

namespace millrace::placement {

constexpr size_t kMaxFindings = 10'000;  // of a kind that a program may have any number of

class Checker {
 public:
  Checker(ElfIndex* index, const profile::Target& target, const CheckOptions& options,
          CheckReport* out)
      : index_(*index), target_(target), options_(options), out_(*out) {}
  Failure run();

 private:
  Failure choose_region();
  void landed();
  void drift(const std::vector<Match>& matches);
  void extra();
  void budget();
  void veneers();
  void calls_out();
  void constants();
  void overlaps();
  Failure boot();

  // In the region, not only in any fast one.
  bool is_placed(uint32_t address) const;
  bool is_placed_function(uint32_t function) const {
    return is_placed(index_.functions()[function].start);
  }
  std::string place_of(uint32_t address) const;  // "flash at 0x60001234"
  std::string name(uint32_t function) const;     // readable, for a sentence
  double share(uint32_t function) const;
  bool is_hot(uint32_t function) const { return share(function) >= options_.hot_share; }
  void finish(CheckResult result);
  uint64_t bytes_in_region(const ElfIndex& index) const;
  uint64_t bytes_of_others() const;
  std::string why_not_taken(uint32_t function) const;  // half a sentence, or empty
  // The name of the input section by which a source asks for fast memory; empty: it is none, or
  // there is no map.
  std::string own_section(uint32_t function) const;

  ElfIndex& index_;
  const profile::Target& target_;
  const CheckOptions& options_;
  CheckReport& out_;
  const profile::TargetRegion* region_ = nullptr;  // null: the target has no fast memory
  profile::CallGraph graph_;
  std::unordered_map<uint32_t, double> shares_;
  std::set<uint32_t> wanted_;  // functions that the list means
  std::set<uint32_t> others_;  // functions there that something else than the list brought
};

}  // namespace millrace::placement
