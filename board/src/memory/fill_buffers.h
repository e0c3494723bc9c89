// SPDX-License-Identifier: Apache-2.0
// The two line-fill buffers of the data side, and the dynamic read-allocate mode that they lead to
// (DDI 0489F 5.3): when three line fills in a row that stores started were overwritten whole before
// their data came, store misses stop allocating, until one leaves a line partly written or a load
// wants the line being written. Times and masks only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/event_queue.h"
#include "core/snapshot.h"
#include "memory/flexspi_timing.h"

namespace millrace::board {

class FillBuffers {
 public:
  static constexpr unsigned kBuffers = 2;
  static constexpr unsigned kFullLinesToSwitch = 3;

  // When a buffer is free for a fill that is wanted at `at`.
  Cycles free_at(Cycles at) const { return std::max(at, std::min(fills_[0].done, fills_[1].done)); }
  // The line that free_at() waits for.
  uint32_t line_done_first() const { return fills_[fills_[0].done <= fills_[1].done ? 0 : 1].line; }
  // A fill that started at `at`, which free_at() gave. `written`: bytes that the store behind it
  // wrote; 0 for a load.
  void start(uint32_t line, const LineTimes& times, uint32_t written, Cycles at) {
    for (Fill& fill : fills_) {
      if (!fill.by_store || fill.done > at) continue;
      fill.by_store = false;  // it ended without being overwritten whole: that breaks the row
      full_lines_ = 0;
    }
    Fill& fill = fills_[0].done <= fills_[1].done ? fills_[0] : fills_[1];
    fill.line = line;
    fill.times = times;
    fill.done = *std::max_element(times.begin(), times.end());
    fill.by_store = written != 0;
    fill.written = 0;
    busy_until_ = std::max(busy_until_, fill.done);
    if (written != 0) wrote(line, written, at);
  }
  // When the beat of `address` is there, if its line is still being filled; else `at`.
  Cycles arrival(uint32_t address, Cycles at) const {
    Cycles when = at;
    for (const Fill& fill : fills_) {
      if (fill.line == (address & ~31u)) when = std::max(when, fill.times[(address / 8) % 4]);
    }
    return when;
  }
  Cycles busy_until() const { return busy_until_; }

  // A store wrote the bytes `mask` of a line in the cache.
  void wrote(uint32_t line, uint32_t mask, Cycles at) {
    for (Fill& fill : fills_) {
      if (fill.line != line || !fill.by_store || fill.done <= at) continue;
      fill.written |= mask;
      if (fill.written != UINT32_MAX) continue;
      fill.by_store = false;
      if (++full_lines_ >= kFullLinesToSwitch && !disabled_) {
        read_allocate_ = true;
        streaming_ = line;
        stream_mask_ = UINT32_MAX;
      }
    }
  }

  bool read_allocate() const { return read_allocate_; }
  // A store missed in read-allocate mode. False: the mode is over, allocate as usual.
  bool stream(uint32_t line, uint32_t mask) {
    if (line == streaming_) {
      stream_mask_ |= mask;
      return true;
    }
    if (stream_mask_ != UINT32_MAX) {
      leave();
      return false;
    }
    streaming_ = line;
    stream_mask_ = mask;
    return true;
  }
  // A load missed.
  void load_missed(uint32_t line) {
    if (read_allocate_ && line == streaming_) leave();
  }
  void disable_read_allocate(bool disabled) {  // ACTLR.DISRAMODE
    disabled_ = disabled;
    if (disabled) leave();
  }

  void reset() {
    const bool disabled = disabled_;
    *this = FillBuffers();
    disabled_ = disabled;
  }
  void snapshot(Snapshot& s) {
    for (Fill& fill : fills_) {
      s.field("line", fill.line);
      s.field("times", fill.times);
      s.field("done", fill.done);
      s.field("written", fill.written);
      s.field("by_store", fill.by_store);
    }
    s.field("busy_until", busy_until_);
    s.field("full_lines", full_lines_);
    s.field("read_allocate", read_allocate_);
    s.field("streaming", streaming_);
    s.field("stream_mask", stream_mask_);
    s.field("disabled", disabled_);
  }

 private:
  static constexpr uint32_t kNoLine = 1;
  struct Fill {
    uint32_t line = kNoLine;
    LineTimes times{};
    Cycles done = 0;
    uint32_t written = 0;
    bool by_store = false;  // and not yet written whole
  };

  void leave() {
    read_allocate_ = false;
    full_lines_ = 0;
    streaming_ = kNoLine;
    stream_mask_ = 0;
  }

  std::array<Fill, kBuffers> fills_{};
  Cycles busy_until_ = 0;
  unsigned full_lines_ = 0;
  bool read_allocate_ = false;
  bool disabled_ = false;
  uint32_t streaming_ = kNoLine;
  uint32_t stream_mask_ = 0;
};

}  // namespace millrace::board
