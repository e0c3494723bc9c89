// SPDX-License-Identifier: Apache-2.0
// What the sampler's handler touches, and the handler's portable part.
//
// The handler interrupts everything, so it must cost little and leave no trace: one function that
// is inlined into the port's handler, which stands in ITCM; this struct and the buffer, in DTCM. It
// calls nothing, reads no constant and no vector from flash and uses no floating point. What it
// cannot avoid is the exception frame, which the core pushes onto the stack of what it interrupts.
//
// A port's handler:
//
//   naked:  frame = EXC_RETURN bit 2 ? PSP : MSP          (Armv7-M B1.5.6, B1.5.8)
//   now = cycle counter
//   the timer's flag down
//   timer's next distance = take_sample(&millrace_sampler, frame, now)
//   millrace_sampler.handler_cycles += cycle counter - now
//
// Distances of two samples are uniform within mean +- jitter, from xorshift32 (Marsaglia 2003): a
// fixed distance would be in step with whatever else is periodic. The timer loads a distance when
// it runs out, so the one that a handler gives holds a period later; `current_ticks` follows that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::firmware {

// The frame that the core pushes, in words; the same with floating-point registers behind it.
inline constexpr size_t kFrameLr = 5, kFramePc = 6, kFrameXpsr = 7;

inline constexpr uint32_t kSamplerMark = 0x4C504D53;  // "SMPL"

// The first nine words are in spec/sampler_control.md for debuggers.
struct SamplerMemory {
  uint32_t mark;            // kSamplerMark once set up
  uint32_t version;         // 1
  volatile uint32_t state;  // link::SamplerState
  uint32_t mode;            // link::kSamplerPc or kSamplerCallers
  uint32_t* buffer;
  uint32_t capacity_words;
  volatile uint32_t stored_words;
  volatile uint32_t lost;
  volatile uint32_t overruns;
  // Only for this code.
  uint32_t random;                // never 0
  uint32_t least_ticks;           // distances are least + 0..span
  uint32_t span_ticks;            // below 2^32 - least
  uint32_t current_ticks;         // the period under way
  uint32_t next_ticks;            // what the timer loads when it is over
  volatile uint32_t last_cycles;  // cycle counter at the last sample
  volatile uint32_t
      late_cycles;  // a sample so long after the last one: the timer ran out in between
  uint32_t mean_cycles;
  volatile uint64_t run_ticks;  // periods that are over
  volatile uint64_t handler_cycles;
};

// Records what was interrupted. Returns ticks for the timer's next distance.
[[gnu::always_inline]] inline uint32_t take_sample(SamplerMemory* memory,
                                                   const volatile uint32_t* frame, uint32_t now) {
  const uint32_t elapsed = now - memory->last_cycles;
  memory->last_cycles = now;
  uint64_t ticks = memory->current_ticks;
  if (elapsed >= memory->late_cycles) {
    const uint32_t missed = elapsed / memory->mean_cycles - 1;
    memory->overruns = memory->overruns + missed;
    ticks += uint64_t{missed} * memory->next_ticks;
  }
  memory->run_ticks = memory->run_ticks + ticks;

  const uint32_t stored = memory->stored_words;
  uint32_t* const record = memory->buffer + stored;
  if (memory->mode == 0) {
    if (stored < memory->capacity_words) {
      record[0] = frame[kFramePc];
      memory->stored_words = stored + 1;
    } else {
      memory->lost = memory->lost + 1;
    }
  } else if (stored + 3 <= memory->capacity_words) {
    record[0] = frame[kFramePc];
    record[1] = frame[kFrameLr];
    record[2] = frame[kFrameXpsr] & 0x1ffu;
    memory->stored_words = stored + 3;
  } else {
    memory->lost = memory->lost + 1;
  }

  uint32_t random = memory->random;
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  memory->random = random;
  memory->current_ticks = memory->next_ticks;
  memory->next_ticks =
      memory->least_ticks + static_cast<uint32_t>(uint64_t{random} * memory->span_ticks >> 32);
  return memory->next_ticks;
}

}  // namespace millrace::firmware
