// SPDX-License-Identifier: Apache-2.0
#include "usb/usb_profile.h"

#include <fmt/format.h>

#include <charconv>

#include "core/profile_text.h"

namespace millrace::board {
namespace {

struct Parameter {
  std::string_view name;
  uint32_t minimum;
  uint32_t maximum;
  uint32_t UsbHostProfile::*member;
};

constexpr uint32_t kMaxNs = 1'000'000'000;
constexpr uint32_t kMaxUs = 1'000'000'000;
constexpr uint32_t kMaxMilli = 13000;

constexpr Parameter kProfileParameters[] = {
    {"gap_after_short_ns", 0, kMaxNs, &UsbHostProfile::gap_after_short_ns},
    {"gap_after_nak_ns", 0, kMaxNs, &UsbHostProfile::gap_after_nak_ns},
    {"completion_latency_ns", 0, kMaxNs, &UsbHostProfile::completion_latency_ns},
    {"completion_jitter_ns", 0, kMaxNs, &UsbHostProfile::completion_jitter_ns},
    {"seed", 0, UINT32_MAX, &UsbHostProfile::seed},
    {"in_urbs", 1, 256, &UsbHostProfile::in_urbs},
    {"urb_bytes", 0, 1 << 20, &UsbHostProfile::urb_bytes},
    {"out_urbs", 1, 256, &UsbHostProfile::out_urbs},
    {"out_urb_bytes", 0, 1 << 20, &UsbHostProfile::out_urb_bytes},
    {"tty_buffer_bytes", 1, 1 << 24, &UsbHostProfile::tty_buffer_bytes},
    {"read_cost_ns", 0, kMaxNs, &UsbHostProfile::read_cost_ns},
    {"reads_end_at_short", 0, 1, &UsbHostProfile::reads_end_at_short},
    {"net_urb_memory_bytes", 1, 1 << 24, &UsbHostProfile::net_urb_memory_bytes},
    {"net_queue_frames", 1, 100'000, &UsbHostProfile::net_queue_frames},
    {"ncm_in_bytes", 2048, 32768, &UsbHostProfile::ncm_in_bytes},
    {"ncm_out_bytes", 2048, 32768, &UsbHostProfile::ncm_out_bytes},
    {"ncm_timer_us", 0, 1'000'000, &UsbHostProfile::ncm_timer_us},
    {"ecm_ends_with_zlp", 0, 1, &UsbHostProfile::ecm_ends_with_zlp},
    {"debounce_us", 0, 10'000'000, &UsbHostProfile::debounce_us},
    {"reset_us", 3000, 10'000'000, &UsbHostProfile::reset_us},
    {"recovery_us", 0, 10'000'000, &UsbHostProfile::recovery_us},
};

constexpr std::string_view kIdeal = R"(# Everything that fits on the bus, at once.
packets_per_microframe = 13     # USB 2.0 table 5-10
gap_after_nak_ns = 0
completion_latency_ns = 0
)";

constexpr std::string_view kDesktop =
    R"(# Two desktops (AM5) under Linux: 36.9 and 36.0 MB/s, published.
packets_per_microframe = 9.0    # 36.864 MB/s
gap_after_short_ns = 0          # no source
gap_after_nak_ns = 1000         # no source
completion_latency_ns = 10000   # no source: interrupt, softirq
completion_jitter_ns = 5000     # no source
)";

constexpr std::string_view kLaptop = R"(# Two laptops under Linux: 31.2 and 30.8 MB/s, published.
packets_per_microframe = 7.5    # 30.72 MB/s
gap_after_short_ns = 0          # no source
gap_after_nak_ns = 2000         # no source
completion_latency_ns = 20000   # no source: interrupt, softirq
completion_jitter_ns = 10000    # no source
)";

constexpr std::string_view kWindows =
    R"(# Three machines under Windows: 32.4 to 32.7 MB/s at most; below,
# 20,000 or 40,000 reads a second whatever a read returns, published.
packets_per_microframe = 8.0    # 32.768 MB/s
gap_after_short_ns = 0          # no source
gap_after_nak_ns = 1000         # no source
completion_latency_ns = 10000   # no source
completion_jitter_ns = 5000     # no source
read_cost_ns = 25000            # 40,000 reads a second; 50000 gives the other column
reads_end_at_short = 1          # no source: a read ends where a transfer ends
)";

