// SPDX-License-Identifier: Apache-2.0
// What the sampler sees of code that has locked interrupts out: all of it behind BASEPRI, none of
// it behind PRIMASK; and of code that has a stack of its own (PSP) and floating-point registers in
// use. For each function the cycles that it took by the cycle counter, and its samples.
#include <cstdint>

#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/sampler/sampler_chip.h"
#include "firmware/ports/rt1062/ticks.h"

extern "C" {

// All alike: `times` rounds of a few cycles.
[[gnu::noinline]] void work_open(uint32_t times) {
  while (times-- != 0) __asm__ volatile("nop\n\tnop\n\tnop");
}
[[gnu::noinline]] void work_behind_basepri(uint32_t times) {
  while (times-- != 0) __asm__ volatile("nop\n\tnop\n\tnop\n\tnop");
}
[[gnu::noinline]] void work_behind_primask(uint32_t times) {
  while (times-- != 0) __asm__ volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop");
}

[[gnu::noinline]] void work_with_floats(uint32_t times) {
  while (times-- != 0) __asm__ volatile("vmul.f32 s0, s0, s0\n\tnop\n\tnop" ::: "s0");
}

// Calls `work` with the process stack in use, as a thread of an RTOS is run.
[[gnu::naked]] void on_process_stack(uint32_t /*times*/, void (*)(uint32_t) /*work*/,
                                     uint32_t* /*stack_end*/) {
  __asm__ volatile(
      "push {r4, lr}\n\t"
      "msr psp, r2\n\t"
      "mrs r3, control\n\t"
      "orr r3, r3, #2\n\t"
      "msr control, r3\n\t"
      "isb\n\t"
      "blx r1\n\t"
      "mrs r3, control\n\t"
      "bic r3, r3, #2\n\t"
      "msr control, r3\n\t"
      "isb\n\t"
      "pop {r4, pc}");
}

}  // extern "C"

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kIntervalNs = 5'000;  // 3,000 cycles
constexpr uint32_t kRounds = 400;
constexpr uint32_t kMostBytes = 64;  // of a function above

struct Work {
  const char* name;
  void (*function)(uint32_t times);
  uint64_t cycles;
  uint32_t samples;
};

void timed(Work& work, uint32_t times) {
  const uint32_t start = cycles();
  work.function(times);
  work.cycles += cycles() - start;
}

void behind_basepri(Work& work, uint32_t times) {
  __asm__ volatile("msr basepri, %0" ::"r"(0x80) : "memory");
  timed(work, times);
  __asm__ volatile("msr basepri, %0" ::"r"(0) : "memory");
}

void behind_primask(Work& work, uint32_t times) {
  disable_interrupts();
  timed(work, times);
  enable_interrupts();
}

alignas(8) uint32_t process_stack[256];

void with_own_stack(Work& work, uint32_t times) {
  const uint32_t start = cycles();
  on_process_stack(times, work.function, process_stack + 256);
  work.cycles += cycles() - start;
}

void report(Work (&works)[2], firmware::Sampler& sampler) {
  const link::SamplerStatus status = sampler.status();
  uint32_t other = 0;
  for (uint32_t i = 0; i < status.stored_words; ++i) {
    Work* found = nullptr;
    for (Work& work : works) {
      const uint32_t begin = reinterpret_cast<uint32_t>(work.function) & ~1u;
      if (millrace_sampler_buffer[i] - begin < kMostBytes) found = &work;
    }
    ++(found != nullptr ? found->samples : other);
  }
  for (const Work& work : works) {
    print_padded(work.name, 16);
    print_decimal(static_cast<uint32_t>(work.cycles), 10);
    print_decimal(work.samples, 8);
    print_char('\n');
  }
  print_padded("elsewhere", 16);
  print_decimal(other, 18);
  print("\noverruns");
  print_decimal(static_cast<uint32_t>(status.overruns), 26);
  print_char('\n');
}

}  // namespace

void run_program() {
  SYST_CSR.write(0);
  firmware::Sampler& sampler = make_sampler(nullptr);
  print("function            cycles samples\n");

  Work locked[2] = {{"open", work_open, 0, 0}, {"behind BASEPRI", work_behind_basepri, 0, 0}};
  static_cast<void>(sampler.start(link::kSamplerPc, kIntervalNs, 250, 1));
  for (uint32_t i = 0; i < kRounds; ++i) {
    timed(locked[0], 1000 + 7 * (i % 16));
    behind_basepri(locked[1], 900 + 5 * (i % 16));
  }
  sampler.stop();
  report(locked, sampler);

  Work threads[2] = {{"open", work_open, 0, 0}, {"own stack", work_with_floats, 0, 0}};
  static_cast<void>(sampler.start(link::kSamplerPc, kIntervalNs, 250, 1));
  for (uint32_t i = 0; i < kRounds; ++i) {
    timed(threads[0], 1000 + 7 * (i % 16));
    with_own_stack(threads[1], 900 + 5 * (i % 16));
  }
  sampler.stop();
  report(threads, sampler);

  // Longer than two intervals at a time: the timer runs out in vain.
  Work masked[2] = {{"open", work_open, 0, 0}, {"behind PRIMASK", work_behind_primask, 0, 0}};
  static_cast<void>(sampler.start(link::kSamplerPc, kIntervalNs, 250, 1));
  for (uint32_t i = 0; i < kRounds / 4; ++i) {
    timed(masked[0], 1000);
    behind_primask(masked[1], 3000);
  }
  sampler.stop();
  report(masked, sampler);
}

}  // namespace millrace::rt1062
