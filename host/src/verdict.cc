// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "verdict_rules.h"

namespace millrace::host {
namespace {

using link::FaultKind;

const char* const kDtrLow =
    "DTR is low, and most firmware sends nothing until it is raised; open the port with DTR on";

constexpr size_t kShownBytes = 24;

const link::Fault* first_foreign(const RunResult& r) {
  for (const link::Fault& fault : r.faults) {
    if (fault.sample_size > 0 && fault.kind != FaultKind::flipped) return &fault;
  }
  return nullptr;
}

// A device of spec/link_protocol.md ignores the measuring protocol.
const char* const kLinkDevice =
    "the device speaks the link protocol; measure it with `millrace link bench`, or flash a "
    "measuring firmware";

Verdict no_answer(const RunResult& r) {
  if (r.speaks_link_protocol) {
    return failed(VerdictKind::no_answer, fmt::format("no answer: {}", kLinkDevice));
  }
  const std::string detail = r.end_detail.empty() ? "" : fmt::format(" ({})", r.end_detail);
  if (r.modem_lines && !r.modem_lines->dtr) {
    return failed(VerdictKind::no_answer, fmt::format("no answer: {}{}", kDtrLow, detail));
  }
  return failed(
      VerdictKind::no_answer,
      fmt::format("no answer: {}the device sent nothing{}; is the right firmware running, and is "
                  "this its port?",
                  r.modem_lines ? "DTR is high, yet " : "", detail));
}

Verdict not_our_stream(const RunResult& r) {
  if (r.end_detail.find("sends back") != std::string::npos) {
    return failed(VerdictKind::not_our_stream, "not our stream: " + r.end_detail);
  }
  const link::Fault* fault = first_foreign(r);
  std::string begin;
  if (fault != nullptr) {
    const size_t shown = std::min(kShownBytes, size_t{fault->sample_size});
    begin = fmt::format(" (it begins with {}{})", show_bytes(fault->received, shown),
                        shown < fault->sample_size ? " ..." : "");
  }
  return failed(VerdictKind::not_our_stream,
                fmt::format("not our stream: {} of {} received were asked for{}; another "
                            "program or firmware, or a seed other than {}?",
                            grouped(r.in_totals.verified_bytes),
                            bytes_text(r.in_totals.received_bytes), begin, r.settings.seed));
}

bool is_foreign(const RunResult& r) {
  // Of an OUT run only acknowledgements are expected here.
  if (r.settings.direction == link::Direction::out && r.end != RunEnd::no_answer) return false;
  const link::VerifierTotals& t = r.in_totals;
  const uint64_t stream = t.received_bytes - t.message_bytes;
  // 1 in 256 foreign bytes equals the expected one by chance. Stale bytes are ours.
  return stream > 0 && t.verified_bytes * 20 < stream && t.duplicated_bytes * 2 < stream &&
         t.inserted_bytes + t.altered_bytes > 0;
}

}  // namespace

std::string also_open(const RunResult& r, const char* one, const char* many) {
  return fmt::format("{} also {} {} open, and what another program reads is missing here",
                     joined(r.other_holders), r.other_holders.size() == 1 ? one : many,
                     r.port.path);
}

std::string bytes_text(uint64_t n) { return grouped(n) + (n == 1 ? " byte" : " bytes"); }

std::string places_text(uint64_t n) { return grouped(n) + (n == 1 ? " place" : " places"); }

std::string show_bytes(const uint8_t* bytes, size_t size) {
  bool text = size > 0;
  for (size_t i = 0; i < size; ++i) {
    const uint8_t c = bytes[i];
    text = text && ((c >= 0x20 && c < 0x7f) || c == '\r' || c == '\n' || c == '\t');
  }
  std::string out;
  for (size_t i = 0; i < size; ++i) {
    const uint8_t c = bytes[i];
    if (!text) {
      out += fmt::format("{}{:02x}", i == 0 ? "" : " ", c);
    } else if (c >= 0x20) {
      out += static_cast<char>(c);
    } else {
      out += c == '\r' ? "\\r" : c == '\n' ? "\\n" : "\\t";
    }
  }
  return text ? fmt::format("\"{}\"", out) : out;
}

namespace {

// What the boot counter says of a device that came back, and no more: it starts at 1 again when the
// power goes, as it does with the cable of a board that has no other supply.
std::string after_replug(const RunResult& r) {
  if (!r.hello || r.hello->boot_counter == 0) return "restarted or not (it keeps no boot counter)";
  if (!r.replug_boot_counter) return "but has not answered a probe since";
  if (*r.replug_boot_counter == 1) return "boot counter 1 as before: no reset, or a loss of power";
  return fmt::format("not restarted (boot counter {} as before)", *r.replug_boot_counter);
}

Verdict refused(const RunResult& r) {
  if (r.hello) {
    return failed(
        VerdictKind::refused,
        fmt::format("refused: the device does not accept the settings: {}", r.end_detail));
  }
  if (r.speaks_link_protocol) {
    return failed(VerdictKind::refused, fmt::format("refused: {}", kLinkDevice));
  }
  const bool dtr_low = r.modem_lines && !r.modem_lines->dtr;
  return failed(
      VerdictKind::refused,
      fmt::format("refused: {}{}", dtr_low ? fmt::format("{}; ", kDtrLow) : "", r.end_detail));
}

}  // namespace

std::optional<Verdict> judge_end(const RunResult& r) {
  const std::string until =
      fmt::format("{} verified until then", bytes_text(r.in_bytes + r.out_bytes));
  switch (r.end) {
    case RunEnd::reset:
      return failed(VerdictKind::device_reset,
                    fmt::format("device reset: it started anew during the run ({}); {}",
                                r.end_detail, until));
    case RunEnd::gone:
      if (r.replug_ns > 0) {
        return failed(VerdictKind::replugged,
                      fmt::format("replugged: the device went away, and was back {} ms later at "
                                  "{}, {}; {}",
                                  r.replug_ns / 1000000, r.replug_path, after_replug(r), until));
      }
      return failed(VerdictKind::device_gone,
                    fmt::format("device gone: {}; {}", r.end_detail, until));
    case RunEnd::refused:
      return refused(r);
    default:
      break;
  }
  if (is_foreign(r)) return not_our_stream(r);
  if (r.end == RunEnd::no_answer) return no_answer(r);
  return std::nullopt;
}

namespace {

// A REPORT that cannot be of this run: fewer bytes accepted than arrived, or more than asked for.
bool counters_contradict(const RunResult& r) {
  if (!r.counters || (r.counters->state & link::kRunActive) != 0) return false;
  if (r.settings.direction == link::Direction::out) return false;
  const uint64_t asked = uint64_t{r.settings.frame_size} * r.settings.frame_count;
  return r.counters->in_accepted_bytes < r.in_totals.verified_bytes ||
         r.counters->in_accepted_bytes > asked;
}

Verdict judge_with_counters(const RunResult& r);

// Verdicts that another reader or writer of the port explains better than anything else.
bool holder_explains(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::lost_unattributed:
    case VerdictKind::foreign_writer:
    case VerdictKind::tty_mangling:
    case VerdictKind::not_our_stream:
    case VerdictKind::no_answer:
    case VerdictKind::refused:
    case VerdictKind::timed_out:
      return true;
    default:
      return false;
  }
}

Verdict judge_whole(const RunResult& r) {
  if (!counters_contradict(r)) {
    Verdict verdict = judge_with_counters(r);
    if (r.end == RunEnd::complete && !r.end_detail.empty()) {
      verdict.sentence += fmt::format("; {}, so its own counts are not known", r.end_detail);
    }
    return verdict;
  }
  RunResult believed = r;
  believed.counters.reset();
  Verdict verdict = judge_with_counters(believed);
  verdict.sentence += fmt::format(
      "; the device's counters are not used, since they contradict the run: {} accepted by its USB "
      "stack, {} verified here",
      bytes_text(r.counters->in_accepted_bytes), grouped(r.in_totals.verified_bytes));
  return verdict;
}

}  // namespace

