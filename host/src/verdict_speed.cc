// SPDX-License-Identifier: Apache-2.0
// Clean runs: what held the rate down. Thresholds: docs/verdicts.md.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "verdict_rules.h"

namespace millrace::host {
namespace {

constexpr double kBusyThread = 0.9;
constexpr double kNearCeiling = 0.95;
constexpr double kMostlyBlocked = 0.5;
constexpr double kHardlyBlocked = 0.1;
constexpr double kFullReads = 0.9;
constexpr uint32_t kSmallRead = 16384;

// Of the run, 0..1: how long the device waited for this host to take data. Below 0: unknown.
double blocked_share(const RunResult& r) {
  if (!r.counters || r.counters->run_us == 0 || r.settings.direction == link::Direction::out) {
    return -1;
  }
  return std::min(1.0, static_cast<double>(r.counters->total_blocked_us) /
                           static_cast<double>(r.counters->run_us));
}

// `36.9 MB/s is 9.0 of 13 packets per microframe`, `0.705 MB/s is 58 % of full speed`, `80.0 MB/s`.
std::string rate_text(const RunResult& r) {
  std::string text = megabytes_per_s(r.bytes_per_s) + " MB/s";
  if (r.packets_per_microframe > 0) {
    text += fmt::format(" is {:.1f} of 13 packets per microframe", r.packets_per_microframe);
  } else if (r.ceiling_bytes_per_s > 0) {
    text += fmt::format(" is {:.0f} % of what full speed can carry",
                        100 * r.bytes_per_s / r.ceiling_bytes_per_s);
  }
  return text;
}

// Cut, not rounded: a share below a threshold must not look as if it had reached it.
std::string percent(double share) {
  return fmt::format("{:.1f} %", std::floor(share * 1000 + 1e-9) / 10);
}

Verdict clean(VerdictKind kind, std::string sentence) { return {kind, false, std::move(sentence)}; }

bool ignores_acknowledgements(const RunResult& r) {
  return r.settings.window_frames > 0 &&
         r.most_unacknowledged_bytes > uint64_t{r.settings.window_frames} * r.settings.frame_size;
}

Verdict what_limits(const RunResult& r) {
  const double blocked = blocked_share(r);
  const std::string rate = rate_text(r);
  const bool near_ceiling =
      r.ceiling_bytes_per_s > 0 && r.bytes_per_s >= kNearCeiling * r.ceiling_bytes_per_s;
  const double seconds = std::max(static_cast<double>(r.duration_ns) * 1e-9, 1e-9);

  if (r.reads.reads > 0 && r.settings.read_size <= kSmallRead && r.settings.window_frames == 0 &&
      r.settings.direction != link::Direction::out && !near_ceiling &&
      static_cast<double>(r.reads.full_reads) >= kFullReads * static_cast<double>(r.reads.reads) &&
      (blocked < 0 || blocked >= kMostlyBlocked)) {
    return clean(
        VerdictKind::call_bound,
        fmt::format(
            "call-bound reader: {} of {} reads filled their {} bytes, so more was "
            "waiting{}; {:.0f} reads/s is what one read per {} bytes makes of this host "
            "({}); read larger blocks",
            percent(static_cast<double>(r.reads.full_reads) / static_cast<double>(r.reads.reads)),
            grouped(r.reads.reads), r.settings.read_size,
            blocked < 0 ? std::string()
                        : fmt::format(" and the device blocked {} of the time", percent(blocked)),
            static_cast<double>(r.reads.reads) / seconds, r.settings.read_size, rate));
  }
  if (r.cpu.read + r.cpu.verify > kBusyThread) {
    return clean(
        VerdictKind::host_cpu,
        fmt::format("host CPU: reading took {}, verifying {} of a core ({:.1f} ns/B in "
                    "all); {}",
                    percent(r.cpu.read), percent(r.cpu.verify), r.cpu.total_ns_per_byte, rate));
  }
  if (near_ceiling) {
    return clean(VerdictKind::link_bound,
                 fmt::format("link-bound: {} of the ceiling of {:.3f} MB/s; {}",
                             percent(r.bytes_per_s / r.ceiling_bytes_per_s),
                             r.ceiling_bytes_per_s / 1e6, rate));
  }
  if (blocked >= kMostlyBlocked) {
    return clean(VerdictKind::link_bound,
                 fmt::format("link-bound: the device was blocked {} of the time while this "
                             "host waited for data; {}",
                             percent(blocked), rate));
  }
  if (r.settings.window_frames > 0 && r.ack_round_trip_ns.count() > 0 &&
      !ignores_acknowledgements(r)) {
    // The mean gives the rate: a few that took long cost what many short ones gain.
    const double mean_ns = std::max(1.0, r.ack_round_trip_ns.mean());
    const uint64_t in_flight = uint64_t{r.settings.window_frames} * r.settings.frame_size;
    return clean(
        VerdictKind::ack_bound,
        fmt::format("ack-bound: {} bytes in flight and a round trip of {:.0f} us (mean, {:.0f} us "
                    "median) make {} MB/s at most; {}; a window of more frames would go faster",
                    grouped(in_flight), mean_ns / 1e3,
                    static_cast<double>(r.ack_round_trip_ns.quantile(0.5)) / 1e3,
                    megabytes_per_s(static_cast<double>(in_flight) * 1e9 / mean_ns), rate));
  }
  if (blocked >= 0 && blocked < kHardlyBlocked) {
    return clean(VerdictKind::device_bound,
                 fmt::format("device-bound: its USB stack took everything at once ({} of the "
                             "time blocked), so the device makes data no faster; {}",
                             percent(blocked), rate));
  }
  std::string why = "the device does not count how long it is blocked";
  if (blocked >= 0) {
    why = fmt::format("the device was blocked {} of the time", percent(blocked));
  } else if (r.settings.direction == link::Direction::out) {
    why = fmt::format("this host spent {} of the time in write()",
                      percent(static_cast<double>(r.out_write_ns) /
                              std::max(1.0, static_cast<double>(r.duration_ns))));
  }
  return clean(VerdictKind::device_or_link_bound,
               fmt::format("device- or link-bound, not this host: {}; {}", why, rate));
}

}  // namespace

Verdict judge_speed(const RunResult& r) {
  Verdict verdict = what_limits(r);
  if (ignores_acknowledgements(r)) {
    verdict.sentence += fmt::format(
        "; the device did not wait for acknowledgements: {} came with {} in flight at most allowed",
        bytes_text(r.most_unacknowledged_bytes),
        grouped(uint64_t{r.settings.window_frames} * r.settings.frame_size));
  }
  return verdict;
}

}  // namespace millrace::host
