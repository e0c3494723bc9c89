// SPDX-License-Identifier: Apache-2.0
#include "millrace/host/text.h"

#include <fmt/core.h>

#include <cstdint>

namespace millrace::host {
namespace {

bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// Length of the character at `at`; 0 when it is none, or none to show.
size_t shown_length(const std::string& text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if (lead < 0x80) return is_control(lead) ? 0 : 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead >= 0xf5 || at + length > text.size()) return 0;
  uint32_t code = lead & (0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[at + i]);
    if ((byte & 0xc0U) != 0x80) return 0;
    code = (code << 6U) | (byte & 0x3fU);
  }
  const uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < smallest || code > 0x10ffff || surrogate || is_control(code) ? 0 : length;
}

}  // namespace

std::string printable(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = shown_length(text, at);
    if (length == 0) {
      out += '?';
      ++at;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  return out;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string grouped(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string megabytes_per_s(double bytes_per_s) {
  const double rate = bytes_per_s / 1e6;
  const int decimals = rate >= 100 ? 0 : rate >= 10 ? 1 : rate >= 1 ? 2 : 3;
  return fmt::format("{:.{}f}", rate, decimals);
}

}  // namespace millrace::host
