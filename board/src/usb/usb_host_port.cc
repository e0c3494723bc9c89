// SPDX-License-Identifier: Apache-2.0
// The root port (USB 2.0 7.1.7): power, debounce, reset, recovery, suspend.
#include "usb/usb_host.h"

namespace millrace::board {
namespace {

constexpr uint64_t kSuspendNs = 3'000'000;  // of idle bus until the device suspends, 7.1.7.6
constexpr uint64_t kResumeNs = 20'000'000;  // TDRSMDN, 7.1.7.7
constexpr uint64_t kResumeRecoveryNs = 10'000'000;  // TRSMRCY: starts of frame, no transactions

}  // namespace

void UsbHost::enter(UsbPortState state, Tick delay) {
  state_ = state;
  port_due_ = ticks_.count(events_.now()) + delay;
  schedule_bus();
}

void UsbHost::plug_in() {
  if (state_ != UsbPortState::unplugged) return;
  state_ = UsbPortState::waiting;
  device_.attach(events_.now());
  connection_changed(events_.now());
}

void UsbHost::unplug() {
  if (state_ == UsbPortState::unplugged) return;
  lose_port(events_.now());
  state_ = UsbPortState::unplugged;
  device_.detach(events_.now());
}

void UsbHost::connection_changed(Cycles now) {
  if (state_ == UsbPortState::unplugged) return;
  if (!device_.connected()) {
    lose_port(now);
  } else if (state_ == UsbPortState::waiting) {
    enter(UsbPortState::debouncing, ticks_of(uint64_t{profile_.debounce_us} * 1000));
  }
}

void UsbHost::lose_port(Cycles now) {
  abandon(now);
  state_ = UsbPortState::waiting;
  port_due_ = UINT64_MAX;
  return_all(UrbStatus::disconnected);
  forget_pipes();
  schedule_bus();
  if (!is_told_) return;
  is_told_ = false;
  if (listener_ != nullptr) listener_->port_disabled();
}

void UsbHost::reset_port() {
  const Cycles now = events_.now();
  lose_port(now);
  begin_reset(now);
}

void UsbHost::begin_reset(Cycles now) {
  ++counts_.resets;
  device_asleep_ = false;
  device_.reset_begin(now);
  enter(UsbPortState::resetting, ticks_of(uint64_t{profile_.reset_us} * 1000));
}

void UsbHost::port_timer(Cycles now) {
  port_due_ = UINT64_MAX;
  switch (state_) {
    case UsbPortState::debouncing:
      return begin_reset(now);
    case UsbPortState::resetting:
      speed_ = device_.reset_end(offered_, now);
      forget_pipes();
      next_frame_ = bus_due_;
      // Frames begin at once: an idle bus of 3 ms would suspend the device.
      state_ = UsbPortState::recovering;
      port_due_ = bus_due_ + ticks_of(uint64_t{profile_.recovery_us} * 1000);
      return;
    case UsbPortState::recovering:
      state_ = UsbPortState::enabled;
      if (is_told_) return;  // it was suspended only
      is_told_ = true;
      if (listener_ != nullptr) listener_->port_enabled(speed_);
      return;
    case UsbPortState::suspended:
      device_asleep_ = true;
      return device_.suspend(now);
    case UsbPortState::resuming:
      if (device_asleep_) device_.resume(now);
      device_asleep_ = false;
      next_frame_ = bus_due_;
      state_ = UsbPortState::recovering;
      port_due_ = bus_due_ + ticks_of(kResumeRecoveryNs);
      return;
    default:
      return;
  }
}

void UsbHost::suspend() {
  if (state_ != UsbPortState::enabled) return;
  abandon(events_.now());
  enter(UsbPortState::suspended, ticks_of(kSuspendNs));
}

void UsbHost::resume() {
  if (state_ == UsbPortState::suspended) enter(UsbPortState::resuming, ticks_of(kResumeNs));
}

void UsbHost::remote_wakeup(Cycles) { resume(); }

}  // namespace millrace::board
