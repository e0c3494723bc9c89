// SPDX-License-Identifier: Apache-2.0
#include "cli/fault_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/values.h"

namespace millrace::cli {

using link::Fault;
using link::FaultKind;
using link::Granule;

namespace {

std::string bytes(uint64_t count) { return plural(count, "byte"); }

std::string granules(const Fault& fault) {
  std::string out;
  if (fault.size_granule != Granule::none) {
    const uint64_t size = static_cast<uint64_t>(fault.size_granule);
    const uint64_t count = fault.length / size;
    const char* unit = fault.size_granule == Granule::packet ? "packet"
                       : fault.size_granule == Granule::urb  ? "URB"
                                                             : "buffer";
    out = fmt::format(" = {} whole {}-byte {}{}", grouped(count), grouped(size), unit,
                      count == 1 ? "" : "s");
  }
  const bool can_align = fault.kind == FaultKind::lost || fault.kind == FaultKind::duplicated ||
                         fault.kind == FaultKind::missing_tail || fault.kind == FaultKind::mixed;
  if (can_align && fault.start_granule != Granule::none && fault.wire_offset != 0) {
    out += fmt::format("{} at a {}-byte boundary", out.empty() ? "," : "",
                       grouped(static_cast<uint64_t>(fault.start_granule)));
  }
  return out;
}

std::string place(const Fault& fault) {
  std::string out = fmt::format("at offset {} (frame {}, word {}", grouped(fault.stream_offset),
                                grouped(fault.frame), grouped(fault.word));
  if (fault.wire_offset != fault.stream_offset) {
    out += fmt::format(", wire offset {}", grouped(fault.wire_offset));
  }
  return out + ')';
}

std::string what(const Fault& fault) {
  const std::string length = bytes(fault.length);
  const std::string source = grouped(fault.source_offset);
  switch (fault.kind) {
    case FaultKind::none:
      return "no fault";
    case FaultKind::lost:
      return "lost " + length;
    case FaultKind::duplicated:
      return fmt::format("duplicated {} (first seen at offset {})", length, source);
    case FaultKind::stale:
      return fmt::format("stale: {} of our own stream from offset {}", length, source);
    case FaultKind::inserted:
      return fmt::format("inserted {} that are not ours{}", length, fault.is_text ? " (text)" : "");
    case FaultKind::flipped:
      // From the first to the last byte that differs; bytes between them may be right.
      return fmt::format("flipped {} {} {}", plural(fault.flipped_bits, "bit"),
                         fault.length > 1 ? "within" : "in", length);
    case FaultKind::replaced:
      return fmt::format("replaced {} by others", length);
    case FaultKind::stale_lines:
      return fmt::format("stale lines: {} = {} of 32 bytes hold data from offset {}", length,
                         plural(fault.length / 32, "cache line"), source);
    case FaultKind::mixed:
      return fmt::format("lost {} and got {} foreign{} instead", length,
                         bytes(fault.received_length), fault.is_text ? " (text)" : "");
    case FaultKind::missing_tail:
      return fmt::format("missing tail: the stream ended {} early", length);
  }
  return "";
}

std::string hex_line(const uint8_t* data, size_t size, size_t width) {
  std::string out;
  for (size_t i = 0; i < width; ++i) {
    out += i < size ? fmt::format("{:02x} ", data[i]) : "   ";
    if (i == 7) out += ' ';
  }
  return out;
}

}  // namespace

const char* fault_kind_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::none:
      return "none";
    case FaultKind::lost:
      return "lost";
    case FaultKind::duplicated:
      return "duplicated";
    case FaultKind::stale:
      return "stale";
    case FaultKind::inserted:
      return "inserted";
    case FaultKind::flipped:
      return "flipped";
    case FaultKind::replaced:
      return "replaced";
    case FaultKind::stale_lines:
      return "stale_lines";
    case FaultKind::mixed:
      return "mixed";
    case FaultKind::missing_tail:
      return "missing_tail";
  }
  return "none";
}

std::string fault_sentence(const Fault& fault) {
  return what(fault) + ' ' + place(fault) + granules(fault);
}

std::string fault_dump(const Fault& fault, size_t indent) {
  const size_t size = std::min<size_t>(fault.sample_size, sizeof fault.received);
  const bool altered = fault.kind == FaultKind::flipped || fault.kind == FaultKind::replaced ||
                       fault.kind == FaultKind::stale_lines;
  const bool foreign = fault.kind == FaultKind::inserted || fault.kind == FaultKind::mixed;
  std::string out;
  if (!altered && !foreign) return out;
  for (size_t at = 0; at < size; at += 16) {
    const size_t n = std::min<size_t>(16, size - at);
    const std::string start(indent, ' ');
    if (altered) {
      out +=
          fmt::format("{}got      {}\n{}expected {}\n", start, hex_line(fault.received + at, n, n),
                      start, hex_line(fault.expected + at, n, n));
      continue;
    }
    std::string text;
    for (size_t i = 0; i < n; ++i) {
      const char c = static_cast<char>(fault.received[at + i]);
      text += c >= 0x20 && c < 0x7f ? c : '.';
    }
    out += fmt::format("{}{} |{}|\n", start, hex_line(fault.received + at, n, 16), text);
  }
  return out;
}

}  // namespace millrace::cli
