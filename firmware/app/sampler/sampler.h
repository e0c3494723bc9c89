// SPDX-License-Identifier: Apache-2.0
// The sampler as the rest of a program sees it: started, stopped, and asked over the control
// channel (spec/sampler_control.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/app/sampler/sampler_memory.h"
#include "firmware/port/sampler_port.h"
#include "millrace/link/sampler_control.h"

namespace millrace::firmware {

class Sampler {
 public:
  // Nearer than this the handler would be most of what is sampled.
  static constexpr uint32_t kLeastIntervalNs = 2'000;
  static constexpr uint32_t kMostIntervalNs = 1'000'000'000;

  // Sets `memory` up. `buffer` has `capacity_words` words; all outlive this. Both are where the
  // handler reaches them without a cache.
  Sampler(SamplerPort& port, SamplerMemory& memory, uint32_t* buffer, uint32_t capacity_words);

  // Throws away what was recorded. Anything but ok: nothing was changed.
  link::SamplerStatusCode start(uint8_t mode, uint32_t interval_ns, uint16_t jitter_permille,
                                uint32_t seed);
  void stop();
  bool is_sampling() const;
  link::SamplerStatus status();

  // Answers a request of the control channel: writes the reply and returns its size, at most
  // `room`, which must be kSamplerStatusBytes or more. 0: not a request, no reply.
  size_t answer(const uint8_t* request, size_t size, uint8_t* reply, size_t room);

 private:
  uint64_t cycles_of(uint64_t ticks);

  SamplerPort& port_;
  SamplerMemory& memory_;
  uint32_t run_number_ = 0;
  uint16_t jitter_permille_ = 0;
  uint32_t mean_ticks_ = 0;
  uint32_t start_events_ = 0;
  uint32_t run_events_ = 0;
};

}  // namespace millrace::firmware
