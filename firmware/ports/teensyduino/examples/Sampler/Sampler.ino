// SPDX-License-Identifier: Apache-2.0
// Something to sample: two thirds of its time go into one function, a third into another. On the PC:
//
//   millrace profile record usb:16C0:0483 --load none -o run.samples --elf Sampler.ino.elf
//   millrace profile Sampler.ino.elf run.samples
//
// Tools > USB Type must be one with "Serial".
#include <MillraceSampler.h>

MillraceSampler millrace_sampling;
volatile uint32_t result;

__attribute__((noinline)) void slow(uint32_t times) {
  for (uint32_t i = 0; i < times; ++i) result = result * 5 + i;
}
__attribute__((noinline)) void two_thirds() { slow(2000); }

__attribute__((noinline)) void one_third() {
  for (uint32_t i = 0; i < 1000; ++i) result = result * 5 + i;
}

void setup() {
  millrace_sampling.begin();
}

void loop() {
  two_thirds();
  one_third();
  millrace_sampling.count_event();
  millrace_sampling.poll();
}
