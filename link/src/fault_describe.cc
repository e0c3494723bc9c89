// SPDX-License-Identifier: Apache-2.0
// Fills in faults and counts them. Damage in place is told apart by what it leaves:
//   flipped      at most 2 bits of each damaged byte differ; random bytes differ in 4
//   stale_lines  32 or more bytes that begin and end where cache lines do, equal to older data: a
//                device that sends from memory without cleaning or invalidating its cache
//   replaced     anything else, so also the 0x0D that a tty turns into 0x0A
#include <string.h>

#include "millrace/link/stream_verifier.h"
#include "resync.h"
#include "verifier_limits.h"
#include "verifier_resync.h"

namespace millrace::link {
namespace {

// As many equal bytes end a damaged run; fewer within it may be equal by chance.
constexpr size_t kEqualBytes = kShortKey;
constexpr size_t kMaxAlignment = 32;
constexpr size_t kAlignmentRow = kMaxAlignment + 1;

Granule granule_of(uint64_t value) {
  const uint32_t low = static_cast<uint32_t>(value) % 2048;
  if (low == 0) return Granule::buffer;
  if (low % 1024 == 0) return Granule::urb;
  return low % 512 == 0 ? Granule::packet : Granule::none;
}

uint8_t sample_size_of(uint64_t size) { return static_cast<uint8_t>(size < 64 ? size : 64); }

}  // namespace

Fault StreamVerifier::fault_at(FaultKind kind, const StreamCursor& cursor) const {
  Fault fault;
  fault.kind = kind;
  fault.stream_offset = cursor.offset();
  fault.wire_offset = cursor.offset() + message_bytes_before_;
  fault.frame = cursor.frame();
  fault.word = cursor.word_in_frame();
  return fault;
}

void StreamVerifier::report(Fault* fault) {
  fault->start_granule = granule_of(fault->wire_offset);
  switch (fault->kind) {
    case FaultKind::lost:
    case FaultKind::mixed:
    case FaultKind::missing_tail:
      totals_.lost_bytes += fault->length;
      break;
    case FaultKind::duplicated:
    case FaultKind::stale:
      totals_.duplicated_bytes += fault->length;
      break;
    case FaultKind::stale_lines:
      totals_.altered_bytes += fault->received_length;
      break;
    case FaultKind::flipped:
    case FaultKind::replaced:
      totals_.altered_bytes += fault->length;
      break;
    case FaultKind::inserted:
    case FaultKind::none:
      break;
  }
  if (fault->kind == FaultKind::inserted || fault->kind == FaultKind::mixed) {
    totals_.inserted_bytes += fault->received_length;
  }
  if (fault->kind == FaultKind::lost || fault->kind == FaultKind::duplicated) {
    fault->size_granule = granule_of(fault->length);
  }
  if (fault->kind == FaultKind::lost && fault->length == 1) {
    ++totals_.single_lost[fault->expected[0]];
  }
  totals_.flipped_bits += fault->flipped_bits;
  ++totals_.faults;
  ++totals_.faults_of_kind[static_cast<size_t>(fault->kind)];
  if (sink_.on_fault != nullptr) sink_.on_fault(sink_.context, *fault);
}

// The foreign bytes noted so far: inserted; mixed; replaced when they are too many for a closer
// look.
void StreamVerifier::report_foreign(FaultKind kind, uint64_t missing) {
  Fault fault = fault_at(kind, at_);
  fault.received_length = foreign_;
  fault.length = kind == FaultKind::inserted ? foreign_ : missing;
  fault.sample_size = sample_size_;
  memcpy(fault.received, sample_, sample_size_);
  StreamCursor reader = at_;
  if (kind == FaultKind::replaced) {
    reader.read(fault.expected, sample_size_);
    fault.flipped_bits = static_cast<uint32_t>(foreign_bits_);
    if (foreign_bits_ <= foreign_) fault.kind = FaultKind::flipped;
  }
  fault.is_text =
      foreign_is_text_ && (kind != FaultKind::replaced || foreign_ >= kLeastTextInPlace);
  report(&fault);
}

void StreamVerifier::report_lost(const StreamCursor& from, const StreamCursor& to) {
  Fault fault = fault_at(FaultKind::lost, from);
  fault.length = to.offset() - from.offset();
  fault.sample_size = sample_size_of(fault.length);
  StreamCursor reader = from;
  reader.read(fault.expected, fault.sample_size);
  // Shows what stood there instead; the bytes are those of the stream, received or still to come.
  reader = to;
  reader.read(fault.received, fault.sample_size);
  report(&fault);
}

// `size` received bytes from `from` on, not shifted: reports each damaged run and counts what is
// equal between the runs.
void StreamVerifier::report_damage(const StreamCursor& from, const uint8_t* received, size_t size) {
  StreamCursor reader = from;
  StreamCursor run = from;
  size_t run_start = 0;
  size_t run_end = 0;  // behind the last damaged byte; equal to run_start: no run
  for (size_t i = 0; i <= size; ++i) {
    const bool ends = i == size || i - run_end >= kEqualBytes;
    if (ends && run_end > run_start) {
      report_damaged_run(run, received + run_start, run_end - run_start);
      run_start = run_end;
    }
    if (i == size) break;
    const StreamCursor here = reader;
    if (reader.match(received + i, 1) == 1) {
      if (run_end == run_start) run_start = run_end = i + 1;
      ++totals_.verified_bytes;
    } else {
      reader.skip(1);
      if (run_end == run_start) {
        run = here;
        run_start = i;
      } else {
        totals_.verified_bytes -= i - run_end;  // within the run after all
      }
      run_end = i + 1;
    }
  }
}

// From the first to the last byte that differs.
void StreamVerifier::report_damaged_run(const StreamCursor& from, const uint8_t* received,
                                        size_t size) {
  Fault fault = fault_at(FaultKind::replaced, from);
  if (size >= kLeastLineBytes) {
    const size_t lines = describe_stale_lines(from, received, size, &fault);
    if (lines > 0) {
      report(&fault);
      StreamCursor rest = from;
      rest.skip(lines);
      if (lines < size) report_damaged_run(rest, received + lines, size - lines);
      return;
    }
  }
  fault.length = size;
  fault.received_length = size;
  fault.sample_size = sample_size_of(size);
  memcpy(fault.received, received, fault.sample_size);
  StreamCursor reader = from;
  reader.read(fault.expected, fault.sample_size);
  fault.flipped_bits = differing_bits(received, size, from);
  fault.is_text = size >= kLeastTextInPlace;
  for (size_t i = 0; i < size; ++i) fault.is_text = fault.is_text && is_text(received[i]);
  uint32_t differing = 0;
  bool before_differs = false;
  reader = from;
  for (size_t i = 0; i < size; ++i) {
    uint8_t expected;
    reader.read(&expected, 1);
    const bool differs = received[i] != expected;
    StreamCursor next = reader;
    const bool next_differs = i + 1 < size && next.match(received + i + 1, 1) == 0;
    if (differs && !before_differs && !next_differs) {
      ++totals_.single_altered[expected];
      totals_.altered_to[expected] = received[i];
    }
    if (differs) ++differing;
    before_differs = differs;
  }
  if (fault.flipped_bits <= 2 * differing) fault.kind = FaultKind::flipped;
  report(&fault);
}

// If whole lines from (about) `from` on equal older data, describes them in *fault and returns how
// many of the `size` bytes they explain; else 0.
size_t StreamVerifier::describe_stale_lines(const StreamCursor& from, const uint8_t* received,
                                            size_t size, Fault* fault) {
  const uint32_t lead = static_cast<uint32_t>(fault->wire_offset) % kLineBytes;
  if (from.offset() < lead + uint64_t{kLineBytes}) return 0;
  const uint64_t older = from.offset() < kOlderBytes ? from.offset() : kOlderBytes;
  if (search_credit_ < older) return 0;
  const FarSearch search{received, size, kFarKey, 1, 0, older};
  FarMatch match{0, from};
  uint64_t looked_through = 0;
  const bool found = find_far(search, from, scratch(), &match, &looked_through);
  search_credit_ -= looked_through < search_credit_ ? looked_through : search_credit_;
  if (!found || match.stream.offset() < lead) return 0;

  uint8_t line[kLineBytes];
  StreamCursor first = from;
  first.rewind(lead);
  StreamCursor source = match.stream;
  source.rewind(lead);
  StreamCursor reader = first;
  reader.read(line, lead);
  reader = source;
  if (reader.match(line, lead) != lead) return 0;
  size_t same = reader.match(received, size);
  size_t length = lead + same;
  if (same == size) {
    const uint32_t tail = (0u - static_cast<uint32_t>(length)) % kLineBytes;
    StreamCursor behind = from;
    behind.skip(size);
    behind.read(line, tail);
    if (reader.match(line, tail) == tail) length += tail;
  }
  length -= length % kLineBytes;
  if (length == 0) return 0;
  if (length < lead + same) same = length - lead;
  fault->kind = FaultKind::stale_lines;
  fault->stream_offset = first.offset();
  fault->wire_offset -= lead;
  fault->frame = first.frame();
  fault->word = first.word_in_frame();
  fault->length = length;
  fault->received_length = same;
  fault->source_offset = source.offset();
  fault->sample_size = sample_size_of(length);
  first.read(fault->expected, fault->sample_size);
  source.read(fault->received, fault->sample_size);
  return same;
}

// Up to 32 foreign bytes in the place of up to 32 others, as several small faults close together
// leave them: finds the fewest bytes lost, inserted and altered that explain them. False if they
// share too little for that. Leaves the table for report_alignment().
bool StreamVerifier::is_alignment(uint64_t foreign_bytes, uint64_t missing_bytes) {
  static_assert(kAlignmentRow * kAlignmentRow <= sizeof(slots_), "the table fits");
  if (foreign_bytes < 1 || foreign_bytes > kMaxAlignment || missing_bytes < 1 ||
      missing_bytes > kMaxAlignment) {
    return false;
  }
  const size_t foreign = static_cast<size_t>(foreign_bytes);
  const size_t missing = static_cast<size_t>(missing_bytes);
  constexpr size_t kRow = kAlignmentRow;
  uint8_t* cost = scratch();
  uint8_t expected[kMaxAlignment];
  StreamCursor reader = at_;
  reader.read(expected, missing);
  // cost[i][j]: fewest edits between the bytes from foreign byte i and from missing byte j on.
  for (size_t i = foreign + 1; i-- > 0;) {
    for (size_t j = missing + 1; j-- > 0;) {
      size_t best;
      if (i == foreign) {
        best = missing - j;
      } else if (j == missing) {
        best = foreign - i;
      } else if (window_[i] == expected[j]) {
        best = cost[(i + 1) * kRow + j + 1];
      } else {
        best = cost[(i + 1) * kRow + j + 1];
        if (cost[i * kRow + j + 1] < best) best = cost[i * kRow + j + 1];
        if (cost[(i + 1) * kRow + j] < best) best = cost[(i + 1) * kRow + j];
        ++best;
      }
      cost[i * kRow + j] = static_cast<uint8_t>(best);
    }
  }
  // Half of a long piece must be equal; in a short one a tty that eats bytes is the likeliest
  // cause.
  const size_t longer = foreign > missing ? foreign : missing;
  return 2 * size_t{cost[0]} <= longer || (longer <= 8 && cost[0] < longer);
}

bool StreamVerifier::report_alignment(size_t foreign, size_t missing) {
  if (!is_alignment(foreign, missing)) return false;
  constexpr size_t kRow = kAlignmentRow;
  const uint8_t* cost = scratch();
  uint8_t expected[kMaxAlignment];
  StreamCursor reader = at_;
  reader.read(expected, missing);

  // The table is in the working space that reports need as well, so the path is taken out first.
  enum : uint8_t { equal, altered, lost, inserted };
  uint8_t path[2 * kMaxAlignment];
  size_t steps = 0;
  for (size_t i = 0, j = 0; i < foreign || j < missing;) {
    const size_t here = cost[i * kRow + j];
    if (i < foreign && j < missing && window_[i] == expected[j]) {
      path[steps++] = equal;
      ++i;
      ++j;
    } else if (j < missing && here == cost[i * kRow + j + 1] + size_t{1}) {
      path[steps++] = lost;
      ++j;
    } else if (i < foreign && j < missing && here == cost[(i + 1) * kRow + j + 1] + size_t{1}) {
      path[steps++] = altered;
      ++i;
      ++j;
    } else {
      path[steps++] = inserted;
      ++i;
    }
  }
  StreamCursor cursor = at_;
  const uint8_t* received = window_;
  for (size_t i = 0; i < steps;) {
    size_t run = 1;
    while (i + run < steps && path[i + run] == path[i]) ++run;
    StreamCursor behind = cursor;
    if (path[i] != inserted) behind.skip(run);
    if (path[i] == equal) {
      totals_.verified_bytes += run;
    } else if (path[i] == lost) {
      report_lost(cursor, behind);
    } else if (path[i] == altered) {
      report_damage(cursor, received, run);
    } else {
      Fault fault = fault_at(FaultKind::inserted, cursor);
      fault.length = fault.received_length = run;
      fault.sample_size = sample_size_of(run);
      memcpy(fault.received, received, fault.sample_size);
      fault.is_text = true;
      for (size_t k = 0; k < run; ++k) fault.is_text = fault.is_text && is_text(received[k]);
      report(&fault);
    }
    if (path[i] != lost) received += run;
    cursor = behind;
    i += run;
  }
  return true;
}

}  // namespace millrace::link
