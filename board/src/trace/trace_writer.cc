// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/bytes.h"
#include "millrace/board/trace.h"
#include "trace/trace_format.h"

namespace millrace::board {
namespace {

constexpr size_t kPiece = 65536;

}  // namespace

TraceWriter::TraceWriter(const TraceHeader& header, Output output)
    : output_(std::move(output)), last_(header.base), recent_(kRecent) {
  bytes_.assign(trace_format::kMagic.begin(), trace_format::kMagic.end());
  bytes_.resize(trace_format::kHeaderBytes);
  store_le(&bytes_[8], 4, header.core_khz);
  store_le(&bytes_[12], 4, static_cast<uint32_t>(header.base));
  store_le(&bytes_[16], 4, static_cast<uint32_t>(header.base >> 32));
  std::copy(header.build_id.begin(), header.build_id.end(), bytes_.begin() + 20);
}

void TraceWriter::put(uint64_t number) {
  while (number >= 0x80) {
    bytes_.push_back(static_cast<uint8_t>(number | 0x80));
    number >>= 7;
  }
  bytes_.push_back(static_cast<uint8_t>(number));
}

// The distance of two lines, signed.
void TraceWriter::put_lines(uint32_t to, uint32_t from) {
  const int64_t lines = int64_t{to / 32} - int64_t{from / 32};
  put(static_cast<uint64_t>(lines) << 1 ^ static_cast<uint64_t>(lines >> 63));
}

// Waits of stores and of DMA may be told a little late: time does not go back in the file.
void TraceWriter::put_delta(uint64_t at) {
  const uint64_t time = std::max(at, last_);
  put(time - last_);
  last_ = time;
}

void TraceWriter::flush_if_full() {
  if (bytes_.size() < kPiece) return;
  output_(bytes_);
  bytes_.clear();
}

void TraceWriter::block(const TracedBlock& block, uint64_t at) {
  Recent& recent = recent_[(block.address >> 1) % kRecent];
  if (recent.number == UINT64_MAX || recent.block != block) {
    const auto [place, is_new] = numbers_.emplace(block, numbers_.size());
    recent = {block, place->second};
    if (is_new) {
      put(uint64_t{block.address / 2} << 2 | trace_format::kNewBlock);
      put(block.halfwords);
      put(block.instructions);
      put(block.issue_cycles);
      put_delta(at);
      flush_if_full();
      return;
    }
  }
  put(recent.number << 2 | trace_format::kBlock);
  put_delta(at);
  flush_if_full();
}

void TraceWriter::wait(const TracedWait& wait, uint64_t at) {
  const uint64_t what =
      (static_cast<uint64_t>(wait.cause) * 8 + static_cast<uint64_t>(wait.memory)) * 4 +
      static_cast<uint64_t>(wait.access);
  put(what << 2 | trace_format::kWait);
  put_lines(wait.line, last_line_);
  last_line_ = wait.line;
  if (wait.cause == TracedCause::miss) put_lines(wait.evicted, wait.line);
  put(wait.stall);
  put_delta(at);
  flush_if_full();
}

void TraceWriter::event(TraceEvent event, uint32_t argument, uint64_t at) {
  put(static_cast<uint64_t>(event) << 2 | trace_format::kEvent);
  put(argument);
  put_delta(at);
  flush_if_full();
}

void TraceWriter::finish() {
  if (!bytes_.empty()) output_(bytes_);
  bytes_.clear();
}

}  // namespace millrace::board
