// SPDX-License-Identifier: Apache-2.0
#include "devices/adc_signal.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <system_error>
#include <vector>

namespace millrace::board {
namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r'))
    s.remove_suffix(1);
  return s;
}

bool parse_number(std::string_view text, double* out) {
  text = trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*out);
}

// Exactly `count` numbers with commas between them.
bool parse_numbers(std::string_view text, size_t count, std::vector<double>* out) {
  out->clear();
  for (;;) {
    const size_t comma = text.find(',');
    double value = 0;
    if (!parse_number(text.substr(0, comma), &value)) return false;
    out->push_back(value);
    if (comma == std::string_view::npos) return out->size() == count;
    text.remove_prefix(comma + 1);
  }
}

struct Point {
  double seconds;
  double volts;
};

double interpolate(const std::vector<Point>& points, double seconds) {
  const auto after = std::upper_bound(points.begin(), points.end(), seconds,
                                      [](double t, const Point& p) { return t < p.seconds; });
  if (after == points.begin()) return points.front().volts;
  if (after == points.end()) return points.back().volts;
  const Point& before = *(after - 1);
  const double part = (seconds - before.seconds) / (after->seconds - before.seconds);
  return before.volts + part * (after->volts - before.volts);
}

double wave(double turns) { return std::sin(2 * std::numbers::pi * (turns - std::floor(turns))); }

std::string read_csv(std::string_view path, AdcSignal* out) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(std::string(path), ignored);
  if (std::filesystem::is_directory(status) || std::filesystem::is_fifo(status)) {
    return fmt::format("open {}: is no file but a {} (give a CSV file)", path,
                       std::filesystem::is_fifo(status) ? "FIFO" : "folder");
  }
  std::ifstream file{std::string(path), std::ios::binary};
  if (!file) return fmt::format("open {}: cannot be read (check the name of the CSV file)", path);
  // 64 bytes a line are plenty; a file that is longer than all lines allowed is not read further.
  constexpr size_t kMaxBytes = 64 * kMaxCsvLines;
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
         file.gcount() > 0) {
    text.append(buffer.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > kMaxBytes) {
      return fmt::format("{}: more than {} bytes (cut the recording)", path, kMaxBytes);
    }
  }
  return parse_adc_csv(text, path, out);
}

}  // namespace

std::string parse_adc_csv(std::string_view text, std::string_view name, AdcSignal* out) {
  std::vector<Point> points;
  std::vector<double> numbers;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    content = trim(content.substr(0, content.find('#')));
    if (content.empty()) continue;
    if (!parse_numbers(content, 2, &numbers)) {
      return fmt::format("{}: line {} is not `seconds,volts`", name, line);
    }
    if (!points.empty() && numbers[0] < points.back().seconds) {
      return fmt::format("{}: line {} goes back in time (sort the lines)", name, line);
    }
    if (points.size() == kMaxCsvLines) {
      return fmt::format("{}: more than {} lines (cut the recording)", name, kMaxCsvLines);
    }
    points.push_back({numbers[0], numbers[1]});
  }
  if (points.empty()) return fmt::format("{}: has no line `seconds,volts`", name);
  *out = [points = std::move(points)](unsigned, unsigned, double seconds) {
    return interpolate(points, seconds);
  };
  return {};
}

std::string parse_adc_signal(std::string_view text, AdcSignal* out) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  std::vector<double> n;
  if (kind == "csv") return read_csv(rest, out);
  if (kind == "constant" && parse_numbers(rest, 1, &n)) {
    *out = [volts = n[0]](unsigned, unsigned, double) { return volts; };
    return {};
  }
  if (kind == "sine" && parse_numbers(rest, 3, &n)) {
    *out = [f = n[0], amplitude = n[1], offset = n[2]](unsigned, unsigned, double t) {
      return offset + amplitude * wave(f * t);
    };
    return {};
  }
  if (kind == "chirp" && parse_numbers(rest, 5, &n) && n[2] > 0) {
    *out = [f0 = n[0], f1 = n[1], period = n[2], amplitude = n[3], offset = n[4]](
               unsigned, unsigned, double seconds) {
      const double t = std::fmod(seconds, period);
      return offset + amplitude * wave((f0 + (f1 - f0) / (2 * period) * t) * t);
    };
    return {};
  }
  return fmt::format(
      "ADC signal `{}`: use constant:V, sine:HZ,AMPLITUDE,OFFSET, "
      "chirp:HZ,HZ,SECONDS,AMPLITUDE,OFFSET with SECONDS above 0, or csv:FILE",
      text.substr(0, 100));
}

}  // namespace millrace::board
