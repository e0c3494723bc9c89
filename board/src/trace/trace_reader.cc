// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "core/bytes.h"
#include "millrace/board/trace.h"
#include "trace/trace_format.h"

namespace millrace::board {
namespace {

constexpr uint64_t kMaxAddress = UINT32_MAX;

class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, size_t at) : bytes_(bytes), at_(at) {}

  bool at_end() const { return at_ == bytes_.size(); }
  size_t at() const { return at_; }
  bool cut_off() const { return cut_off_; }
  bool bad() const { return bad_; }
  bool ok() const { return !cut_off_ && !bad_; }
  void reject() { bad_ = true; }

  uint64_t number(uint64_t limit = UINT64_MAX) {
    uint64_t value = 0;
    for (unsigned shift = 0; ok(); shift += 7) {
      if (at_end()) {
        cut_off_ = true;
        return 0;
      }
      const uint8_t byte = bytes_[at_++];
      if (shift == 63 && byte > 1) {
        bad_ = true;
        return 0;
      }
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    if (value > limit) bad_ = true;
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_;
  bool cut_off_ = false;
  bool bad_ = false;
};

struct State {
  std::vector<TracedBlock> blocks;
  uint64_t time = 0;
  uint32_t line = 0;
};

void read_new_block(Reader& in, uint64_t value, State& state, TraceSink& sink) {
  TracedBlock block;
  if (value > kMaxAddress / 2) in.reject();
  block.address = static_cast<uint32_t>(value * 2);
  block.halfwords = static_cast<uint32_t>(in.number(UINT16_MAX));
  block.instructions = static_cast<uint32_t>(in.number(UINT16_MAX));
  block.issue_cycles = static_cast<uint32_t>(in.number(UINT16_MAX));
  state.time += in.number();
  if (!in.ok()) return;
  state.blocks.push_back(block);
  sink.block(block, state.time);
}

// A line's address, from its distance to another.
uint32_t read_line(Reader& in, uint32_t from) {
  const uint64_t coded = in.number();
  const auto lines = static_cast<int64_t>(coded >> 1 ^ (0 - (coded & 1)));
  const int64_t limit = UINT32_MAX / 32, start = from / 32;
  if (lines > limit - start || lines < -start) {
    if (in.ok()) in.reject();
    return 0;
  }
  return static_cast<uint32_t>((start + lines) * 32);
}

void read_wait(Reader& in, uint64_t value, State& state, TraceSink& sink) {
  const uint64_t access = value % 4, memory = value / 4 % 8, cause = value / 32;
  if (access > 2 || memory < 1 || memory > 4 || cause > 3) in.reject();
  const uint32_t line = read_line(in, state.line);
  const auto kind = static_cast<TracedCause>(cause);
  const uint32_t evicted = kind == TracedCause::miss ? read_line(in, line) : 0;
  const auto stall = static_cast<uint32_t>(in.number(UINT32_MAX));
  state.time += in.number();
  if (!in.ok()) return;
  state.line = line;
  sink.wait({static_cast<TracedMemory>(memory), static_cast<TracedAccess>(access), kind, line,
             stall, evicted},
            state.time);
}

void read_event(Reader& in, uint64_t value, State& state, TraceSink& sink) {
  if (value < 1 || value > 6) in.reject();
  const auto argument = static_cast<uint32_t>(in.number(UINT32_MAX));
  state.time += in.number();
  if (!in.ok()) return;
  sink.event(static_cast<TraceEvent>(value), argument, state.time);
}

void read_record(Reader& in, State& state, TraceSink& sink) {
  const uint64_t head = in.number();
  if (!in.ok()) return;
  const uint64_t value = head >> 2;
  switch (head & 3) {
    case trace_format::kBlock:
      if (value >= state.blocks.size()) {
        in.reject();
        return;
      }
      state.time += in.number();
      if (in.ok()) sink.block(state.blocks[value], state.time);
      return;
    case trace_format::kNewBlock:
      return read_new_block(in, value, state, sink);
    case trace_format::kWait:
      return read_wait(in, value, state, sink);
    default:
      return read_event(in, value, state, sink);
  }
}

}  // namespace

std::string read_trace(std::span<const uint8_t> bytes, TraceHeader* header, TraceSink& sink,
                       bool* cut_off) {
  *cut_off = false;
  const auto& magic = trace_format::kMagic;
  if (bytes.size() < magic.size() || !std::equal(magic.begin(), magic.end() - 1, bytes.begin())) {
    return "is no trace: it does not begin with MRTRACE (give a file of `board run --trace`)";
  }
  if (bytes[7] != magic[7]) {
    return fmt::format(
        "is a trace of version {}, and this program reads version {} (trace it again)", bytes[7],
        magic[7]);
  }
  if (bytes.size() < trace_format::kHeaderBytes) {
    *cut_off = true;
    return {};
  }
  header->core_khz = load_le(&bytes[8], 4);
  header->base = load_le(&bytes[12], 4) | uint64_t{load_le(&bytes[16], 4)} << 32;
  std::copy_n(bytes.begin() + 20, header->build_id.size(), header->build_id.begin());
  Reader in(bytes, trace_format::kHeaderBytes);
  State state;
  state.time = header->base;
  while (!in.at_end()) {
    const size_t start = in.at();
    read_record(in, state, sink);
    if (in.bad()) return fmt::format("has an impossible record at byte {}", start);
    if (in.cut_off()) {
      *cut_off = true;
      break;
    }
  }
  return {};
}

}  // namespace millrace::board
