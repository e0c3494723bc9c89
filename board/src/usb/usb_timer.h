// SPDX-License-Identifier: Apache-2.0
// A general purpose timer of the USB controller (GPTIMERnLD, GPTIMERnCTRL; IMXRT1060RM 42.7):
// counts microseconds down, once or again and again.
#pragma once

#include <cstdint>
#include <functional>

#include "core/event_queue.h"
#include "core/snapshot.h"
#include "devices/clocks.h"

namespace millrace::board {

class UsbTimer {
 public:
  // `expired` is called at each expiry. All outlive this.
  UsbTimer(EventQueue& events, const Clocks& clocks, std::function<void(Cycles)> expired);

  void set_load(uint32_t value) { load_ = value; }  // GPTIMERnLD, microseconds - 1
  void control(uint32_t value, Cycles now);         // GPTIMERnCTRL as written
  uint32_t control_at(Cycles now) const;            // as read
  void clock_changed(Cycles now);
  void reset();
  void snapshot(Snapshot& s);

 private:
  static void on_event(void* context, Cycles when);
  void start(uint32_t count, Cycles now);
  uint32_t count(Cycles now) const;
  void schedule();

  EventQueue& events_;
  const Clocks& clocks_;
  std::function<void(Cycles)> expired_;
  Event event_;
  Ticks ticks_;          // microseconds; stands while the timer does
  uint64_t origin_ = 0;  // tick at which `from_` was loaded
  uint32_t from_ = 0;
  uint32_t load_ = 0;
  bool run_ = false;
  bool repeat_ = false;
  bool done_ = false;  // one-shot, expired
};

}  // namespace millrace::board