Verdict judge(const RunResult& r) {
  Verdict verdict = judge_whole(r);
  if (!r.other_holders.empty() && holder_explains(verdict.kind)) {
    verdict.sentence += "; " + also_open(r);
  }
  return verdict;
}

namespace {

// Nobody can tell a device that stopped from one whose last bytes were lost.
std::string missing_at_the_end(const RunResult& r) {
  const auto tail = std::find_if(r.faults.begin(), r.faults.end(), [](const link::Fault& f) {
    return f.kind == FaultKind::missing_tail;
  });
  if (tail == r.faults.end() || r.in_totals.verified_bytes == 0) return "";
  return fmt::format("; the last {} are missing: the device stopped there, or they were lost",
                     bytes_text(tail->length));
}

}  // namespace

Verdict timed_out(const RunResult& r) {
  return failed(VerdictKind::timed_out,
                fmt::format("timed out: {}, {} of {} bytes were verified until then{}",
                            r.end_detail, grouped(r.in_bytes + r.out_bytes),
                            grouped(uint64_t{r.settings.frame_size} * r.settings.frame_count),
                            missing_at_the_end(r)));
}

namespace {

// The device went away or restarted: what happened before that is a matter of its own.
bool ends_by_itself(VerdictKind kind) {
  return kind == VerdictKind::device_reset || kind == VerdictKind::replugged ||
         kind == VerdictKind::device_gone;
}

Verdict judge_with_counters(const RunResult& r) {
  if (auto verdict = judge_end(r)) {
    const auto faults = ends_by_itself(verdict->kind) ? judge_faults(r) : std::nullopt;
    if (faults) verdict->sentence += "; before that: " + faults->sentence;
    return *verdict;
  }
  if (auto verdict = judge_faults(r)) return *verdict;
  if (r.end == RunEnd::timed_out) return timed_out(r);
  if (r.end == RunEnd::interrupted) {
    return failed(VerdictKind::interrupted,
                  fmt::format("interrupted{}: {} were verified until then, without a fault",
                              r.end_detail.empty() ? "" : " (" + r.end_detail + ")",
                              bytes_text(r.in_bytes + r.out_bytes)));
  }
  return judge_speed(r);
}

}  // namespace

}  // namespace millrace::host
