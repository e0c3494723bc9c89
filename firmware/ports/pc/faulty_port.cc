// SPDX-License-Identifier: Apache-2.0
// Bytes are altered when they are taken from the application and then wait in a queue until the
// inner port takes them; the application is offered nothing more until the queue is empty, so its
// back-pressure is the inner port's. With no fault that alters or paces bytes there is no queue.
//
// Faults that happen at a place (stall, unplug, reset) take effect when every byte before it has
// been handed on.
#include "firmware/ports/pc/faulty_port.h"

#include <algorithm>

namespace millrace::firmware {
namespace {

constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint32_t kMicrosPerSecond = 1'000'000;

}  // namespace

FaultyPort::FaultyPort(Port& inner, const FaultPlan& plan, const FaultHooks& hooks)
    : inner_(inner), plan_(plan), hooks_(hooks), mangler_(plan), credit_us_(inner.now_us()) {
  next_stall_.resize(plan_.stalls.size(), kNever);
}

size_t FaultyPort::write(const uint8_t* data, size_t size) {
  pump();
  if (link_down_ || stalled() || !queue_.empty()) return 0;
  if (hooks_.in_stream && hooks_.in_stream()) return write_stream(data, size);
  if (plan_.split == 0 && plan_.rate_bytes_per_s == 0) return inner_.write(data, size);
  queue_.assign(data, data + size);
  pump();
  return size;
}

size_t FaultyPort::write_stream(const uint8_t* data, size_t size) {
  const uint32_t run = hooks_.runs_started ? hooks_.runs_started() : 1;
  if (run != run_) {
    run_ = run;
    offset_ = 0;
    mangler_.begin_run();
    for (size_t i = 0; i < plan_.stalls.size(); ++i) next_stall_[i] = plan_.stalls[i].offset;
    cook_pending_ = plan_.cooked.any();
  }
  if (cook_pending_) {
    // What the host has not read yet, STARTED above all, must not be mangled.
    if (hooks_.drained && !hooks_.drained()) return 0;
    if (hooks_.cook) hooks_.cook(plan_.cooked);
    cook_pending_ = false;
  }
  if (start_event()) return 0;
  size = static_cast<size_t>(std::min<uint64_t>(size, bytes_to_next_event()));
  if (mangler_.alters()) {
    mangler_.feed(data, size, &queue_);
  } else if (plan_.split > 0 || plan_.rate_bytes_per_s > 0) {
    queue_.assign(data, data + size);
  } else {
    size = inner_.write(data, size);
  }
  offset_ += size;
  pump();
  return size;
}

size_t FaultyPort::read(uint8_t* data, size_t size) {
  pump();
  if (link_down_ || stalled()) return 0;
  return inner_.read(data, size);
}

void FaultyPort::idle(uint32_t max_us) {
  pump();
  if (link_down_) return;
  if (stalled()) {
    const uint32_t left_us = stall_us_ - (inner_.now_us() - stall_start_us_);
    const uint32_t us = std::min(max_us, left_us);
    if (hooks_.pause) {
      hooks_.pause(us);
    } else {
      inner_.idle(us);
    }
    return;
  }
  // Queued bytes may wait for time to pass rather than for the inner port.
  inner_.idle(!queue_.empty() && plan_.rate_bytes_per_s > 0 ? std::min(max_us, 200u) : max_us);
}

std::optional<LinkEvent> FaultyPort::take_link_event() {
  std::optional<LinkEvent> event = link_event_;
  link_event_.reset();
  return event;
}

void FaultyPort::restart() {
  queue_.clear();
  queue_at_ = 0;
  stalled_ = false;
  link_down_ = false;
  run_ = 0;
}

uint64_t FaultyPort::bytes_to_next_event() const {
  uint64_t next = kNever;
  for (const uint64_t at : next_stall_) next = std::min(next, at);
  for (const LinkEvent& event : plan_.link_events) {
    if (event.offset > offset_) next = std::min(next, event.offset);
  }
  return next == kNever ? kNever : next - offset_;
}

// True if a stall or a link event begins at this place of the stream.
bool FaultyPort::start_event() {
  for (size_t i = 0; i < plan_.link_events.size(); ++i) {
    if (plan_.link_events[i].offset != offset_) continue;
    link_event_ = plan_.link_events[i];
    plan_.link_events.erase(plan_.link_events.begin() + static_cast<std::ptrdiff_t>(i));
    link_down_ = true;
    return true;
  }
  for (size_t i = 0; i < plan_.stalls.size(); ++i) {
    if (next_stall_[i] != offset_) continue;
    const FaultSpan& stall = plan_.stalls[i];
    next_stall_[i] = stall.every > 0 ? offset_ + stall.every : kNever;
    stalled_ = true;
    stall_start_us_ = inner_.now_us();
    stall_us_ = static_cast<uint32_t>(stall.length) * 1000;
    return true;
  }
  return false;
}

bool FaultyPort::stalled() {
  if (stalled_ && inner_.now_us() - stall_start_us_ >= stall_us_) stalled_ = false;
  return stalled_;
}

// Bytes that the rate allows now. At most 5 ms of them are saved up, so that a pause is not
// followed by a burst.
uint64_t FaultyPort::credit() {
  if (plan_.rate_bytes_per_s == 0) return kNever;
  const uint32_t now_us = inner_.now_us();
  const uint64_t passed_us = std::min(now_us - credit_us_, kMicrosPerSecond);
  credit_us_ = now_us;
  credit_fraction_ += passed_us * plan_.rate_bytes_per_s;
  credit_bytes_ += credit_fraction_ / kMicrosPerSecond;
  credit_fraction_ %= kMicrosPerSecond;
  credit_bytes_ = std::min(credit_bytes_, plan_.rate_bytes_per_s / 200 + 1);
  return credit_bytes_;
}

void FaultyPort::pump() {
  if (queue_.empty() || link_down_ || stalled()) return;
  const uint64_t allowed = credit();
  uint64_t sent = 0;
  while (queue_at_ < queue_.size() && sent < allowed) {
    size_t piece = queue_.size() - queue_at_;
    if (plan_.split > 0) piece = std::min<size_t>(piece, plan_.split);
    piece = static_cast<size_t>(std::min<uint64_t>(piece, allowed - sent));
    const size_t taken = inner_.write(queue_.data() + queue_at_, piece);
    queue_at_ += taken;
    sent += taken;
    if (taken < piece) break;
  }
  if (plan_.rate_bytes_per_s > 0) credit_bytes_ -= sent;
  if (queue_at_ < queue_.size()) return;
  queue_.clear();
  queue_at_ = 0;
}

}  // namespace millrace::firmware
