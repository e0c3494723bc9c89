// SPDX-License-Identifier: Apache-2.0
// Runs in which bytes are missing: who lost them. Thresholds: docs/verdicts.md.
#include <fmt/core.h>

#include <algorithm>

#include "verdict_rules.h"

namespace millrace::host {
namespace {

using link::Fault;
using link::FaultKind;

bool is_loss(const Fault& f) {
  return f.kind == FaultKind::lost || f.kind == FaultKind::missing_tail ||
         f.kind == FaultKind::mixed;
}

// All losses have been explained.
void take_losses_out(RunResult* rest) {
  rest->in_totals.lost_bytes = 0;
  for (const FaultKind kind : {FaultKind::lost, FaultKind::missing_tail, FaultKind::mixed}) {
    fault_count(rest, kind) = 0;
  }
  rest->faults.erase(std::remove_if(rest->faults.begin(), rest->faults.end(), is_loss),
                     rest->faults.end());
}

// ` at offset 737,280 (frame 360, word 0), whole 512-byte packets from a 2,048-byte boundary`
std::string where(const RunResult& r) {
  const Fault* first = nullptr;
  auto size = link::Granule::buffer;
  auto start = link::Granule::buffer;
  for (const Fault& f : r.faults) {
    if (!is_loss(f)) continue;
    if (first == nullptr) first = &f;
    size = std::min(size, f.size_granule);
    start = std::min(start, f.start_granule);
  }
  if (first == nullptr) return "";
  std::string text = fmt::format(", first at offset {} (frame {}, word {})",
                                 grouped(first->stream_offset), grouped(first->frame), first->word);
  const auto bytes = [](link::Granule g) { return grouped(static_cast<uint64_t>(g)); };
  if (size != link::Granule::none) text += fmt::format(", in whole {}-byte units", bytes(size));
  if (start != link::Granule::none) text += fmt::format(", from a {}-byte boundary", bytes(start));
  return text;
}

// Every loss, not one of many: of losses at random places a few start at a boundary by chance.
bool loss_looks_like_device_discard(const RunResult& r) {
  if (r.reads.longest_silence_ns < 120 * int64_t{1000000}) return false;
  bool any = false;
  for (const Fault& f : r.faults) {
    if (!is_loss(f)) continue;
    if (f.start_granule != link::Granule::buffer || f.size_granule == link::Granule::none) {
      return false;
    }
    any = true;
  }
  return any;
}

std::optional<Verdict> judge_discards(const RunResult& r) {
  if (!r.counters || r.counters->in_discarded_bytes == 0) return std::nullopt;
  const link::DeviceCounters& c = *r.counters;
  std::string sentence = fmt::format(
      "device discarded {} in {} after this host took nothing for {} ms",
      bytes_text(c.in_discarded_bytes), places_text(c.discards), c.longest_blocked_us / 1000);
  if (r.in_totals.lost_bytes > c.in_discarded_bytes) {
    sentence += fmt::format("; {} more are missing",
                            grouped(r.in_totals.lost_bytes - c.in_discarded_bytes));
  }
  return failed(VerdictKind::device_discarded, sentence + where(r));
}

uint64_t asked_bytes(const RunResult& r) {
  return uint64_t{r.settings.frame_size} * r.settings.frame_count;
}

// By the device's own count. A run that this host stopped was not to be offered whole.
uint64_t never_offered(const RunResult& r) {
  if (r.end == RunEnd::interrupted || r.end == RunEnd::stopped) return 0;
  return asked_bytes(r) - std::min(asked_bytes(r), r.counters->in_offered_bytes);
}

std::string suspects(const RunResult& r) {
  if (r.other_holders.empty()) {
    return "suspect host driver, host controller, hub or cable, or a program that read the port "
           "too";
  }
  return also_open(r);
}

std::optional<Verdict> judge_losses(const RunResult& r) {
  if (r.in_totals.lost_bytes == 0) return std::nullopt;
  // A run that stopped early and lost nothing before is timed out, not lossy.
  const uint64_t inside = fault_count(r, FaultKind::lost) + fault_count(r, FaultKind::mixed);
  const bool report = r.counters && (r.counters->state & link::kRunActive) == 0;
  if (inside == 0 && r.end == RunEnd::interrupted) return std::nullopt;
  if (inside == 0 && r.end == RunEnd::timed_out && !(report && r.counters->state != 0)) {
    return std::nullopt;
  }
  if (report && r.counters->in_discarded_bytes == 0 &&
      r.counters->in_accepted_bytes == r.counters->in_offered_bytes) {
    // What was never offered is missing at the end, and nobody behind the device lost it.
    const uint64_t withheld = std::min(never_offered(r), r.in_totals.lost_bytes);
    const uint64_t behind = r.in_totals.lost_bytes - withheld;
    const std::string early =
        fmt::format("its counters say that it offered only {} of {} bytes",
                    grouped(r.counters->in_offered_bytes), grouped(asked_bytes(r)));
    if (behind == 0) {
      return failed(VerdictKind::device_ended_early,
                    fmt::format("the device ended early: {}, and all of these arrived: suspect "
                                "its firmware",
                                early));
    }
    return failed(
        VerdictKind::lost_behind_device,
        fmt::format("lost behind the device: its USB stack accepted all {}, {} did not "
                    "arrive{}: {}{}",
                    bytes_text(r.counters->in_accepted_bytes), bytes_text(behind), where(r),
                    suspects(r), withheld > 0 ? "; it also ended early: " + early : ""));
  }
  const std::string amount = bytes_text(r.in_totals.lost_bytes);
  std::string hint = "the device does not count, so who lost them is not known";
  if (report) {
    hint =
        fmt::format("the device's stack accepted {} of {} bytes",
                    grouped(r.counters->in_accepted_bytes), grouped(r.counters->in_offered_bytes));
  } else if (loss_looks_like_device_discard(r)) {
    hint = fmt::format(
        "after a silence of {} ms: probably discarded by the device (the "
        "Teensyduino core gives up a write after 120 ms)",
        r.reads.longest_silence_ns / 1000000);
  }
  return failed(VerdictKind::lost_unattributed,
                fmt::format("lost: {}{}; {}", amount, where(r), hint));
}

// ---- the OUT direction, as the device counted it

std::string first_on_the_way_out(const RunResult& r) {
  return fmt::format("first at offset {} of the OUT stream",
                     grouped(r.counters->out_first_fault_offset));
}

bool counts_out(const RunResult& r) {
  return r.counters && r.settings.direction != link::Direction::in;
}

// REQUIRES: counts_out(r).
std::optional<Found> damaged_on_the_way_out(const RunResult& r, VerdictKind kind, const char* how,
                                            uint64_t bytes) {
  if (bytes == 0) return std::nullopt;
  return Found{failed(kind, fmt::format("{} on the way out: {}, {}", how, bytes_text(bytes),
                                        first_on_the_way_out(r))),
               bytes};
}

}  // namespace

std::optional<Found> device_discarded(RunResult* rest) {
  const std::optional<Verdict> verdict = judge_discards(*rest);
  if (!verdict) return std::nullopt;
  const Found found{*verdict,
                    std::max(rest->counters->in_discarded_bytes, rest->in_totals.lost_bytes)};
  take_losses_out(rest);
  return found;
}

std::optional<Found> lost(RunResult* rest) {
  const std::optional<Verdict> verdict = judge_losses(*rest);
  if (!verdict) return std::nullopt;
  const Found found{*verdict, rest->in_totals.lost_bytes};
  take_losses_out(rest);
  return found;
}

std::optional<Found> lost_on_the_way_out(RunResult* rest) {
  if (!counts_out(*rest) || rest->end != RunEnd::complete) return std::nullopt;
  const uint64_t bytes = rest->counters->out_lost_bytes;
  if (bytes == 0) return std::nullopt;
  return Found{
      failed(VerdictKind::lost_behind_device,
             fmt::format("lost on the way out: this host's driver accepted all bytes, {} did not "
                         "reach the device's application, {}: suspect its receive buffer, hub or "
                         "cable",
                         grouped(bytes), first_on_the_way_out(*rest))),
      bytes};
}

std::optional<Found> altered_on_the_way_out(RunResult* rest) {
  if (!counts_out(*rest)) return std::nullopt;
  return damaged_on_the_way_out(*rest, VerdictKind::bit_errors, "altered",
                                rest->counters->out_altered_bytes);
}

std::optional<Found> duplicated_on_the_way_out(RunResult* rest) {
  if (!counts_out(*rest)) return std::nullopt;
  return damaged_on_the_way_out(*rest, VerdictKind::duplicated, "duplicated",
                                rest->counters->out_duplicated_bytes);
}

}  // namespace millrace::host
