// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/sampler/sampler.h"

namespace millrace::firmware {

using link::SamplerCommand;
using link::SamplerState;
using link::SamplerStatusCode;

Sampler::Sampler(SamplerPort& port, SamplerMemory& memory, uint32_t* buffer,
                 uint32_t capacity_words)
    : port_(port), memory_(memory) {
  memory_ = SamplerMemory();
  memory_.buffer = buffer;
  memory_.capacity_words = capacity_words;
  memory_.version = 1;
  memory_.mark = kSamplerMark;
}

bool Sampler::is_sampling() const {
  return memory_.state == static_cast<uint32_t>(SamplerState::sampling);
}

SamplerStatusCode Sampler::start(uint8_t mode, uint32_t interval_ns, uint16_t jitter_permille,
                                 uint32_t seed) {
  if (link::sampler_record_words(mode) == 0) return SamplerStatusCode::mode;
  if (jitter_permille > link::kSamplerMaxJitter) return SamplerStatusCode::jitter;
  if (interval_ns < kLeastIntervalNs || interval_ns > kMostIntervalNs) {
    return SamplerStatusCode::interval;
  }
  const uint64_t timer_khz = port_.timer_khz();
  const uint64_t mean = (interval_ns * timer_khz + 500'000) / 1'000'000;
  const uint64_t half = mean * jitter_permille / 1000;
  if (mean < 2 || mean + half >= uint64_t{1} << 31) return SamplerStatusCode::interval;

  port_.stop_timer();
  mean_ticks_ = static_cast<uint32_t>(mean);
  jitter_permille_ = jitter_permille;
  ++run_number_;
  memory_.mode = mode;
  memory_.stored_words = 0;
  memory_.lost = 0;
  memory_.overruns = 0;
  memory_.run_ticks = 0;
  memory_.handler_cycles = 0;
  memory_.random = seed != 0 ? seed : port_.entropy();
  if (memory_.random == 0) memory_.random = 0x9e3779b9u;
  memory_.least_ticks = static_cast<uint32_t>(mean - half);
  memory_.span_ticks = static_cast<uint32_t>(2 * half + 1);
  memory_.current_ticks = memory_.next_ticks = mean_ticks_;
  const uint64_t mean_cycles = cycles_of(mean);
  const uint64_t late = 2 * cycles_of(mean + half);
  // Longer than the cycle counter takes to come round: overruns cannot be told.
  memory_.mean_cycles = mean_cycles < UINT32_MAX ? static_cast<uint32_t>(mean_cycles) : UINT32_MAX;
  memory_.late_cycles = UINT32_MAX;
  start_events_ = port_.events();
  run_events_ = 0;
  memory_.state = static_cast<uint32_t>(SamplerState::sampling);
  port_.start_timer(mean_ticks_, mean_ticks_);
  // Only now: what a port does before the timer runs, such as copying vectors from flash, takes its
  // time and is no overrun. A sample may have come already, which changes nothing.
  memory_.last_cycles = port_.cycles();
  memory_.late_cycles = late < UINT32_MAX ? static_cast<uint32_t>(late) : UINT32_MAX;
  return SamplerStatusCode::ok;
}

void Sampler::stop() {
  if (!is_sampling()) return;
  port_.stop_timer();
  run_events_ = port_.events() - start_events_;
  memory_.state = static_cast<uint32_t>(SamplerState::stopped);
}

uint64_t Sampler::cycles_of(uint64_t ticks) { return ticks * port_.core_khz() / port_.timer_khz(); }

link::SamplerStatus Sampler::status() {
  link::SamplerStatus status;
  status.state = static_cast<SamplerState>(memory_.state);
  status.mode = static_cast<uint8_t>(memory_.mode);
  status.jitter_permille = jitter_permille_;
  status.capacity_words = memory_.capacity_words;
  status.stored_words = memory_.stored_words;
  status.core_khz = port_.core_khz();
  status.interval_cycles = static_cast<uint32_t>(cycles_of(mean_ticks_));
  status.least_interval_ns = kLeastIntervalNs;
  status.most_interval_ns = kMostIntervalNs;
  status.lost = memory_.lost;
  status.overruns = memory_.overruns;
  // The handler may come between the two halves of a 64-bit value: read until nothing changes.
  uint64_t ticks, handler;
  do {
    ticks = memory_.run_ticks;
    handler = memory_.handler_cycles;
  } while (ticks != memory_.run_ticks || handler != memory_.handler_cycles);
  status.run_cycles = cycles_of(ticks);
  status.handler_cycles = handler;
  status.events = is_sampling() ? port_.events() - start_events_ : run_events_;
  status.run_number = run_number_;
  status.identity_bytes =
      static_cast<uint32_t>(port_.build_id(status.identity, sizeof(status.identity)));
  return status;
}

size_t Sampler::answer(const uint8_t* request, size_t size, uint8_t* reply, size_t room) {
  link::SamplerRequest asked;
  SamplerStatusCode result;
  if (!link::decode_sampler_request(request, size, &asked, &result)) return 0;
  if (result == SamplerStatusCode::ok && asked.command == SamplerCommand::start) {
    result = start(asked.mode, asked.interval_ns, asked.jitter_permille, asked.seed);
  }
  if (result != SamplerStatusCode::ok) {
    return link::encode_sampler_refusal(asked.command, asked.tag, result, reply);
  }
  if (asked.command == SamplerCommand::stop) stop();
  if (asked.command != SamplerCommand::read) {
    return link::encode_sampler_status(asked.command, asked.tag, status(), reply);
  }
  const size_t fits = (room - link::kSamplerReadBytes) / 4;
  const uint32_t stored = memory_.stored_words;
  size_t count = asked.first_word < stored ? stored - asked.first_word : 0;
  if (count > asked.words) count = asked.words;
  if (count > fits) count = fits;
  if (count > link::kSamplerReadWords) count = link::kSamplerReadWords;
  return link::encode_sampler_words(asked.tag, asked.first_word, static_cast<uint16_t>(run_number_),
                                    memory_.buffer + (count > 0 ? asked.first_word : 0),
                                    static_cast<uint16_t>(count), reply);
}

}  // namespace millrace::firmware
