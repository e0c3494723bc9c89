// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/pc/fault_plan.h"

#include <charconv>
#include <optional>

namespace millrace::firmware {
namespace {

constexpr uint64_t kMaxOffset = uint64_t{1} << 56;  // longest stream: 2^32 frames of 2^24 bytes
constexpr uint64_t kMaxChunk = 1u << 20;
constexpr uint64_t kMaxMs = 600'000;
constexpr uint64_t kLine = 32;

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<uint64_t> number(std::string_view text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < least || value > most) {
    return std::nullopt;
  }
  return value;
}

// Splits at the first (or last) separator; false if there is none.
bool cut(std::string_view text, char separator, std::string_view* before, std::string_view* after) {
  const size_t at = text.rfind(separator);
  if (at == std::string_view::npos) return false;
  *before = text.substr(0, at);
  *after = text.substr(at + 1);
  return true;
}

// OFFSET[+EVERY]
bool parse_place(std::string_view text, uint64_t* offset, uint64_t* every) {
  std::string_view place = text;
  std::string_view repeat;
  if (cut(text, '+', &place, &repeat)) {
    const auto value = number(repeat, 1, kMaxOffset);
    if (!value) return false;
    *every = *value;
  }
  const auto value = number(place, 0, kMaxOffset);
  if (!value) return false;
  *offset = *value;
  return true;
}

std::optional<FaultSpan> parse_span(std::string_view text, uint64_t most, bool has_extent) {
  std::string_view length;
  std::string_view place;
  FaultSpan span;
  if (!cut(text, '@', &length, &place) || !parse_place(place, &span.offset, &span.every)) {
    return std::nullopt;
  }
  const auto value = number(length, 1, most);
  if (!value || (has_extent && span.every > 0 && span.every < *value)) return std::nullopt;
  span.length = *value;
  return span;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<FaultInsert> parse_insert(std::string_view text) {
  std::string_view bytes;
  std::string_view place;
  FaultInsert insert;
  if (!cut(text, '@', &bytes, &place) || !parse_place(place, &insert.offset, &insert.every)) {
    return std::nullopt;
  }
  constexpr std::string_view kHex = "hex:";
  if (bytes.substr(0, kHex.size()) == kHex) {
    bytes.remove_prefix(kHex.size());
    if (bytes.size() % 2 != 0) return std::nullopt;
    for (size_t i = 0; i < bytes.size(); i += 2) {
      const int high = hex_digit(bytes[i]);
      const int low = hex_digit(bytes[i + 1]);
      if (high < 0 || low < 0) return std::nullopt;
      insert.bytes.push_back(static_cast<char>(high * 16 + low));
    }
  } else {
    insert.bytes = std::string(bytes);
  }
  if (insert.bytes.empty() || insert.bytes.size() > kMaxChunk) return std::nullopt;
  return insert;
}

std::optional<FaultStale> parse_stale(std::string_view text) {
  std::string_view lines;
  std::string_view place;
  std::string_view offset;
  std::string_view lag;
  if (!cut(text, '@', &lines, &place) || !cut(place, ':', &offset, &lag)) return std::nullopt;
  const auto line_count = number(lines, 1, kMaxChunk / kLine);
  const auto at = number(offset, 0, kMaxOffset);
  const auto back = number(lag, kLine, kMaxChunk);
  if (!line_count || !at || !back || *at % kLine != 0 || *back % kLine != 0 || *back > *at) {
    return std::nullopt;
  }
  return FaultStale{*line_count, *at, *back};
}

std::optional<LinkEvent> parse_link_event(std::string_view text, LinkEventKind kind) {
  std::string_view after;
  std::string_view place;
  LinkEvent event;
  event.kind = kind;
  if (!cut(text, '@', &after, &place)) return std::nullopt;
  const auto offset = number(place, 0, kMaxOffset);
  if (!offset) return std::nullopt;
  event.offset = *offset;
  if (kind == LinkEventKind::reset_silent) {
    return after.empty() ? std::optional(event) : std::nullopt;
  }
  const auto ms = number(after, 0, kMaxMs);
  if (!ms) return std::nullopt;
  event.after_ms = static_cast<uint32_t>(*ms);
  return event;
}

bool parse_mangling(std::string_view values, ByteMangling* out) {
  for (const std::string_view value : split_at(values, ',')) {
    for (const std::string_view flag : split_at(value, '|')) {
      if (flag == "icrnl") {
        out->icrnl = true;
      } else if (flag == "igncr") {
        out->igncr = true;
      } else if (flag == "ixon") {
        out->ixon = true;
      } else if (flag == "istrip") {
        out->istrip = true;
      } else {
        return false;
      }
    }
  }
  return true;
}

template <class T, class Parse>
bool parse_list(std::string_view values, std::vector<T>* out, Parse parse) {
  for (const std::string_view value : split_at(values, ',')) {
    const std::optional<T> item = parse(value);
    if (!item) return false;
    out->push_back(*item);
  }
  return true;
}

bool parse_uint32(std::string_view values, uint64_t least, uint64_t most, uint32_t* out) {
  const auto value = number(values, least, most);
  if (value) *out = static_cast<uint32_t>(*value);
  return value.has_value();
}

struct Key {
  const char* name;
  bool (*parse)(std::string_view values, bool has_value, FaultPlan* plan);
  const char* allowed;  // completes `NAME=...: must be `
};

const Key kKeys[] = {
    {"split",
     [](std::string_view v, bool, FaultPlan* p) { return parse_uint32(v, 1, 65536, &p->split); },
     "a number of bytes, 1..65536"},
    {"rate",
     [](std::string_view v, bool, FaultPlan* p) {
       const auto value = number(v, 1, 1'000'000'000'000);
       p->rate_bytes_per_s = value.value_or(0);
       return value.has_value();
     },
     "a number of bytes per second, 1 or more"},
    {"stall",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_list(v, &p->stalls,
                         [](std::string_view s) { return parse_span(s, kMaxMs, false); });
     },
     "MS@OFFSET[+EVERY], MS at most 600000"},
    {"drop",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_list(v, &p->drops,
                         [](std::string_view s) { return parse_span(s, kMaxOffset, true); });
     },
     "LEN@OFFSET[+EVERY] in bytes, EVERY not below LEN"},
    {"flip",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_list(v, &p->flips,
                         [](std::string_view s) { return parse_span(s, kMaxChunk, true); });
     },
     "BITS@OFFSET[+EVERY], BITS at most 1048576 (one bit a byte), EVERY not below BITS"},
    {"dup",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_list(v, &p->dups,
                         [](std::string_view s) { return parse_span(s, kMaxChunk, true); });
     },
     "LEN@OFFSET[+EVERY], LEN at most 1048576 bytes, EVERY not below LEN"},
    {"insert",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_list(v, &p->inserts, parse_insert);
     },
     "TEXT@OFFSET[+EVERY], TEXT literal or hex:0d0a"},
    {"stale",
     [](std::string_view v, bool, FaultPlan* p) { return parse_list(v, &p->stales, parse_stale); },
     "LINES@OFFSET:LAG, OFFSET and LAG multiples of 32, LAG at most 1048576 and OFFSET"},
    {"unplug",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_list(v, &p->link_events, [](std::string_view s) {
         return parse_link_event(s, LinkEventKind::unplug);
       });
     },
     "AFTER_MS@OFFSET, AFTER_MS at most 600000"},
    {"reset",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_list(v, &p->link_events, [](std::string_view s) {
         return parse_link_event(s, LinkEventKind::reset);
       });
     },
     "AFTER_MS@OFFSET, AFTER_MS at most 600000"},
    {"reset_silent",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_list(v, &p->link_events, [](std::string_view s) {
         return parse_link_event(s, LinkEventKind::reset_silent);
       });
     },
     "@OFFSET"},
    {"cooked",
     [](std::string_view v, bool has_value, FaultPlan* p) {
       if (has_value) return parse_mangling(v, &p->cooked);
       p->cooked.icrnl = p->cooked.ixon = true;
       return true;
     },
     "nothing (icrnl|ixon), or a choice of icrnl|igncr|ixon|istrip"},
    {"mangle", [](std::string_view v, bool, FaultPlan* p) { return parse_mangling(v, &p->mangle); },
     "a choice of icrnl|igncr|ixon|istrip"},
    {"mute",
     [](std::string_view, bool has_value, FaultPlan* p) { return p->mute = true, !has_value; },
     "without a value"},
    {"garbage",
     [](std::string_view, bool has_value, FaultPlan* p) { return p->garbage = true, !has_value; },
     "without a value"},
    {"classic",
     [](std::string_view, bool has_value, FaultPlan* p) {
       return p->classic_only = true, !has_value;
     },
     "without a value"},
    {"seed",
     [](std::string_view v, bool, FaultPlan* p) {
       return parse_uint32(v, 0, 0xffffffffu, &p->classic_seed);
     },
     "a number, 0..4294967295"},
    {"discard",
     [](std::string_view v, bool has_value, FaultPlan* p) {
       if (has_value) return parse_uint32(v, 1, kMaxMs, &p->classic_discard_after_ms);
       p->classic_discard_after_ms = 120;
       return true;
     },
     "nothing (120), or milliseconds, 1..600000"},
};

}  // namespace

ParsedFaultPlan parse_fault_plan(std::string_view query) {
  ParsedFaultPlan result;
  if (query.empty()) return result;
  for (const std::string_view pair : split_at(query, '&')) {
    const size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    const bool has_value = equals != std::string_view::npos;
    const std::string_view values = has_value ? pair.substr(equals + 1) : std::string_view();
    const Key* found = nullptr;
    for (const Key& key : kKeys) {
      if (name == key.name) found = &key;
    }
    if (found == nullptr) {
      result.error.append("`").append(name).append("` is no fault; known are");
      for (const Key& key : kKeys) result.error.append(" ").append(key.name);
      return result;
    }
    if (!found->parse(values, has_value, &result.plan)) {
      result.error.append("fault `").append(pair).append("`: the value must be ");
      result.error.append(found->allowed);
      return result;
    }
  }
  return result;
}

}  // namespace millrace::firmware
