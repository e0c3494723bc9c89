// SPDX-License-Identifier: Apache-2.0
// The host's time is its own: ticks of 60 MHz, one byte at high speed, so that a microframe is
// 7,500 ticks, a bit at full speed 5 and a byte 40, and nothing is ever rounded. Two events carry
// it into the board's queue: the bus (port, frames, transactions) and the driver (completions,
// timers). A full bus costs one event a transaction; an idle one costs one a frame, however many
// endpoints are asked in vain: an endpoint that has answered NAK is not asked again until the
// device says that something changed, and then at the time at which its next poll would have come.
// What is lost by that: polls in vain take no bus time from other endpoints, and the device sees
// one NAK a wait (ENDPTNAK) where a chip sees many; naks_skipped counts them.
#include "usb/usb_host.h"

#include <algorithm>

namespace millrace::board {
namespace {

constexpr uint64_t kTickHz = 60'000'000;

}  // namespace

UsbHost::UsbHost(EventQueue& events, Clocks& clocks, UsbDeviceEnd& device,
                 const UsbHostProfile& profile)
    : events_(events),
      clocks_(clocks),
      device_(device),
      profile_(profile),
      bus_event_(&UsbHost::on_bus, this),
      driver_event_(&UsbHost::on_driver, this),
      random_(profile.seed) {
  clocks.add_user(*this);
  ticks_.start(events.now(), kTickHz, clocks.hz(Clock::core));
  forget_pipes();
}

UsbHost::~UsbHost() { clocks_.remove_user(*this); }

void UsbHost::after_clock_change(Cycles now) {
  ticks_.change(now, kTickHz, clocks_.hz(Clock::core));
  schedule_bus();
  schedule_driver();
}

// The generator of Steele, Lea and Flood (SplitMix64).
uint64_t UsbHost::random() {
  uint64_t z = random_ += 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

void UsbHost::on_bus(void* context, Cycles when) { static_cast<UsbHost*>(context)->run_bus(when); }

void UsbHost::on_driver(void* context, Cycles) { static_cast<UsbHost*>(context)->run_driver(); }

void UsbHost::run_bus(Cycles now) {
  const Tick tick = bus_due_;
  in_bus_ = true;
  if (flight_.active && flight_.end <= tick) finish(now);
  if (port_due_ <= tick) port_timer(now);
  if (frames_run() && !flight_.active) {
    if (next_frame_ <= tick) start_frame(tick, now);
    if (bus_free_ <= tick) start_transaction(tick, now);
  }
  in_bus_ = false;
  schedule_bus();
}

void UsbHost::schedule_bus() {
  if (in_bus_) return;
  Tick due = port_due_;
  if (flight_.active) {
    due = std::min(due, flight_.end);
  } else if (frames_run()) {
    due = std::min(due, next_transaction(ticks_.count(events_.now())));
  }
  bus_due_ = due;
  if (due == UINT64_MAX) {
    events_.cancel(bus_event_);
  } else {
    events_.schedule(bus_event_, ticks_.when(due));
  }
}

void UsbHost::schedule_driver() {
  Tick due = returning_ != nullptr ? returning_->due : UINT64_MAX;
  for (const UsbHostTimer* timer : timers_) due = std::min(due, timer->due_);
  driver_due_ = due;
  if (due == UINT64_MAX) {
    events_.cancel(driver_event_);
  } else {
    events_.schedule(driver_event_, ticks_.when(due));
  }
}

// A handler may submit, unlink, start and stop timers, so each round looks again.
void UsbHost::run_driver() {
  const Tick tick = driver_due_;
  while (returning_ != nullptr && returning_->due <= tick) {
    Urb& urb = *returning_;
    returning_ = urb.next;
    if (returning_ == nullptr) returning_last_ = nullptr;
    urb.next = nullptr;
    urb.is_completing = false;
    urb.status = urb.result;
    ++counts_.urbs;
    if (monitor_ != nullptr) monitor_->completed(urb, ns_of(urb.due));
    if (urb.done != nullptr) urb.done(urb.context, urb);
  }
  for (;;) {
    const auto due = std::find_if(timers_.begin(), timers_.end(),
                                  [tick](const UsbHostTimer* t) { return t->due_ <= tick; });
    if (due == timers_.end()) break;
    UsbHostTimer& timer = **due;
    timers_.erase(due);
    timer.running_ = false;
    timer.handler_(timer.context_);
  }
  schedule_driver();
}

void UsbHost::start_timer(UsbHostTimer& timer, uint64_t delay_ns) {
  stop_timer(timer);
  timer.due_ = ticks_.count(events_.now()) + std::max<Tick>(1, ticks_of(delay_ns));
  timer.running_ = true;
  timers_.push_back(&timer);
  schedule_driver();
}

void UsbHost::stop_timer(UsbHostTimer& timer) {
  if (!timer.running_) return;
  timer.running_ = false;
  std::erase(timers_, &timer);
  schedule_driver();
}

bool UsbHost::is_open(uint8_t endpoint) const { return pipes_[index_of(endpoint)].is_open; }

void UsbHost::submit(Urb& urb) {
  Pipe& pipe = pipes_[index_of(urb.endpoint)];
  const Tick tick = ticks_.count(events_.now());
  urb.status = UrbStatus::pending;
  urb.actual = 0;
  urb.number = urbs_submitted_++;
  urb.next = nullptr;
  urb.is_unlinking = urb.is_completing = false;
  urb.transfer = pipe.config.transfer;
  urb.address = address_;
  if (monitor_ != nullptr) monitor_->submitted(urb, ns_of(tick));
  const bool alive = state_ == UsbPortState::enabled || state_ == UsbPortState::suspended ||
                     state_ == UsbPortState::resuming;
  if (!alive || !pipe.is_open) {
    return return_urb(urb, alive ? UrbStatus::no_pipe : UrbStatus::disconnected, tick);
  }
  if (pipe.first == nullptr) {
    pipe.first = &urb;
    pipe.stage = Stage::setup;
  } else {
    pipe.last->next = &urb;
  }
  pipe.last = &urb;
  schedule_bus();
}

bool UsbHost::unlink(Urb& urb) {
  if (urb.status != UrbStatus::pending || urb.is_completing) return false;
  Pipe& pipe = pipes_[index_of(urb.endpoint)];
  if (flight_.active && pipe.first == &urb && &pipes_[flight_.pipe] == &pipe) {
    urb.is_unlinking = true;  // the controller cannot take back what is on the wire
    return true;
  }
  Urb* before = nullptr;
  Urb* here = pipe.first;
  while (here != nullptr && here != &urb) {
    before = here;
    here = here->next;
  }
  if (here == nullptr) return false;
  if (before == nullptr) {
    complete(pipe, UrbStatus::unlinked, ticks_.count(events_.now()));
  } else {
    before->next = urb.next;
    if (pipe.last == &urb) pipe.last = before;
    return_urb(urb, UrbStatus::unlinked, ticks_.count(events_.now()));
  }
  schedule_bus();
  return true;
}

void UsbHost::forget(Urb& urb) {
  if (urb.status != UrbStatus::pending) return;
  Pipe& pipe = pipes_[index_of(urb.endpoint)];
  if (flight_.active && pipe.first == &urb && &pipes_[flight_.pipe] == &pipe) {
    urb.is_unlinking = false;
    abandon(events_.now());
  }
  // It is in one of two lists.
  const auto take_out = [&urb](Urb** first, Urb** last) {
    Urb* before = nullptr;
    for (Urb* here = *first; here != nullptr; before = here, here = here->next) {
      if (here != &urb) continue;
      (before == nullptr ? *first : before->next) = urb.next;
      if (*last == &urb) *last = before;
      return;
    }
  };
  if (urb.is_completing) {
    take_out(&returning_, &returning_last_);
  } else {
    if (pipe.first == &urb) pipe.stage = Stage::setup;
    take_out(&pipe.first, &pipe.last);
  }
  urb.status = UrbStatus::unlinked;
  urb.next = nullptr;
  urb.is_completing = false;
  schedule_bus();
  schedule_driver();
}

// The first URB of the pipe is over.
void UsbHost::complete(Pipe& pipe, UrbStatus status, Tick tick) {
  Urb& urb = *pipe.first;
  pipe.first = urb.next;
  if (pipe.first == nullptr) pipe.last = nullptr;
  pipe.stage = Stage::setup;
  pipe.errors = 0;
  stop_sleeping(pipe, tick);
  return_urb(urb, status, tick);
}

void UsbHost::return_urb(Urb& urb, UrbStatus status, Tick tick) {
  urb.result = status;
  uint64_t delay_ns = profile_.completion_latency_ns;
  if (profile_.completion_jitter_ns != 0) {
    delay_ns += random() % (uint64_t{profile_.completion_jitter_ns} + 1);
  }
  urb.due = last_due_ = std::max(last_due_, tick + std::max<Tick>(1, ticks_of(delay_ns)));
  urb.next = nullptr;
  urb.is_completing = true;
  if (returning_last_ == nullptr) {
    returning_ = &urb;
  } else {
    returning_last_->next = &urb;
  }
  returning_last_ = &urb;
  if (returning_ == &urb) schedule_driver();
}

void UsbHost::return_all(UrbStatus status) {
  const Tick tick = ticks_.count(events_.now());
  for (Pipe& pipe : pipes_) {
    while (pipe.first != nullptr) complete(pipe, status, tick);
  }
}

void UsbHost::forget_pipes() {
  for (Pipe& pipe : pipes_) pipe = Pipe();
  pipes_[0].is_open = true;
  pipes_[0].config = {0, UsbTransfer::control, 8, 0};
  order_.assign(1, 0);
  turn_ = 0;
  address_ = 0;
}

bool UsbHost::open_pipe(const UsbPipe& config) {
  const unsigned index = index_of(config.endpoint);
  if (index < 2 || pipes_[index].is_open || config.transfer == UsbTransfer::isochronous ||
      config.transfer == UsbTransfer::control || config.max_packet == 0 ||
      config.max_packet > kUsbMaxPacket) {
    return false;
  }
  Pipe& pipe = pipes_[index];
  pipe = Pipe();
  pipe.config = config;
  pipe.is_open = true;
  if (config.transfer == UsbTransfer::interrupt) {
    // 2^(bInterval - 1) microframes (table 9-13); at full speed bInterval frames, which hosts round
    // down to a power of two, at most 32.
    const unsigned interval = std::max<unsigned>(1, config.interval);
    if (high()) {
      pipe.period = 1u << (std::min(interval, 16u) - 1);
    } else {
      while (pipe.period * 2 <= interval && pipe.period < 32) pipe.period *= 2;
    }
  }
  order_.push_back(static_cast<uint8_t>(index));
  return true;
}

void UsbHost::close(Pipe& pipe, Tick tick) {
  if (flight_.active && &pipes_[flight_.pipe] == &pipe) abandon(events_.now());
  while (pipe.first != nullptr) complete(pipe, UrbStatus::unlinked, tick);
  pipe = Pipe();
}

void UsbHost::close_pipes() {
  const Tick tick = ticks_.count(events_.now());
  for (unsigned i = 1; i < pipes_.size(); ++i) close(pipes_[i], tick);
  order_.assign(1, 0);
  turn_ = 0;
  schedule_bus();
}

void UsbHost::close_pipe(uint8_t endpoint) {
  const unsigned index = index_of(endpoint);
  if (index < 2) return;
  close(pipes_[index], ticks_.count(events_.now()));
  std::erase(order_, static_cast<uint8_t>(index));
  turn_ = 0;
  schedule_bus();
}

void UsbHost::clear_halt(uint8_t endpoint) {
  Pipe& pipe = pipes_[index_of(endpoint)];
  pipe.is_halted = false;
  pipe.toggle = false;
  pipe.ping = false;
  schedule_bus();
}

}  // namespace millrace::board
