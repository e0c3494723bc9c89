// SPDX-License-Identifier: Apache-2.0
#include "cli/values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

// The factor of a suffix; empty if it is none.
std::optional<uint64_t> factor_of(const std::string& suffix, Scale scale) {
  if (suffix.empty()) return uint64_t{1};
  const std::string letters = "KMG";
  const char upper = suffix[0] == 'k' ? 'K' : suffix[0];
  const size_t power = letters.find(upper);
  if (power == std::string::npos) return std::nullopt;
  const bool binary = suffix.size() == 2 && suffix[1] == 'i';
  if (suffix.size() > 1 && !binary) return std::nullopt;
  const uint64_t base = binary || scale == Scale::bytes ? 1024 : 1000;
  uint64_t factor = 1;
  for (size_t i = 0; i <= power; ++i) factor *= base;
  return factor;
}

template <class T>
Result<std::vector<T>> parse_list(const std::string& text, Result<T> (*parse)(const std::string&)) {
  std::vector<T> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    Result<T> item = parse(text.substr(at, comma - at));
    if (!item) return item.error();
    if (std::find(out.begin(), out.end(), *item) != out.end()) {
      return Error{ErrorCode::usage, "must not have an item twice (name each once)"};
    }
    out.push_back(*item);
    at = comma + 1;
  }
  return out;
}

Result<uint32_t> parse_frame_size(const std::string& text) {
  const Result<uint64_t> number = parse_number(text, Scale::bytes, 1, kMaxFrameBytes);
  if (!number) return number.error();
  return static_cast<uint32_t>(number.value());
}

}  // namespace

Result<uint64_t> parse_number(const std::string& text, Scale scale, uint64_t min, uint64_t max) {
  const std::string range = fmt::format("must be a number in {}..{}", grouped(min), grouped(max));
  const Error wrong{ErrorCode::usage, range};
  // 1e9 and 1KiB are numbers to who writes them.
  const Error form{ErrorCode::usage,
                   max < 4096 ? range
                              : fmt::format("{}, written as 4096, {} or 0x1000", range,
                                            scale == Scale::bytes ? "4K" : "4k (4,000), 4Ki")};
  const bool hex = text.rfind("0x", 0) == 0;
  const uint64_t base = hex ? 16 : 10;
  uint64_t number = 0;
  size_t at = hex ? 2 : 0;
  const size_t first = at;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    uint64_t digit = 16;
    if (c >= '0' && c <= '9') digit = static_cast<uint64_t>(c - '0');
    if (hex && c >= 'a' && c <= 'f') digit = static_cast<uint64_t>(c - 'a') + 10;
    if (hex && c >= 'A' && c <= 'F') digit = static_cast<uint64_t>(c - 'A') + 10;
    if (digit >= base) break;
    if (number > (UINT64_MAX - digit) / base) return wrong;
    number = number * base + digit;
  }
  if (at == first) return form;
  const std::optional<uint64_t> factor = factor_of(text.substr(at), scale);
  if (!factor) return form;
  if (number > UINT64_MAX / *factor) return wrong;
  number *= *factor;
  if (number < min || number > max) return wrong;
  return number;
}

Result<uint16_t> parse_ack(const std::string& text) {
  if (text == "none") return uint16_t{0};
  if (text == "each") return uint16_t{1};
  const std::string prefix = "window:";
  if (text.rfind(prefix, 0) == 0) {
    const auto number = parse_number(text.substr(prefix.size()), Scale::count, 1, 65535);
    if (number) return static_cast<uint16_t>(number.value());
  }
  return Error{ErrorCode::usage, "must be none, each or window:N with N in 1..65,535"};
}

Result<std::vector<uint32_t>> parse_sizes(const std::string& text) {
  return parse_list<uint32_t>(text, parse_frame_size);
}

Result<std::vector<uint16_t>> parse_acks(const std::string& text) {
  return parse_list<uint16_t>(text, parse_ack);
}

ValueParser folder_into(std::string* target) {
  return [target](const std::string& text) {
    std::error_code error;
    const std::filesystem::directory_iterator entries(text, error);
    if (error) {
      return Status(Error{ErrorCode::usage, "must be a folder that can be read"});
    }
    *target = text;
    return Status();
  };
}

std::string ack_name(uint16_t window_frames) {
  if (window_frames == 0) return "none";
  if (window_frames == 1) return "each";
  return fmt::format("window:{}", window_frames);
}

std::string direction_name(link::Direction direction) {
  switch (direction) {
    case link::Direction::in:
      return "in";
    case link::Direction::out:
      return "out";
    case link::Direction::both:
      return "both";
  }
  return "in";
}

std::string whole(double number) {
  return grouped(static_cast<uint64_t>(std::llround(std::max(number, 0.0))));
}

std::string percent(double share) { return fmt::format("{:.1f}", share * 100); }

std::string duration(double nanoseconds) {
  const auto with = [](double value, const char* unit) {
    return value >= 100  ? fmt::format("{:.0f} {}", value, unit)
           : value >= 10 ? fmt::format("{:.1f} {}", value, unit)
                         : fmt::format("{:.2f} {}", value, unit);
  };
  if (nanoseconds < 1000) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return with(nanoseconds / 1e3, "us");
  if (nanoseconds < 1e9) return with(nanoseconds / 1e6, "ms");
  return with(nanoseconds / 1e9, "s");
}

std::string human_bytes(uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes < 10000) return grouped(bytes) + " B";
  if (bytes < 1000000) return fmt::format("{:.1f} KB", value / 1e3);
  if (bytes < 1000000000) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.2f} GB", value / 1e9);
}

std::string plural(uint64_t count, const std::string& noun) {
  if (count == 1) return "1 " + noun;
  const bool is_ies = noun.size() > 1 && noun.ends_with('y') &&
                      std::string_view("aeiou").find(noun[noun.size() - 2]) == std::string::npos;
  return grouped(count) + ' ' + (is_ies ? noun.substr(0, noun.size() - 1) + "ies" : noun + 's');
}

}  // namespace millrace::cli
