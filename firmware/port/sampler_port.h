// SPDX-License-Identifier: Apache-2.0
// What the sampler (firmware/app/sampler) needs of a chip: a timer with an interrupt above all
// others, and where memory is fast.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::firmware {

// All calls come from one thread or loop, never from the timer's interrupt.
class SamplerPort {
 public:
  virtual uint32_t cycles() = 0;     // of the core; free running, wraps at 2^32
  virtual uint32_t core_khz() = 0;   // what they are counted at
  virtual uint32_t timer_khz() = 0;  // ticks of the timer
  // The timer runs from now on: it runs out after `first_ticks`, and again and again after
  // `second_ticks`, until the handler gives it another distance (take_sample()), which holds from
  // the next time that it runs out. Its interrupt has the highest priority there is.
  virtual void start_timer(uint32_t first_ticks, uint32_t second_ticks) = 0;
  // When this has returned the handler does not run any more.
  virtual void stop_timer() = 0;
  // Differs from call to call as well as the board can.
  virtual uint32_t entropy() = 0;
  // What the workload has done, free running, wraps at 2^32; always 0: nobody counts.
  virtual uint32_t events() = 0;
  // The descriptor of the program's GNU build ID; returns its size, at most `room`, 0: none.
  virtual size_t build_id(uint8_t* out, size_t room) = 0;

 protected:
  ~SamplerPort() = default;
};

}  // namespace millrace::firmware
