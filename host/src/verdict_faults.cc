// SPDX-License-Identifier: Apache-2.0
// Runs in which bytes were lost, altered or added: by whom. Thresholds: docs/verdicts.md.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "verdict_rules.h"

namespace millrace::host {
namespace {

using link::Fault;
using link::FaultKind;

uint64_t count(const RunResult& r, FaultKind kind) {
  return r.in_totals.faults_of_kind[static_cast<size_t>(kind)];
}

// ---- tty mangling

struct Mangling {
  uint64_t events = 0;
  std::vector<std::string> flags;
  std::vector<std::string> values;
};

// What a tty that is not raw does to single bytes, and the flag that does it.
struct LostByte {
  uint8_t value;
  const char* flag;
};
constexpr LostByte kLostBytes[] = {
    {0x11, "IXON"},   {0x13, "IXON"},   {0x0d, "IGNCR"},  {0x03, "ISIG"},   {0x1a, "ISIG"},
    {0x1c, "ISIG"},   {0x04, "ICANON"}, {0x15, "ICANON"}, {0x7f, "ICANON"}, {0x16, "IEXTEN"},
    {0x17, "IEXTEN"}, {0x12, "IEXTEN"}, {0x0f, "IEXTEN"}};

void note(std::vector<std::string>* list, const std::string& text) {
  if (std::find(list->begin(), list->end(), text) == list->end()) list->push_back(text);
}

Mangling mangling(const RunResult& r) {
  const link::VerifierTotals& t = r.in_totals;
  Mangling m;
  for (const LostByte& lost : kLostBytes) {
    if (t.single_lost[lost.value] == 0) continue;
    m.events += t.single_lost[lost.value];
    note(&m.flags, lost.flag);
    note(&m.values, fmt::format("0x{:02x} lost", lost.value));
  }
  const auto altered = [&](uint8_t from, uint8_t to, const char* flag) {
    if (t.single_altered[from] == 0 || t.altered_to[from] != to) return;
    m.events += t.single_altered[from];
    note(&m.flags, flag);
    note(&m.values, fmt::format("0x{:02x} became 0x{:02x}", from, to));
  };
  altered(0x0d, 0x0a, "ICRNL");
  altered(0x0a, 0x0d, "INLCR");
  uint64_t stripped = 0;
  for (size_t v = 0x80; v < 0x100; ++v) {
    if (t.single_altered[v] > 0 && t.altered_to[v] == (v & 0x7f)) stripped += t.single_altered[v];
  }
  if (stripped > 0) {
    m.events += stripped;
    note(&m.flags, "ISTRIP");
    note(&m.values, "bit 7 cleared");
  }
  return m;
}

std::optional<Verdict> tty_mangling(const RunResult& r) {
  const Mangling m = mangling(r);
  uint64_t all = 0;
  for (size_t v = 0; v < 256; ++v) {
    all += r.in_totals.single_lost[v] + uint64_t{r.in_totals.single_altered[v]};
  }
  // One of the values by chance: 16 in 256. Three of three: 1 in 4,096.
  if (m.events < 3 || m.events * 10 < all * 9) return std::nullopt;
  return failed(VerdictKind::tty_mangling,
                fmt::format("tty mangling: the port is not raw ({} set): {} ({}); another "
                            "program changed its settings, or a terminal stands in between",
                            joined(m.flags), joined(m.values),
                            m.events == 1 ? "once" : grouped(m.events) + " times"));
}

// ---- others

bool looks_like_modem_probe(const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i + 1 < size; ++i) {
    if (bytes[i] == 'A' && bytes[i + 1] == 'T') return true;
  }
  return false;
}

bool is_altered(const Fault& f) {
  return f.kind == FaultKind::flipped || f.kind == FaultKind::replaced;
}

// Text over stream bytes. One in 18 runs of 3 damaged bytes is text by chance, so half of all
// altered runs must be.
struct TextInPlace {
  uint64_t bytes = 0;
  uint64_t places = 0;
};

TextInPlace text_in_place(const RunResult& r) {
  TextInPlace text;
  uint64_t others = 0;
  for (const Fault& f : r.faults) {
    if (!is_altered(f)) continue;
    if (f.is_text) {
      text.bytes += f.length;
      ++text.places;
    } else {
      ++others;
    }
  }
  return text.places >= others ? text : TextInPlace{};
}

std::optional<Verdict> foreign_writer(const RunResult& r) {
  const TextInPlace in_place = text_in_place(r);
  const Fault* fault = nullptr;
  for (const Fault& f : r.faults) {
    const bool foreign = f.kind == FaultKind::inserted ||
                         (f.kind == FaultKind::mixed && f.is_text) ||
                         (is_altered(f) && f.is_text && in_place.places > 0);
    if (foreign && f.sample_size > 0) {
      fault = &f;
      break;
    }
  }
  if (fault != nullptr) {
    const std::string who = looks_like_modem_probe(fault->received, fault->sample_size)
                                ? "an AT command: ModemManager or a modem program"
                                : "another writer, or the firmware's own messages on this port";
    return failed(VerdictKind::foreign_writer,
                  fmt::format("foreign writer: {} in {} not of the stream, first "
                              "at offset {}: {} ({})",
                              bytes_text(r.in_totals.inserted_bytes + in_place.bytes),
                              places_text(count(r, FaultKind::inserted) +
                                          count(r, FaultKind::mixed) + in_place.places),
                              grouped(fault->stream_offset),
                              show_bytes(fault->received, fault->sample_size), who));
  }
  if (!r.counters) return std::nullopt;
  const link::DeviceCounters& c = *r.counters;
  const size_t shown = std::min<size_t>(c.foreign_bytes, sizeof(c.first_foreign));
  const bool modem = looks_like_modem_probe(c.first_foreign, shown);
  if (modem || c.out_inserted_bytes > 0) {
    return failed(VerdictKind::foreign_writer,
                  fmt::format("foreign writer: the device received {} that this program did "
                              "not send{}{}",
                              bytes_text(std::max<uint64_t>(c.foreign_bytes, c.out_inserted_bytes)),
                              shown > 0 ? ": " + show_bytes(c.first_foreign, shown) : "",
                              modem ? " (an AT command: ModemManager or a modem program)" : ""));
  }
  return std::nullopt;
}

// The verifier sees a piece that came in the wrong place as stale there and as lost where it
// belongs.
const Fault* missed_in_its_place(const RunResult& r, const Fault& piece) {
  const auto lost = std::find_if(r.faults.begin(), r.faults.end(), [&](const Fault& f) {
    return f.kind == FaultKind::lost && f.stream_offset == piece.source_offset &&
           f.length == piece.length;
  });
  return lost == r.faults.end() ? nullptr : &*lost;
}

std::optional<Verdict> reordered(const RunResult& r) {
  const Fault* first = nullptr;
  uint64_t pieces = 0;
  uint64_t bytes = 0;
  for (const Fault& f : r.faults) {
    if (f.kind != FaultKind::stale || missed_in_its_place(r, f) == nullptr) continue;
    if (first == nullptr) first = &f;
    ++pieces;
    bytes += f.length;
  }
  // Something else is lost or stale: that rule says more.
  if (first == nullptr || bytes != r.in_totals.lost_bytes ||
      bytes != r.in_totals.duplicated_bytes) {
    return std::nullopt;
  }
  return failed(
      VerdictKind::reordered,
      fmt::format("reordered: nothing is missing, but {} in {} came {} than they should, first "
                  "those of offset {} at offset {}: transfers or buffers were handed on in the "
                  "wrong order",
                  bytes_text(bytes), places_text(pieces),
                  first->source_offset > first->stream_offset ? "earlier" : "later",
                  grouped(first->source_offset), grouped(first->stream_offset)));
}

std::optional<Verdict> stale_bytes(const RunResult& r) {
  for (const Fault& f : r.faults) {
    if (f.kind != FaultKind::stale) continue;
    return failed(
        VerdictKind::stale_bytes,
        fmt::format("stale bytes: {} at offset {} from elsewhere in a stream of "
                    "this seed (offset {}): left over from an earlier run in a buffer of "
                    "the device or the host",
                    bytes_text(f.length), grouped(f.stream_offset), grouped(f.source_offset)));
  }
  return std::nullopt;
}

std::optional<Verdict> cache_coherency(const RunResult& r) {
  for (const Fault& f : r.faults) {
    if (f.kind != FaultKind::stale_lines) continue;
    const uint64_t lines =
        (count(r, FaultKind::stale_lines) == 1 ? f.length : r.in_totals.altered_bytes) / 32;
    return failed(
        VerdictKind::cache_coherency,
        fmt::format("cache coherency: older data in {} whole 32-byte {}, first at offset {} (data "
                    "of offset {}): the device hands DMA a buffer whose cache lines it has not "
                    "written back",
                    grouped(lines), lines == 1 ? "line" : "lines", grouped(f.stream_offset),
                    grouped(f.source_offset)));
  }
  return std::nullopt;
}

// ---- losses

// ` at offset 737,280 (frame 360, word 0), whole 512-byte packets from a 2,048-byte boundary`
std::string where(const RunResult& r) {
  const Fault* first = nullptr;
  auto size = link::Granule::buffer;
  auto start = link::Granule::buffer;
  for (const Fault& f : r.faults) {
    if (f.kind != FaultKind::lost && f.kind != FaultKind::missing_tail &&
        f.kind != FaultKind::mixed) {
      continue;
    }
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
    if (f.kind != FaultKind::lost && f.kind != FaultKind::missing_tail &&
        f.kind != FaultKind::mixed) {
      continue;
    }
    if (f.start_granule != link::Granule::buffer || f.size_granule == link::Granule::none) {
      return false;
    }
    any = true;
  }
  return any;
}

std::optional<Verdict> device_discarded(const RunResult& r) {
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
  if (r.other_holders.empty()) return "suspect host driver, host controller, hub or cable";
  return also_open(r);
}

std::optional<Verdict> lost(const RunResult& r) {
  if (r.in_totals.lost_bytes == 0) return std::nullopt;
  // A run that stopped early and lost nothing before is timed out, not lossy.
  const uint64_t inside = count(r, FaultKind::lost) + count(r, FaultKind::mixed);
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

std::optional<Verdict> out_faults(const RunResult& r) {
  if (!r.counters || r.settings.direction == link::Direction::in) return std::nullopt;
  const link::DeviceCounters& c = *r.counters;
  const std::string first =
      fmt::format("first at offset {} of the OUT stream", grouped(c.out_first_fault_offset));
  if (c.out_lost_bytes > 0 && r.end == RunEnd::complete) {
    return failed(VerdictKind::lost_behind_device,
                  fmt::format("lost on the way out: this host's driver accepted all bytes, {} did "
                              "not reach the device's application, {}: suspect its receive buffer, "
                              "hub or cable",
                              grouped(c.out_lost_bytes), first));
  }
  if (c.out_altered_bytes > 0) {
    return failed(VerdictKind::bit_errors, fmt::format("bytes altered on the way out: {}, {}",
                                                       grouped(c.out_altered_bytes), first));
  }
  if (c.out_duplicated_bytes > 0) {
    return failed(VerdictKind::duplicated, fmt::format("duplicated on the way out: {}, {}",
                                                       bytes_text(c.out_duplicated_bytes), first));
  }
  return std::nullopt;
}

std::optional<Verdict> bit_errors(const RunResult& r) {
  if (count(r, FaultKind::flipped) + count(r, FaultKind::replaced) == 0) return std::nullopt;
  return failed(
      VerdictKind::bit_errors,
      fmt::format(
          "bit errors: {} altered ({}) in {}; USB bulk "
          "transfers carry a CRC, so suspect memory, DMA or a bridge chip's UART",
          bytes_text(r.in_totals.altered_bytes),
          grouped(r.in_totals.flipped_bits) + (r.in_totals.flipped_bits == 1 ? " bit" : " bits"),
          places_text(count(r, FaultKind::flipped) + count(r, FaultKind::replaced))));
}

std::optional<Verdict> duplicated(const RunResult& r) {
  if (count(r, FaultKind::duplicated) == 0) return std::nullopt;
  return failed(VerdictKind::duplicated,
                fmt::format("duplicated: {} came twice in {}; a retransmission was "
                            "not recognised, or a buffer was queued twice",
                            bytes_text(r.in_totals.duplicated_bytes),
                            places_text(count(r, FaultKind::duplicated))));
}

}  // namespace

std::optional<Verdict> judge_faults(const RunResult& r) {
  // Most telling first: what explains the others stands above them.
  for (const auto& rule : {tty_mangling, foreign_writer, reordered, stale_bytes, cache_coherency,
                           device_discarded, lost, out_faults, bit_errors, duplicated}) {
    if (auto verdict = rule(r)) return verdict;
  }
  return std::nullopt;
}

}  // namespace millrace::host
