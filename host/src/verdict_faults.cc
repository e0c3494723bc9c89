// SPDX-License-Identifier: Apache-2.0
// Runs in which bytes were lost, altered or added: by whom. Thresholds: docs/verdicts.md.
//
// A run can have several faults, and one fault can look like several: a tty that is not raw loses
// bytes and alters others. So the rules are asked in turn, most telling first, and each takes what
// it explains out of a copy of the result before the next one looks. What is found is then put in
// order of the bytes concerned: the first says what to do first, its kind is the verdict's.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "verdict_rules.h"

namespace millrace::host {
namespace {

using link::Fault;
using link::FaultKind;

template <class Predicate>
uint64_t length_of(const RunResult& r, Predicate predicate) {
  uint64_t bytes = 0;
  for (const Fault& fault : r.faults) bytes += predicate(fault) ? fault.length : 0;
  return bytes;
}

// Removes the faults that are explained; the counts of their kinds become those of what is left.
template <class Predicate>
void take_out(RunResult* rest, const std::vector<FaultKind>& kinds, Predicate is_explained) {
  auto& faults = rest->faults;
  faults.erase(std::remove_if(faults.begin(), faults.end(), is_explained), faults.end());
  for (const FaultKind kind : kinds) {
    fault_count(rest, kind) = static_cast<uint64_t>(std::count_if(
        faults.begin(), faults.end(), [kind](const Fault& f) { return f.kind == kind; }));
  }
}

bool is_altered(const Fault& f) {
  return f.kind == FaultKind::flipped || f.kind == FaultKind::replaced;
}

// ---- tty mangling

struct Mangling {
  uint64_t events = 0;
  uint64_t neighbours = 0;  // more of them, in a row
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
    // Every second byte loses one bit: most have a neighbour that does, and are not counted singly.
    m.neighbours = without(r.in_totals.flipped_bits, stripped);
    note(&m.flags, "ISTRIP");
    note(&m.values, "bit 7 cleared");
  }
  return m;
}

bool has(const std::vector<std::string>& list, const char* text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// A flag that hits two bytes in a row loses or alters them as one. Longer losses are its doing only
// where a control character empties a queue or a line.
void take_mangling_out(const Mangling& m, RunResult* rest) {
  constexpr uint64_t kLongest = 64;
  const bool empties = has(m.flags, "ISIG") || has(m.flags, "ICANON");
  const bool strips = has(m.flags, "ISTRIP");
  take_out(rest, {FaultKind::lost, FaultKind::mixed, FaultKind::flipped, FaultKind::replaced},
           [&](const Fault& f) {
             if (f.kind == FaultKind::lost || f.kind == FaultKind::mixed) {
               return empties || f.length <= kLongest;
             }
             return is_altered(f) && (strips || f.length <= kLongest);
           });
  rest->in_totals.lost_bytes = length_of(*rest, [](const Fault& f) {
    return f.kind == FaultKind::lost || f.kind == FaultKind::mixed ||
           f.kind == FaultKind::missing_tail;
  });
  rest->in_totals.altered_bytes = length_of(
      *rest, [](const Fault& f) { return is_altered(f) || f.kind == FaultKind::stale_lines; });
}

std::optional<Found> tty_mangling(RunResult* rest) {
  const RunResult& r = *rest;
  const Mangling m = mangling(r);
  uint64_t all = 0;
  for (size_t v = 0; v < 256; ++v) {
    all += r.in_totals.single_lost[v] + uint64_t{r.in_totals.single_altered[v]};
  }
  // One of the values by chance: 16 in 256. Three of three: 1 in 4,096.
  if (m.events < 3 || m.events * 10 < all * 9) return std::nullopt;
  const Found found{
      failed(VerdictKind::tty_mangling,
             fmt::format("tty mangling: the port is not raw ({} set): {} ({} times); another "
                         "program changed its settings, or a terminal stands in between",
                         joined(m.flags), joined(m.values), grouped(m.events + m.neighbours))),
      m.events + m.neighbours, has(m.flags, "ICANON") || has(m.flags, "ISIG")};
  take_mangling_out(m, rest);
  return found;
}

// ---- others

bool looks_like_modem_probe(const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i + 1 < size; ++i) {
    if (bytes[i] == 'A' && bytes[i + 1] == 'T') return true;
  }
  return false;
}

// Text over stream bytes. One in 18 runs of 3 damaged bytes is text by chance, so half of all
// altered runs must be.
struct TextInPlace {
  uint64_t bytes = 0;
  uint64_t bits = 0;  // that differ
  uint64_t places = 0;
};

TextInPlace text_in_place(const RunResult& r) {
  TextInPlace text;
  uint64_t others = 0;
  for (const Fault& f : r.faults) {
    if (!is_altered(f)) continue;
    if (f.is_text) {
      text.bytes += f.length;
      text.bits += f.flipped_bits;
      ++text.places;
    } else {
      ++others;
    }
  }
  return text.places >= others ? text : TextInPlace{};
}

// What somebody wrote into the stream, also over bytes of it.
void take_foreign_out(const TextInPlace& in_place, RunResult* rest) {
  rest->in_totals.lost_bytes =
      without(rest->in_totals.lost_bytes,
              length_of(*rest, [](const Fault& f) { return f.kind == FaultKind::mixed; }));
  rest->in_totals.altered_bytes = without(rest->in_totals.altered_bytes, in_place.bytes);
  rest->in_totals.flipped_bits = without(rest->in_totals.flipped_bits, in_place.bits);
  rest->in_totals.inserted_bytes = 0;
  std::vector<FaultKind> kinds = {FaultKind::inserted, FaultKind::mixed};
  if (in_place.places > 0) {
    kinds.insert(kinds.end(), {FaultKind::flipped, FaultKind::replaced});
  }
  take_out(rest, kinds, [&](const Fault& f) {
    return f.kind == FaultKind::inserted || f.kind == FaultKind::mixed ||
           (in_place.places > 0 && is_altered(f) && f.is_text);
  });
}

std::optional<Found> foreign_writer(RunResult* rest) {
  const RunResult& r = *rest;
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
    const uint64_t bytes = r.in_totals.inserted_bytes + in_place.bytes;
    const Found found{
        failed(VerdictKind::foreign_writer,
               fmt::format("foreign writer: {} in {} not of the stream, first "
                           "at offset {}: {} ({})",
                           bytes_text(bytes),
                           places_text(fault_count(r, FaultKind::inserted) +
                                       fault_count(r, FaultKind::mixed) + in_place.places),
                           grouped(fault->stream_offset),
                           show_bytes(fault->received, fault->sample_size), who)),
        bytes};
    take_foreign_out(in_place, rest);
    return found;
  }
  if (!r.counters) return std::nullopt;
  const link::DeviceCounters& c = *r.counters;
  const size_t shown = std::min<size_t>(c.foreign_bytes, sizeof(c.first_foreign));
  const bool modem = looks_like_modem_probe(c.first_foreign, shown);
  if (modem || c.out_inserted_bytes > 0) {
    const uint64_t bytes = std::max<uint64_t>(c.foreign_bytes, c.out_inserted_bytes);
    return Found{
        failed(VerdictKind::foreign_writer,
               fmt::format("foreign writer: the device received {} that this program did "
                           "not send{}{}",
                           bytes_text(bytes),
                           shown > 0 ? ": " + show_bytes(c.first_foreign, shown) : "",
                           modem ? " (an AT command: ModemManager or a modem program)" : "")),
        bytes};
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

std::optional<Found> reordered(RunResult* rest) {
  const RunResult& r = *rest;
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
  const Found found{
      failed(
          VerdictKind::reordered,
          fmt::format("reordered: nothing is missing, but {} in {} came {} than they should, first "
                      "those of offset {} at offset {}: transfers or buffers were handed on in the "
                      "wrong order",
                      bytes_text(bytes), places_text(pieces),
                      first->source_offset > first->stream_offset ? "earlier" : "later",
                      grouped(first->source_offset), grouped(first->stream_offset))),
      bytes};
  rest->in_totals.lost_bytes = rest->in_totals.duplicated_bytes = 0;
  take_out(rest, {FaultKind::stale, FaultKind::lost},
           [](const Fault& f) { return f.kind == FaultKind::stale || f.kind == FaultKind::lost; });
  return found;
}

std::optional<Found> stale_bytes(RunResult* rest) {
  const auto is_stale = [](const Fault& f) { return f.kind == FaultKind::stale; };
  const auto first = std::find_if(rest->faults.begin(), rest->faults.end(), is_stale);
  if (first == rest->faults.end()) return std::nullopt;
  const Found found{
      failed(VerdictKind::stale_bytes,
             fmt::format("stale bytes: {} at offset {} from elsewhere in a stream of "
                         "this seed (offset {}): left over from an earlier run in a buffer of "
                         "the device or the host",
                         bytes_text(first->length), grouped(first->stream_offset),
                         grouped(first->source_offset))),
      length_of(*rest, is_stale)};
  rest->in_totals.duplicated_bytes = without(rest->in_totals.duplicated_bytes, found.bytes);
  take_out(rest, {FaultKind::stale}, is_stale);
  return found;
}

std::optional<Found> cache_coherency(RunResult* rest) {
  const RunResult& r = *rest;
  const auto is_line = [](const Fault& f) { return f.kind == FaultKind::stale_lines; };
  const auto first = std::find_if(r.faults.begin(), r.faults.end(), is_line);
  if (first == r.faults.end()) return std::nullopt;
  // All that was altered, unless something else altered bytes too.
  const bool alone =
      fault_count(r, FaultKind::flipped) + fault_count(r, FaultKind::replaced) == 0 &&
      fault_count(r, FaultKind::stale_lines) > 1;
  const uint64_t bytes = alone ? r.in_totals.altered_bytes : length_of(r, is_line);
  const uint64_t lines = bytes / 32;
  const Found found{
      failed(VerdictKind::cache_coherency,
             fmt::format("cache coherency: older data in {} whole 32-byte {}, first at offset {} "
                         "(data of offset {}): the device hands DMA a buffer whose cache lines it "
                         "has not written back",
                         grouped(lines), lines == 1 ? "line" : "lines",
                         grouped(first->stream_offset), grouped(first->source_offset))),
      bytes};
  rest->in_totals.altered_bytes = without(rest->in_totals.altered_bytes, bytes);
  take_out(rest, {FaultKind::stale_lines}, is_line);
  return found;
}

// ---- the others

std::optional<Found> bit_errors(RunResult* rest) {
  const RunResult& r = *rest;
  const uint64_t places = fault_count(r, FaultKind::flipped) + fault_count(r, FaultKind::replaced);
  if (places == 0) return std::nullopt;
  const uint64_t bits = r.in_totals.flipped_bits;
  return Found{
      failed(VerdictKind::bit_errors,
             fmt::format("bit errors: {} altered ({}) in {}; USB bulk transfers carry a CRC, so "
                         "suspect memory, DMA or a bridge chip's UART",
                         bytes_text(r.in_totals.altered_bytes),
                         grouped(bits) + (bits == 1 ? " bit" : " bits"), places_text(places))),
      r.in_totals.altered_bytes};
}

std::optional<Found> duplicated(RunResult* rest) {
  const uint64_t places = fault_count(*rest, FaultKind::duplicated);
  if (places == 0) return std::nullopt;
  const uint64_t bytes = rest->in_totals.duplicated_bytes;
  return Found{
      failed(VerdictKind::duplicated,
             fmt::format("duplicated: {} came twice in {}; a retransmission was not recognised, or "
                         "a buffer was queued twice",
                         bytes_text(bytes), places_text(places))),
      bytes};
}

// Most telling first: what explains the others stands above them.
constexpr FaultRule kRules[] = {tty_mangling,
                                foreign_writer,
                                reordered,
                                stale_bytes,
                                cache_coherency,
                                device_discarded,
                                lost,
                                lost_on_the_way_out,
                                altered_on_the_way_out,
                                duplicated_on_the_way_out,
                                bit_errors,
                                duplicated};

}  // namespace

std::optional<Verdict> judge_faults(const RunResult& r) {
  RunResult rest = r;
  std::vector<Found> all;
  for (const FaultRule rule : kRules) {
    if (auto found = rule(&rest)) all.push_back(std::move(*found));
  }
  if (all.empty()) return std::nullopt;
  if (r.end == RunEnd::timed_out && fault_count(rest, FaultKind::missing_tail) > 0) {
    all.push_back({timed_out(r), rest.in_totals.lost_bytes});
  }
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    if (a.explains_others != b.explains_others) return a.explains_others;
    return a.bytes > b.bytes;
  });
  Verdict verdict = std::move(all.front().verdict);
  for (size_t i = 1; i < all.size(); ++i) verdict.sentence += "; also " + all[i].verdict.sentence;
  return verdict;
}

}  // namespace millrace::host