struct Builtin {
  std::string_view name;
  std::string_view text;
};
constexpr Builtin kBuiltins[] = {{"ideal", kIdeal},
                                 {"xhci-desktop", kDesktop},
                                 {"xhci-laptop", kLaptop},
                                 {"windows-serial", kWindows}};

bool parse_number(std::string_view text, uint32_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

// "7.5" is 7500; at most three places.
bool parse_milli(std::string_view text, uint32_t* value) {
  const size_t point = text.find('.');
  uint32_t whole = 0;
  if (!parse_number(text.substr(0, point), &whole) || whole > kMaxMilli) return false;
  uint32_t milli = 0;
  if (point != std::string_view::npos) {
    const std::string_view places = text.substr(point + 1);
    if (places.size() > 3 || !parse_number(places, &milli)) return false;
    for (size_t i = places.size(); i < 3; ++i) milli *= 10;
  }
  *value = whole * 1000 + milli;
  return true;
}

bool parse_stalls(std::string_view text, std::vector<UsbHostProfile::Stall>* stalls) {
  stalls->clear();
  while (!(text = trimmed(text)).empty()) {
    const size_t end = text.find_first_of(" \t");
    const std::string_view pair = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end);
    const size_t comma = pair.find(',');
    UsbHostProfile::Stall stall;
    if (comma == std::string_view::npos || !parse_number(pair.substr(0, comma), &stall.start_us) ||
        !parse_number(pair.substr(comma + 1), &stall.length_us)) {
      return false;
    }
    const bool in_order =
        stalls->empty() || stall.start_us >= stalls->back().start_us + stalls->back().length_us;
    if (stall.start_us > kMaxUs || stall.length_us > kMaxUs || !in_order ||
        stalls->size() == kMaxReaderStalls) {
      return false;
    }
    stalls->push_back(stall);
  }
  return true;
}

std::string apply_profile_line(std::string_view line, UsbHostProfile* profile) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return fmt::format("\"{}\" is not of the form name = value", printable(line));
  }
  const std::string_view name = trimmed(line.substr(0, equals));
  const std::string_view text = trimmed(line.substr(equals + 1));
  if (name == "packets_per_microframe") {
    uint32_t milli = 0;
    if (parse_milli(text, &milli) && milli >= 1 && milli <= kMaxMilli) {
      profile->packets_per_microframe_milli = milli;
      return {};
    }
    return fmt::format(
        "packets_per_microframe is \"{}\", not a number from 0.001 to "
        "13 with at most three places",
        printable(text));
  }
  if (name == "reader_stall_us") {
    if (parse_stalls(text, &profile->reader_stalls)) return {};
    return fmt::format("reader_stall_us is \"{}\", not a list of START,LENGTH in order",
                       printable(text));
  }
  for (const Parameter& parameter : kProfileParameters) {
    if (name != parameter.name) continue;
    uint32_t value = 0;
    if (!parse_number(text, &value)) {
      return fmt::format("{} is \"{}\", not a decimal number in range", name, printable(text));
    }
    if (value < parameter.minimum || value > parameter.maximum) {
      return fmt::format("{} is {}, outside {}..{}", name, value, parameter.minimum,
                         parameter.maximum);
    }
    profile->*(parameter.member) = value;
    return {};
  }
  return fmt::format("there is no parameter \"{}\"", printable(name));
}

}  // namespace

std::string apply_usb_profile(std::string_view text, UsbHostProfile* profile,
                              std::string_view name) {
  UsbHostProfile changed = *profile;
  std::string error = apply_profile_lines(
      name, text, [&changed](std::string_view line) { return apply_profile_line(line, &changed); });
  if (!error.empty()) return error;
  *profile = std::move(changed);
  return {};
}

std::string_view builtin_usb_profile(std::string_view name) {
  for (const Builtin& builtin : kBuiltins) {
    if (builtin.name == name) return builtin.text;
  }
  return {};
}

std::vector<std::string_view> builtin_usb_profiles() {
  std::vector<std::string_view> names;
  for (const Builtin& builtin : kBuiltins) names.push_back(builtin.name);
  return names;
}

}  // namespace millrace::board
