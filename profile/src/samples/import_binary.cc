// SPDX-License-Identifier: Apache-2.0
// Raw dumps of a sampler's buffer, and gmon.out (glibc's and newlib's version 1, 32-bit addresses).
#include <fmt/format.h>

#include <algorithm>

#include "millrace/link/bytes.h"
#include "samples/sample_file.h"

namespace millrace::profile {

using link::load_le16;
using link::load_le32;

std::string parse_raw(std::span<const uint8_t> bytes, size_t words, bool partial, SampleSet* out) {
  const size_t record = 4 * words;
  if (bytes.size() % record != 0) {
    if (!partial) {
      return fmt::format(
          "{} bytes are no whole number of {}-byte samples (cut off? dump it again, "
          "or take the whole ones with --partial)",
          bytes.size(), record);
    }
    out->notes.push_back(
        fmt::format("the last {} bytes are no whole sample", bytes.size() % record));
  }
  size_t count = bytes.size() / record;
  if (count > kMaxSamples) return fmt::format("more than {} samples (cut it)", kMaxSamples);
  // A buffer that did not fill up ends in the zeros of .bss. PC 0 cannot be sampled: it is the
  // vector table or the null guard.
  const size_t stored = count;
  const auto is_zero = [&](size_t i) { return load_le32(&bytes[i * record]) == 0; };
  while (count > 0 && is_zero(count - 1)) --count;
  if (count < stored) {
    out->notes.push_back(
        fmt::format("{} entries at the end are 0: the buffer was not full", stored - count));
  }
  out->has_lr = words > 1;
  out->has_exception = words > 2;
  out->samples.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Sample sample;
    sample.pc = load_le32(&bytes[i * record]) & ~1u;
    if (words > 1) sample.lr = load_le32(&bytes[i * record + 4]);
    if (words > 2) {
      sample.exception = static_cast<uint16_t>(load_le32(&bytes[i * record + 8]) & 0x1FFu);
    }
    out->samples.push_back(sample);
  }
  return {};
}

namespace {

constexpr size_t kGmonHeaderBytes = 20, kHistogramHeaderBytes = 32, kArcBytes = 12;

// The bins of a histogram record at `at`; advances `at`.
std::string histogram(std::span<const uint8_t> bytes, size_t* at, bool partial, SampleSet* out) {
  const auto left = [&] { return bytes.size() - *at; };
  if (left() < kHistogramHeaderBytes) return "cut";
  const uint32_t low = load_le32(&bytes[*at]);
  const uint32_t high = load_le32(&bytes[*at + 4]);
  const uint32_t bins = load_le32(&bytes[*at + 8]);
  *at += kHistogramHeaderBytes;
  if (high <= low || bins == 0 || bins > kMaxSamples) {
    return fmt::format(
        "a histogram of {} bins from 0x{:08X} to 0x{:08X} (it is damaged, "
        "big-endian, or of a 64-bit program)",
        bins, low, high);
  }
  const bool whole = left() / 2 >= bins;
  if (!whole && !partial) return "cut";
  const uint32_t present = whole ? bins : static_cast<uint32_t>(left() / 2);
  for (uint32_t i = 0; i < present; ++i) {
    const uint32_t count = load_le16(&bytes[*at + size_t{2} * i]);
    if (count == 0) continue;
    Sample sample;
    sample.pc = static_cast<uint32_t>(low + uint64_t{high - low} * i / bins) & ~1u;
    sample.weight = count;
    if (out->samples.size() == kMaxSamples) return "more samples than are read";
    out->samples.push_back(sample);
  }
  *at += size_t{2} * present;
  return whole ? "" : "cut";
}

}  // namespace

std::string parse_gmon(std::span<const uint8_t> bytes, bool partial, SampleSet* out) {
  static constexpr const char* kCut =
      "cut off in the middle of a record (copy it again, or take what is there with --partial)";
  if (bytes.size() < kGmonHeaderBytes) return kCut;
  if (load_le32(&bytes[4]) != 1) {
    return fmt::format("gmon.out version {} (only 1 is read)", load_le32(&bytes[4]));
  }
  size_t arcs = 0;
  for (size_t at = kGmonHeaderBytes; at < bytes.size();) {
    const uint8_t tag = bytes[at++];
    std::string problem;
    if (tag == 0) {
      problem = histogram(bytes, &at, partial, out);
    } else if (tag == 1) {
      if (bytes.size() - at < kArcBytes) problem = "cut";
      at += kArcBytes;
      ++arcs;
    } else if (tag == 2) {
      const uint64_t blocks = bytes.size() - at < 4 ? UINT32_MAX : load_le32(&bytes[at]);
      if ((bytes.size() - at) / 8 < blocks) problem = "cut";
      at += 4 + 8 * static_cast<size_t>(blocks);
    } else {
      return fmt::format("at offset 0x{:X}: record kind {} (0, 1 and 2 are known)", at - 1, tag);
    }
    if (problem == "cut") {
      if (!partial) return kCut;
      out->notes.push_back("cut off in the middle of a record");
      break;
    }
    if (!problem.empty()) return problem;
  }
  if (arcs > 0) {
    out->notes.push_back(
        fmt::format("{} call arcs were left out: they count calls, not time", arcs));
  }
  out->notes.push_back("gmon.out counts by bins of several instructions: lines are approximate");
  return {};
}

}  // namespace millrace::profile
