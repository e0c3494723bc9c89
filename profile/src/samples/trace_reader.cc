// SPDX-License-Identifier: Apache-2.0
#include "millrace/profile/trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "millrace/link/bytes.h"

namespace millrace::profile {
namespace {

constexpr size_t kTraceHeaderBytes = 52;
constexpr uint8_t kVersion = 2;
constexpr size_t kMaxBlocks = size_t{1} << 20;
constexpr uint64_t kMaxBlockHalfwords = 4096;
constexpr uint64_t kMaxCycles = uint64_t{1} << 53;  // 174 days at 600 MHz; exact in a double

}  // namespace

TraceReader::TraceReader(std::span<const uint8_t> bytes) : bytes_(bytes) {
  if (bytes.size() < kTraceHeaderBytes) {
    problem_ = "cut off in the header (trace it again)";
    return;
  }
  if (std::memcmp(bytes.data(), "MRTRACE", 7) != 0) {
    problem_ = "no trace: its magic is missing";
    return;
  }
  if (bytes[7] != kVersion) {
    problem_ =
        fmt::format("version {} of the trace, known is {} (trace it again)", bytes[7], kVersion);
    return;
  }
  at_ = kTraceHeaderBytes;
  core_khz_ = link::load_le32(&bytes[8]);
  const std::span<const uint8_t> id = bytes.subspan(20, 32);
  size_t id_bytes = id.size();
  while (id_bytes > 0 && id[id_bytes - 1] == 0) --id_bytes;
  if (id_bytes == 0) return;
  // SHA-1 is what linkers write unless told otherwise; its own last bytes may be 0.
  id_bytes = std::max<size_t>(id_bytes, 20);
  identity_.kind = IdentityKind::build_id;
  identity_.bytes.assign(id.begin(), id.begin() + static_cast<ptrdiff_t>(id_bytes));
}

bool TraceReader::varint(uint64_t* out) {
  *out = 0;
  for (unsigned shift = 0; shift < 70 && at_ < bytes_.size(); shift += 7) {
    const uint8_t byte = bytes_[at_++];
    if (shift < 64) *out |= uint64_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80u) == 0) return true;
  }
  is_cut_off_ = true;
  return false;
}

bool TraceReader::fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

bool TraceReader::wait(uint64_t value, TraceRecord* out) {
  const auto from = [](uint32_t line, uint64_t coded) {
    return static_cast<uint32_t>(line + ((coded >> 1) ^ (~(coded & 1) + 1)));
  };
  uint64_t distance = 0;
  if (!varint(&distance)) return false;
  out->kind = TraceRecord::Kind::wait;
  out->access = static_cast<uint8_t>(value & 3);
  out->memory = static_cast<uint8_t>(value >> 2 & 7);
  out->cause = static_cast<uint8_t>(std::min<uint64_t>(value >> 5, UINT8_MAX));
  out->line = from(last_line_, distance);
  if (out->is_miss()) {
    if (!varint(&distance)) return false;
    out->evicted = from(out->line, distance);
  }
  if (!varint(&out->stall) || !varint(&out->delta)) return false;
  last_line_ = out->line;
  return true;
}

bool TraceReader::record(TraceRecord* out) {
  uint64_t head = 0, a = 0, b = 0, c = 0;
  if (!varint(&head)) return false;
  const uint64_t value = head >> 2;
  switch (head & 3) {
    case 0:
      if (!varint(&out->delta)) return false;
      if (value >= blocks_.size()) return fail(fmt::format("block {} was not defined", value));
      out->kind = TraceRecord::Kind::block;
      out->block = static_cast<uint32_t>(value);
      return true;
    case 1:
      if (!varint(&a) || !varint(&b) || !varint(&c) || !varint(&out->delta)) return false;
      if (value > UINT32_MAX / 2 || a == 0 || a > kMaxBlockHalfwords) {
        return fail(fmt::format("a block of {} halfwords", a));
      }
      if (blocks_.size() == kMaxBlocks) return fail("more blocks than are read");
      out->kind = TraceRecord::Kind::block;
      out->block = static_cast<uint32_t>(blocks_.size());
      blocks_.push_back({static_cast<uint32_t>(value * 2), static_cast<uint32_t>(a), b, c});
      return true;
    case 2:
      return wait(value, out);
    default:
      if (!varint(&out->argument) || !varint(&out->delta)) return false;
      out->kind = TraceRecord::Kind::event;
      out->event = value;
      return true;
  }
}

bool TraceReader::next(TraceRecord* out) {
  if (!problem_.empty() || is_cut_off_ || at_ == bytes_.size()) return false;
  const size_t start = at_;
  *out = {};
  if (record(out)) {
    if (out->stall <= kMaxCycles && out->delta <= kMaxCycles - cycles_) {
      cycles_ += out->delta;
      return true;
    }
    fail(fmt::format("a time of more than {} cycles", kMaxCycles));
  }
  at_ = start;
  if (!problem_.empty()) problem_ = fmt::format("at offset 0x{:X}: {}", start, problem_);
  return false;
}

}  // namespace millrace::profile
