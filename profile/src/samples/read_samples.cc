// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "samples/sample_file.h"

namespace millrace::profile {
namespace {

constexpr size_t kMaxPlainBytes = size_t{256} << 20;

struct FormatName {
  SampleFormat format;
  const char* name;
};

constexpr FormatName kNames[] = {
    {SampleFormat::automatic, "auto"},
    {SampleFormat::sample_file, "samples"},
    {SampleFormat::raw_u32, "raw"},
    {SampleFormat::raw_pc_lr, "raw-pc-lr"},
    {SampleFormat::raw_callers, "raw-callers"},
    {SampleFormat::hex_text, "hex"},
    {SampleFormat::orbuculum, "orbuculum"},
    {SampleFormat::probe_rs, "probe-rs"},
    {SampleFormat::zephyr_perf, "zephyr-perf"},
    {SampleFormat::gmon, "gmon"},
    {SampleFormat::trace, "trace"},
};

bool starts_with(std::span<const uint8_t> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

constexpr char kEscape = 0x1B;

// What a terminal was told besides, as it stands in the log of a shell: ESC [ parameters letter
// (ECMA-48, 5.4: parameter and intermediate bytes up to a final one of 0x40 to 0x7E).
std::string without_control_sequences(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != kEscape) {
      out += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '[') {
      for (i += 2; i < text.size() && text[i] >= 0x20 && text[i] <= 0x3F;) ++i;
    }
  }
  return out;
}

// Escapes do not make it binary.
bool is_text(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(),
                     bytes.begin() + static_cast<ptrdiff_t>(std::min<size_t>(bytes.size(), 4096)),
                     [](uint8_t c) {
                       return (c >= ' ' && c != 0x7F) || (c >= '\t' && c <= '\r') || c == kEscape;
                     });
}

SampleFormat guess(std::span<const uint8_t> bytes) {
  if (starts_with(bytes, "MRSAMPL")) return SampleFormat::sample_file;
  if (starts_with(bytes, "MRTRACE")) return SampleFormat::trace;
  if (starts_with(bytes, "gmon")) return SampleFormat::gmon;
  if (!is_text(bytes)) return SampleFormat::raw_u32;
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string_view head = all.substr(0, 65536);
  if (head.find("Perf buf length ") != std::string_view::npos) return SampleFormat::zephyr_perf;
  if (head.find("\"toptable\"") != std::string_view::npos) return SampleFormat::orbuculum;
  std::string_view line;
  while (next_line(&head, &line)) {
    if (line.empty()) continue;
    if (line.starts_with("Samples ")) return SampleFormat::probe_rs;
    // `0,0,17`: one digit, a comma, a digit. A sample in hex has more digits.
    if (line.size() > 3 && line[0] >= '0' && line[0] <= '9' && line[1] == ',' && line[2] >= '0' &&
        line[2] <= '9') {
      return SampleFormat::orbuculum;
    }
    if (line.ends_with('%')) return SampleFormat::probe_rs;
    break;
  }
  return SampleFormat::hex_text;
}

std::string parse(SampleFormat format, std::span<const uint8_t> bytes, bool partial,
                  SampleSet* out) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (format) {
    case SampleFormat::sample_file:
      if (!starts_with(bytes, "MRSAMPL")) return "no sample file: its magic is missing";
      return parse_sample_file(bytes, partial, out);
    case SampleFormat::raw_u32:
      return parse_raw(bytes, 1, partial, out);
    case SampleFormat::raw_pc_lr:
      return parse_raw(bytes, 2, partial, out);
    case SampleFormat::raw_callers:
      return parse_raw(bytes, 3, partial, out);
    case SampleFormat::orbuculum:
      return parse_orbuculum(text, out);
    case SampleFormat::probe_rs:
      return parse_probe_rs(text, out);
    case SampleFormat::zephyr_perf:
      return parse_zephyr_perf(text, partial, out);
    case SampleFormat::gmon:
      if (!starts_with(bytes, "gmon")) return "no gmon.out: its magic is missing";
      return parse_gmon(bytes, partial, out);
    case SampleFormat::trace:
      if (!starts_with(bytes, "MRTRACE")) return "no trace: its magic is missing";
      return parse_trace(bytes, out);
    case SampleFormat::hex_text:
    case SampleFormat::automatic:
      return parse_hex_text(text, out);
  }
  return {};
}

}  // namespace

const char* name_of(SampleFormat format) {
  for (const FormatName& one : kNames) {
    if (one.format == format) return one.name;
  }
  return "auto";
}

bool format_of(const std::string& name, SampleFormat* out) {
  for (const FormatName& one : kNames) {
    if (one.name == name) {
      *out = one.format;
      return true;
    }
  }
  return false;
}

std::vector<std::string> format_names() {
  std::vector<std::string> out;
  for (const FormatName& one : kNames) out.emplace_back(one.name);
  return out;
}

Failure parse_samples(const std::string& path, std::span<const uint8_t> bytes,
                      const ReadOptions& options, SampleSet* out) {
  *out = {};
  out->path = path;
  const SampleFormat format =
      options.format == SampleFormat::automatic ? guess(bytes) : options.format;
  std::string plain;
  const bool is_of_lines = format == SampleFormat::hex_text || format == SampleFormat::orbuculum ||
                           format == SampleFormat::probe_rs || format == SampleFormat::zephyr_perf;
  if (is_of_lines && std::find(bytes.begin(), bytes.end(), kEscape) != bytes.end()) {
    plain = without_control_sequences({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    bytes = {reinterpret_cast<const uint8_t*>(plain.data()), plain.size()};
  }
  out->format = name_of(format);
  if (format != SampleFormat::trace && bytes.size() > kMaxPlainBytes) {
    return Error{Error::Kind::malformed, fmt::format("{}: more than {} MB of samples (cut it)",
                                                     printable(path), kMaxPlainBytes >> 20)};
  }
  std::string problem = parse(format, bytes, options.accept_partial, out);
  if (problem.empty() && out->samples.empty() && out->named.empty()) problem = "no samples in it";
  if (problem.empty()) return {};
  return Error{Error::Kind::malformed,
               fmt::format("{} (read as {}): {}", printable(path), name_of(format), problem)};
}

Failure read_samples(const std::string& path, const ReadOptions& options, SampleSet* out) {
  std::vector<uint8_t> bytes;
  Failure failure = read_file(path, kMaxSampleFileBytes, &bytes);
  return failure ? failure : parse_samples(path, bytes, options, out);
}

}  // namespace millrace::profile
