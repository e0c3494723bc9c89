// SPDX-License-Identifier: Apache-2.0
// The only clock of the board. Time is core cycles since reset; nothing on the board happens but
// from an event or from an instruction, so equal inputs give equal runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/snapshot.h"

namespace millrace::board {

using Cycles = uint64_t;
inline constexpr Cycles kNever = UINT64_MAX;

// Something that happens at a time. Owned by whoever schedules it; must not move while scheduled.
class Event {
 public:
  using Handler = void (*)(void* context, Cycles when);
  Event(Handler handler, void* context) : handler_(handler), context_(context) {}
  ~Event();  // cancels
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  bool scheduled() const { return queue_ != nullptr; }
  Cycles when() const { return when_; }  // REQUIRES: scheduled()

 private:
  friend class EventQueue;
  Handler handler_;
  void* context_;
  class EventQueue* queue_ = nullptr;
  Cycles when_ = 0;
  uint64_t order_ = 0;  // equal times run in the order they were scheduled
  size_t index_ = 0;
};

class EventQueue {
 public:
  EventQueue() = default;
  ~EventQueue();  // leaves the events unscheduled
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;
  // The core writes this as it executes; in a handler it is the time at which the event was due.
  Cycles now() const { return now_; }
  // Moves time forward without running events. REQUIRES: `to` >= now() and <= next().
  void advance(Cycles to) { now_ = to; }
  // When the first event is due; kNever if none is. The core runs no block past this.
  Cycles next() const { return next_; }
  // Runs every event due at or before now(), in order of time; handlers may schedule more. A
  // handler that schedules at or before now() without end would never return: periods are > 0.
  void run_due();
  // (Re)schedules; a time in the past means now.
  void schedule(Event& event, Cycles when);
  void cancel(Event& event);
  size_t size() const { return heap_.size(); }

  // The clock itself, before any event.
  void snapshot(Snapshot& s);
  // Whether and when `event` is due, with its place among equal times; its owner calls this.
  void snapshot(Snapshot& s, Event& event);

 private:
  static bool before(const Event& a, const Event& b);
  void place(size_t index, Event* event);
  void sift_up(size_t index);
  void sift_down(size_t index);
  void insert(Event& event, Cycles when, uint64_t order);

  std::vector<Event*> heap_;  // a binary heap: the earliest is heap_[0]
  Cycles now_ = 0;
  Cycles next_ = kNever;
  uint64_t next_order_ = 0;
};

}  // namespace millrace::board
