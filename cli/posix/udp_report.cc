// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/udp_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/histogram_text.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/short_name.h"
#include "cli/statistics.h"
#include "cli/values.h"

namespace millrace::cli {

using udp::LadderResult;
using udp::StepResult;

namespace {

constexpr KeyRow row(15);
constexpr uint64_t kLeastForHistogram = 8;
constexpr int64_t kBucketsOfAnOctave = 32;  // host::Histogram's

std::string us(uint64_t ns) { return fmt::format("{:.1f}", static_cast<double>(ns) / 1000); }

std::string rate(double per_s) { return per_s < 10 ? fmt::format("{:.3g}", per_s) : whole(per_s); }

// As far as a column has room.
std::string count(uint64_t number, size_t width) {
  const std::string text = grouped(number);
  return text.size() <= width ? text : std::to_string(number);
}

std::string limit(const LadderResult& r, const udp::RateLimit& found, const std::string& until) {
  if (!found.rate_per_s && found.is_host_limited) {
    return "not known: the host did not keep its pace at the first step";
  }
  const bool has_whole_step = std::any_of(r.passes.begin(), r.passes.end(), [](const auto& pass) {
    return !pass.steps.empty() && !pass.steps.front().is_interrupted;
  });
  if (!has_whole_step) return "not known: interrupted";
  std::string text = found.rate_per_s ? fmt::format("{}/s {}", rate(*found.rate_per_s), until)
                                      : fmt::format("not even at the first step {}", until);
  if (found.is_host_limited) text += "; the host did not keep its pace beyond";
  return text;
}

std::string peak_line(const LadderResult& r) {
  std::vector<double> peaks;
  bool has_valid = false;
  for (const udp::Pass& pass : r.passes) {
    if (pass.peak_per_s > 0) peaks.push_back(pass.peak_per_s);
    has_valid = has_valid || std::any_of(pass.steps.begin(), pass.steps.end(),
                                         [](const StepResult& step) { return step.is_valid(); });
  }
  if (peaks.empty()) return has_valid ? "none: nothing was answered" : "none: no step was valid";
  const Statistics s = statistics_of(peaks);
  std::string text = fmt::format("{} echoes/s", rate(s.mean));
  if (s.count > 1) {
    text += fmt::format(" +- {:.0f} (mean +- SD of {} passes)", s.deviation, s.count);
  }
  return text;
}

// Which of all steps were worst.
std::string losses(const LadderResult& r) {
  uint64_t lost = 0, late = 0, duplicate = 0, reordered = 0, altered = 0, refused = 0, foreign = 0,
           overflow = 0, interface_rx = 0, interface_tx = 0;
  for (const udp::Pass& pass : r.passes) {
    for (const StepResult& s : pass.steps) {
      lost += s.lost();
      late += s.late;
      duplicate += s.duplicate;
      reordered += s.reordered;
      altered += s.altered;
      refused += s.refused;
      foreign += s.foreign;
      overflow += s.drops.socket_overflow;
      interface_rx += s.drops.interface_rx;
      interface_tx += s.drops.interface_tx;
    }
  }
  std::string text =
      fmt::format("{} lost, {} late, {} duplicate, {} reordered, {} altered", grouped(lost),
                  grouped(late), grouped(duplicate), grouped(reordered), grouped(altered));
  if (refused != 0) text += fmt::format(", {} not taken by the system", grouped(refused));
  if (foreign != 0) text += fmt::format(", {} of somebody else", grouped(foreign));
  text += fmt::format(
      "; on this host {} in the socket's buffer, {} and {} at the interface in and "
      "out",
      grouped(overflow), grouped(interface_rx), grouped(interface_tx));
  return text;
}

std::string aftermath_lines(const udp::Aftermath& after) {
  std::string out =
      row("overload", fmt::format("{}/s answered at {}/s", rate(after.overload.answered_per_s),
                                  rate(after.overload.plan.rate_per_s)));
  const std::string at = fmt::format("at {}/s", rate(after.recovery.plan.rate_per_s));
  if (!after.recovery.is_valid()) {
    out += row("recovery", fmt::format("not known: the host did not keep its pace {}", at));
  } else if (!after.recovery_ns) {
    out += row("recovery",
               fmt::format("not within {} {}",
                           duration(static_cast<double>(after.recovery.plan.duration_ns)), at));
  } else if (*after.recovery_ns == 0) {
    out += row("recovery", "at once: nothing lost " + at);
  } else {
    out += row("recovery", fmt::format("after {} nothing is lost {}",
                                       duration(static_cast<double>(*after.recovery_ns)), at));
  }
  if (!after.pings.trouble.empty()) {
    out += row("pings", "not known: " + after.pings.trouble);
  } else if (after.pings.sent != 0) {
    out += row("pings",
               fmt::format("{} of {} answered after it", after.pings.answered, after.pings.sent));
  }
  return out;
}

// Of the fastest step that lost nothing to speak of.
std::string round_trips(const LadderResult& r) {
  const StepResult* best = nullptr;
  for (const udp::Pass& pass : r.passes) {
    for (const StepResult& s : pass.steps) {
      const bool is_good = s.is_valid() && s.is_sustained() && !s.is_interrupted &&
                           s.loss() <= 1 - r.settings.lossless_share + 1e-12;
      if (!is_good || s.rtt.count() < kLeastForHistogram) continue;
      if (best == nullptr || s.answered_per_s > best->answered_per_s) best = &s;
    }
  }
  if (best == nullptr) return "";
  const auto p99 = static_cast<int64_t>(best->rtt.quantile(0.99));
  return row("round trips", best->plan.in_flight != 0
                                ? fmt::format("{} under way", best->plan.in_flight)
                                : fmt::format("at {}/s", rate(best->plan.rate_per_s))) +
         histogram_text(static_cast<int64_t>(best->rtt.min()), p99, p99 / kBucketsOfAnOctave,
                        [best](const BucketVisitor& add) {
                          best->rtt.for_each([&add](const host::Histogram::Bucket& bucket) {
                            add(static_cast<int64_t>(bucket.low), bucket.count);
                          });
                        });
}

std::string device_line(const udp::DeviceCounts& d) {
  std::string text = fmt::format(
      "{} requests reached it, {} replies left it; lost on the way there {}, inside {}, on the way "
      "back {}",
      grouped(d.counters[link::EchoCounter::echo_requests]),
      grouped(d.counters[link::EchoCounter::echo_replies]), grouped(d.lost_before()),
      grouped(d.lost_inside()), grouped(d.lost_behind()));
  for (size_t i = 0; i < link::kEchoCounters; ++i) {
    const std::string name = link::name_of(static_cast<link::EchoCounter>(i));
    const bool is_told = name.rfind("dropped_", 0) == 0 || name == "tx_waits";
    if (is_told && d.counters.values[i] != 0)
      text += fmt::format(", {} {}", name, grouped(d.counters.values[i]));
  }
  return text;
}

Json device_json(const udp::DeviceCounts& d) {
  Json counters = Json::object();
  for (size_t i = 0; i < link::kEchoCounters; ++i) {
    counters[link::name_of(static_cast<link::EchoCounter>(i))] = d.counters.values[i];
  }
  return {{"sent", d.sent},
          {"received", d.received},
          {"lost_before", d.lost_before()},
          {"lost_inside", d.lost_inside()},
          {"lost_behind", d.lost_behind()},
          {"counters", counters}};
}

Json drops_json(const udp::HostDrops& d) {
  return {{"socket_overflow", d.socket_overflow},
          {"interface_rx", d.interface_rx},
          {"interface_tx", d.interface_tx}};
}

Json step_json(const StepResult& s) {
  Json json = {{"rate_per_s", s.plan.rate_per_s},
               {"in_flight", s.plan.in_flight},
               {"planned", s.planned},
               {"sent", s.sent},
               {"refused", s.refused},
               {"sent_per_s", s.sent_per_s},
               {"pacing_error", s.pacing_error},
               {"answered", s.answered},
               {"answered_per_s", s.answered_per_s},
               {"lost", s.lost()},
               {"late", s.late},
               {"duplicate", s.duplicate},
               {"reordered", s.reordered},
               {"altered", s.altered},
               {"foreign", s.foreign},
               {"of_earlier_steps", s.earlier},
               {"backlog", s.backlog},
               {"rtt_growth_ns", s.rtt_growth_ns},
               {"loss", s.loss()},
               {"late_sends", s.late_sends},
               {"host_drops", drops_json(s.drops)},
               {"is_valid", s.is_valid()},
               {"host_fault", udp::name_of(s.fault)}};
  json["rtt_ns"] = histogram_json(s.rtt);
  json["send_lateness_ns"] = histogram_json(s.lateness);
  return json;
}

Json limit_json(const udp::RateLimit& l) {
  Json json = {{"rate_per_s", nullptr}, {"is_host_limited", l.is_host_limited}};
  if (l.rate_per_s) json["rate_per_s"] = *l.rate_per_s;
  return json;
}

}  // namespace

std::string ladder_heading(const std::string& target, const udp::PortInfo& port, uint32_t bytes,
                           bool is_virtual) {
  const std::string rest =
      fmt::format(": {} B, {}{}\n", bytes, port.interface.empty() ? "" : port.interface + ", ",
                  is_virtual ? "virtual time, predicted" : "real time");
  return cut_middle(printable(target), kWidth - std::min(kWidth, columns_of(rest) - 1)) + rest;
}

std::string step_heading() {
  return fmt::format("{:<9} {:>9} {:>9} {:>8} {:>7} {:>6} {:>6} {:>8} {:>8} {:>8} {:>9}\n", "",
                     "offered/s", "answered", "lost", "late", "dup", "reord", "p50 us", "p99",
                     "p99.9", "max");
}

std::string step_line(const std::string& part, const StepResult& s, const Colour& colour) {
  const std::string offered =
      s.plan.in_flight != 0 ? fmt::format("{}x", s.plan.in_flight) : rate(s.plan.rate_per_s);
  std::string line =
      fmt::format("{:<9} {:>9} {:>9} {:>8} {:>7} {:>6} {:>6} {:>8} {:>8} {:>8} {:>9}", part,
                  offered, rate(s.answered_per_s), count(s.lost() + s.refused, 8), count(s.late, 7),
                  count(s.duplicate, 6), count(s.reordered, 6), us(s.rtt.quantile(0.5)),
                  us(s.rtt.quantile(0.99)), us(s.rtt.quantile(0.999)), us(s.rtt.max()));
  std::string notes;
  if (!s.is_sustained()) notes += fmt::format("  {} queued", grouped(s.backlog));
  if (s.altered != 0) notes += fmt::format("  {} altered", grouped(s.altered));
  if (s.is_interrupted) {
    notes += "  interrupted";
  } else if (!s.is_valid()) {
    notes += fmt::format("  INVALID: {}", udp::name_of(s.fault));
  }
  if (line.size() + notes.size() > kWidth) line += fmt::format("\n{:8}", "");
  line += notes;
  if (s.is_interrupted) return colour.quiet(line) + '\n';
  return (s.is_valid() ? line : colour.bad(line)) + '\n';
}

std::string ladder_report(const LadderResult& r, const Colour& colour) {
  const udp::LadderSettings& s = r.settings;
  if (r.passes.empty()) return r.is_interrupted ? interrupted_before("the first step") : "";
  std::string out = colour.strong(row("peak", peak_line(r)));
  if (s.plan.in_flight == 0) {
    out += row("lossless", limit(r, r.lossless,
                                 fmt::format("(every step up to it answered {:g} % or "
                                             "more)",
                                             100 * s.lossless_share)));
    out += row("NDR", limit(r, r.ndr, "(no loss, of the ladder's steps)"));
    out += row("PDR", limit(r, r.pdr, fmt::format("(loss up to {:g} %)", 100 * s.pdr_loss)));
  }
  if (s.search != udp::SearchKind::none) {
    const char* const name = s.search == udp::SearchKind::ndr ? "NDR" : "PDR";
    out += row(
        "search",
        r.is_interrupted && !r.search.rate_per_s ? fmt::format("{}: interrupted", name)
        : r.search.rate_per_s
            ? fmt::format("{} {}/s, within {}/s, confirmed {} times{}", name,
                          rate(*r.search.rate_per_s), rate(s.resolution_per_s), s.confirmations,
                          r.search.is_host_limited ? "; limited by the host" : "")
            : fmt::format("no {}: not even at {}/s, or not confirmed", name, rate(s.first_per_s)));
  }
  out += row("requests", losses(r));
  if (r.device) out += row("device", device_line(*r.device));
  if (r.aftermath) out += aftermath_lines(*r.aftermath);
  for (const udp::Behaviour& each : r.behaviours) {
    out += colour.bad(row("", each.sentence));
  }
  if (r.port.receive_buffer_asked != 0 &&
      r.port.receive_buffer_granted < r.port.receive_buffer_asked) {
    out += row("host", fmt::format("receive buffer of {} asked, {} granted (sudo sysctl -w "
                                   "net.core.rmem_max={})",
                                   human_bytes(r.port.receive_buffer_asked),
                                   human_bytes(r.port.receive_buffer_granted),
                                   r.port.receive_buffer_asked));
  }
  if (!r.port.description.empty()) out += row("target", r.port.description);
  out += round_trips(r);
  if (r.is_interrupted) out += row("interrupted", "this is what was measured until then");
  return out;
}

Json to_json(const LadderResult& r) {
  const udp::LadderSettings& s = r.settings;
  Json json;
  json["bytes"] = s.plan.bytes;
  json["settings"] = {{"first_per_s", s.first_per_s},  {"width_per_s", s.width_per_s},
                      {"top_per_s", s.top_per_s},      {"passes", s.passes},
                      {"step_ns", s.plan.duration_ns}, {"late_ns", s.plan.late_ns},
                      {"in_flight", s.plan.in_flight}, {"lossless_share", s.lossless_share},
                      {"pdr_loss", s.pdr_loss}};
  json["port"] = {{"interface", r.port.interface},
                  {"mtu", r.port.mtu},
                  {"description", r.port.description},
                  {"receive_buffer_asked", r.port.receive_buffer_asked},
                  {"receive_buffer_granted", r.port.receive_buffer_granted},
                  {"has_kernel_stamps", r.port.has_kernel_stamps}};
  Json passes = Json::array();
  std::vector<double> peaks;
  for (const udp::Pass& pass : r.passes) {
    Json steps = Json::array();
    for (const StepResult& step : pass.steps) steps.push_back(step_json(step));
    passes.push_back({{"peak_per_s", pass.peak_per_s}, {"steps", steps}});
    if (pass.peak_per_s > 0) peaks.push_back(pass.peak_per_s);
  }
  const Statistics peak = statistics_of(peaks);
  json["peak_per_s"] = {{"count", peak.count},
                        {"mean", peak.mean},
                        {"deviation", peak.deviation},
                        {"min", peak.min},
                        {"max", peak.max}};
  json["lossless"] = limit_json(r.lossless);
  json["ndr"] = limit_json(r.ndr);
  json["pdr"] = limit_json(r.pdr);
  json["search"] = nullptr;
  if (s.search != udp::SearchKind::none) {
    Json trials = Json::array();
    for (const udp::Trial& t : r.search.trials) {
      trials.push_back({{"rate_per_s", t.rate_per_s},
                        {"loss", t.loss},
                        {"passed", t.passed},
                        {"host_fault", udp::name_of(t.fault)}});
    }
    json["search"] = {{"kind", s.search == udp::SearchKind::ndr ? "ndr" : "pdr"},
                      {"rate_per_s", nullptr},
                      {"is_host_limited", r.search.is_host_limited},
                      {"trials", trials}};
    if (r.search.rate_per_s) json["search"]["rate_per_s"] = *r.search.rate_per_s;
  }
  json["aftermath"] = nullptr;
  if (r.aftermath) {
    json["aftermath"] = {{"overload", step_json(r.aftermath->overload)},
                         {"recovery", step_json(r.aftermath->recovery)},
                         {"recovery_ns", nullptr},
                         {"pings_sent", r.aftermath->pings.sent},
                         {"pings_answered", r.aftermath->pings.answered},
                         {"pings_trouble", r.aftermath->pings.trouble}};
    if (r.aftermath->recovery_ns) json["aftermath"]["recovery_ns"] = *r.aftermath->recovery_ns;
  }
  json["device"] = nullptr;
  if (r.device) json["device"] = device_json(*r.device);
  json["transfers"] = nullptr;
  if (r.transfers) {
    json["transfers"] = {{"frames_in", r.transfers->frames_in},
                         {"transfers_in", r.transfers->transfers_in},
                         {"frames_out", r.transfers->frames_out},
                         {"transfers_out", r.transfers->transfers_out}};
  }
  json["behaviours"] = Json::array();
  for (const udp::Behaviour& each : r.behaviours) {
    json["behaviours"].push_back({{"name", udp::name_of(each.kind)}, {"sentence", each.sentence}});
  }
  json["passes"] = passes;
  return json;
}

Table step_table() {
  return Table({"bytes", "pass", "offered/s", "sent/s", "answered/s", "sent", "answered", "lost",
                "refused", "late", "duplicate", "reordered", "altered", "p50 us", "p90 us",
                "p99 us", "p99.9 us", "max us", "host fault"});
}

void add_steps(const LadderResult& r, Table* table) {
  for (size_t i = 0; i < r.passes.size(); ++i) {
    for (const StepResult& s : r.passes[i].steps) {
      table->add({std::to_string(s.plan.bytes), std::to_string(i + 1),
                  fmt::format("{:g}", s.plan.rate_per_s), fmt::format("{:.1f}", s.sent_per_s),
                  fmt::format("{:.1f}", s.answered_per_s), std::to_string(s.sent),
                  std::to_string(s.answered), std::to_string(s.lost()), std::to_string(s.refused),
                  std::to_string(s.late), std::to_string(s.duplicate), std::to_string(s.reordered),
                  std::to_string(s.altered), us(s.rtt.quantile(0.5)), us(s.rtt.quantile(0.9)),
                  us(s.rtt.quantile(0.99)), us(s.rtt.quantile(0.999)), us(s.rtt.max()),
                  udp::name_of(s.fault)});
    }
  }
}

}  // namespace millrace::cli
