// SPDX-License-Identifier: Apache-2.0
// A binary heap of pointers to events, ordered by (time, order of scheduling). Each event knows its
// index, so that cancel and reschedule are O(log n) without a search. A calendar queue was not
// considered worth it: a board has some tens of timers and the core looks only at next().
#include "core/event_queue.h"

#include <utility>

namespace millrace::board {

Event::~Event() {
  if (queue_ != nullptr) queue_->cancel(*this);
}

EventQueue::~EventQueue() {
  for (Event* event : heap_) event->queue_ = nullptr;
}

bool EventQueue::before(const Event& a, const Event& b) {
  return a.when_ != b.when_ ? a.when_ < b.when_ : a.order_ < b.order_;
}

void EventQueue::place(size_t index, Event* event) {
  heap_[index] = event;
  event->index_ = index;
}

void EventQueue::sift_up(size_t index) {
  Event* const event = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!before(*event, *heap_[parent])) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, event);
}

void EventQueue::sift_down(size_t index) {
  Event* const event = heap_[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], *event)) break;
    place(index, heap_[child]);
    index = child;
  }
  place(index, event);
}

void EventQueue::insert(Event& event, Cycles when, uint64_t order) {
  event.queue_ = this;
  event.when_ = when;
  event.order_ = order;
  event.index_ = heap_.size();
  heap_.push_back(&event);
  sift_up(event.index_);
  next_ = heap_.front()->when_;
}

void EventQueue::schedule(Event& event, Cycles when) {
  if (event.queue_ != nullptr) event.queue_->cancel(event);
  insert(event, when < now_ ? now_ : when, next_order_++);
}

void EventQueue::cancel(Event& event) {
  if (event.queue_ != this) return;
  const size_t index = event.index_;
  Event* const last = heap_.back();
  heap_.pop_back();
  if (last != &event) {
    place(index, last);
    sift_up(index);
    sift_down(last->index_);
  }
  event.queue_ = nullptr;
  next_ = heap_.empty() ? kNever : heap_.front()->when_;
}

void EventQueue::run_due() {
  const Cycles until = now_;
  while (next_ <= until) {
    Event& event = *heap_.front();
    const Cycles when = event.when_;
    cancel(event);
    now_ = when;
    event.handler_(event.context_, when);
  }
  now_ = until;
}

void EventQueue::snapshot(Snapshot& s) {
  s.field("now", now_);
  s.field("next_order", next_order_);
}

void EventQueue::snapshot(Snapshot& s, Event& event) {
  bool scheduled = event.scheduled();
  Cycles when = event.when_;
  uint64_t order = event.order_;
  s.field("scheduled", scheduled);
  s.field("when", when);
  s.field("order", order);
  if (!s.restoring() || !s.ok()) return;
  if (event.queue_ != nullptr) event.queue_->cancel(event);
  if (scheduled) insert(event, when, order);
}

}  // namespace millrace::board
