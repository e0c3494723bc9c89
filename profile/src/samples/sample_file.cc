// SPDX-License-Identifier: Apache-2.0
#include "samples/sample_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/link/bytes.h"
#include "millrace/link/crc32c.h"

namespace millrace::profile {
namespace {

using link::load_le32;
using link::load_le64;

constexpr uint8_t kMagic[8] = {'M', 'R', 'S', 'A', 'M', 'P', 'L', 1};
constexpr uint32_t kHasLr = 1, kHasException = 2, kHasWeight = 4, kHasStall = 8;
constexpr size_t kMaxIdentityBytes = 32;

void put32(std::vector<uint8_t>* out, uint32_t value) {
  out->resize(out->size() + 4);
  link::store_le32(&(*out)[out->size() - 4], value);
}

uint32_t entry_words(uint32_t mode) {
  uint32_t words = 1;
  for (uint32_t bit = 0; bit < 4; ++bit) words += mode >> bit & 1u;
  return words;
}

}  // namespace

std::string parse_sample_file(std::span<const uint8_t> bytes, bool partial, SampleSet* out) {
  if (bytes.size() < kSampleHeaderBytes) {
    return fmt::format(
        "{} bytes are no whole header of {} (the file is cut off: read it out again)", bytes.size(),
        kSampleHeaderBytes);
  }
  if (bytes[7] != kMagic[7]) {
    return fmt::format("version {} of the sample file, known is 1 (use a newer millrace)",
                       bytes[7]);
  }
  const uint32_t header_bytes = load_le32(&bytes[8]);
  if (header_bytes < kSampleHeaderBytes || header_bytes > bytes.size()) {
    return fmt::format("at offset 0x8: a header of {} bytes in a file of {} (read it out again)",
                       header_bytes, bytes.size());
  }
  if (link::crc32c(&bytes[16], header_bytes - 16) != load_le32(&bytes[12])) {
    return "at offset 0xC: the header's CRC is wrong (the file is damaged: read it out again)";
  }
  const uint32_t mode = load_le32(&bytes[16]);
  if (mode > 15) return fmt::format("at offset 0x10: mode {} (use a newer millrace)", mode);
  const uint32_t kind = load_le32(&bytes[72]);
  const uint32_t identity_bytes = load_le32(&bytes[76]);
  if (kind > 2 || identity_bytes > kMaxIdentityBytes || (kind == 0) != (identity_bytes == 0)) {
    return fmt::format("at offset 0x48: an identity of kind {} with {} bytes (record it again)",
                       kind, identity_bytes);
  }
  if (load_le32(&bytes[116]) > 1) {
    return fmt::format("at offset 0x74: unit {} (use a newer millrace)", load_le32(&bytes[116]));
  }
  out->has_lr = (mode & kHasLr) != 0;
  out->has_exception = (mode & kHasException) != 0;
  out->has_stall = (mode & kHasStall) != 0;
  out->unit = static_cast<WeightUnit>(load_le32(&bytes[116]));
  out->core_khz = load_le32(&bytes[20]);
  out->interval_cycles = load_le32(&bytes[24]);
  out->jitter_permille = load_le32(&bytes[28]);
  out->lost = load_le64(&bytes[40]);
  out->run_cycles = load_le64(&bytes[48]);
  out->handler_cycles = load_le64(&bytes[56]);
  out->events = load_le64(&bytes[64]);
  out->overruns = load_le64(&bytes[120]);
  out->identity.kind = static_cast<IdentityKind>(kind);
  out->identity.bytes.assign(&bytes[80], &bytes[80] + identity_bytes);

  const uint64_t count = load_le64(&bytes[32]);
  const size_t record_bytes = size_t{4} * entry_words(mode);
  std::span<const uint8_t> records = bytes.subspan(header_bytes);
  const uint64_t whole = records.size() / record_bytes;
  if (count > kMaxSamples) {
    return fmt::format("at offset 0x20: {} records, more than {} (cut it into parts)", count,
                       kMaxSamples);
  }
  if (whole < count) {
    if (!partial) {
      return fmt::format(
          "cut off: {} of {} records are there (read it out again, or take what is "
          "there with --partial)",
          whole, count);
    }
    out->notes.push_back(
        fmt::format("cut off: {} of {} records are there, unchecked", whole, count));
  } else if (records.size() != count * record_bytes) {
    return fmt::format("{} bytes behind the last record (read it out again)",
                       records.size() - count * record_bytes);
  } else if (link::crc32c(records.data(), records.size()) != load_le32(&bytes[112])) {
    return "at offset 0x70: the CRC of the records is wrong (the file is damaged: read it out "
           "again)";
  }
  const auto n = static_cast<size_t>(std::min(count, whole));
  out->samples.reserve(n);
  const uint8_t* at = records.data();
  for (size_t i = 0; i < n; ++i) {
    const auto next = [&at] {
      at += 4;
      return load_le32(at - 4);
    };
    Sample sample;
    sample.pc = next() & ~1u;
    if ((mode & kHasLr) != 0) sample.lr = next();
    if ((mode & kHasException) != 0) sample.exception = static_cast<uint16_t>(next() & 0x1FFu);
    if ((mode & kHasWeight) != 0) sample.weight = next();
    if ((mode & kHasStall) != 0) sample.stall = std::min(next(), sample.weight);
    out->samples.push_back(sample);
  }
  return {};
}

std::vector<uint8_t> sample_file(const SampleSet& set) {
  uint32_t mode = (set.has_lr ? kHasLr : 0) | (set.has_exception ? kHasException : 0) |
                  (set.has_stall ? kHasStall : 0);
  const bool weighted = std::any_of(set.samples.begin(), set.samples.end(),
                                    [](const Sample& sample) { return sample.weight != 1; });
  if (weighted) mode |= kHasWeight;
  std::vector<uint8_t> records;
  records.reserve(set.samples.size() * 4 * entry_words(mode));
  for (const Sample& sample : set.samples) {
    put32(&records, sample.pc);
    if (set.has_lr) put32(&records, sample.lr);
    if (set.has_exception) put32(&records, sample.exception);
    if (weighted) put32(&records, sample.weight);
    if (set.has_stall) put32(&records, sample.stall);
  }
  std::vector<uint8_t> out(kSampleHeaderBytes);
  std::copy(std::begin(kMagic), std::end(kMagic), out.begin());
  link::store_le32(&out[8], kSampleHeaderBytes);
  link::store_le32(&out[16], mode);
  link::store_le32(&out[20], set.core_khz);
  link::store_le32(&out[24], set.interval_cycles);
  link::store_le32(&out[28], set.jitter_permille);
  link::store_le64(&out[32], set.samples.size());
  link::store_le64(&out[40], set.lost);
  link::store_le64(&out[48], set.run_cycles);
  link::store_le64(&out[56], set.handler_cycles);
  link::store_le64(&out[64], set.events);
  const size_t identity_bytes = std::min(set.identity.bytes.size(), kMaxIdentityBytes);
  link::store_le32(&out[72], static_cast<uint32_t>(set.identity.kind));
  link::store_le32(&out[76], static_cast<uint32_t>(identity_bytes));
  std::copy_n(set.identity.bytes.begin(), identity_bytes, out.begin() + 80);
  link::store_le32(&out[112], link::crc32c(records.data(), records.size()));
  link::store_le32(&out[116], static_cast<uint32_t>(set.unit));
  link::store_le64(&out[120], set.overruns);
  link::store_le32(&out[12], link::crc32c(&out[16], kSampleHeaderBytes - 16));
  out.insert(out.end(), records.begin(), records.end());
  return out;
}

std::string Identity::text() const {
  if (kind == IdentityKind::none) return "none";
  std::string out = kind == IdentityKind::build_id ? "build ID " : "image hash ";
  for (const uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace millrace::profile
