// SPDX-License-Identifier: Apache-2.0
// Where the time of a sketch goes, on Teensy 4.0 and 4.1, without a debug port:
//
//   MillraceSampler millrace_sampling;
//   void setup() { millrace_sampling.begin(); }
//   void loop() { your_work(); millrace_sampling.poll(); }
//
// and on the PC: millrace profile record usb:16C0:0483 --load none -o run.samples --elf sketch.elf
//
// It answers over USB `Serial`: the sketch may print there, not read. It takes channel 3 of the PIT
// (so at most three IntervalTimers), 64 KB of RAM1 for its buffer and 16 KB for its protocol. While
// it samples no IntervalTimer may begin or end, and those that run do so at its priority, unseen.
#pragma once

#include "firmware/app/sampler/sampler.h"
#include "firmware/app/stream_device.h"
#include "teensy_port.h"

class MillraceSampler {
 public:
  MillraceSampler();
  // Once, in setup().
  void begin();
  // In loop(). Does not wait for the USB or the host.
  void poll();
  // To start and stop it from the sketch itself.
  millrace::firmware::Sampler& sampler() { return sampler_; }
  // Something that the sketch has done: a profile then says cycles for each.
  void count_event() { ++events; }

 private:
  static millrace::firmware::StreamDeviceOptions options(millrace::firmware::Sampler& sampler);
  static volatile uint32_t events;
  friend class TeensySamplerPort;

  millrace::firmware::Sampler sampler_;
  millrace::firmware::TeensyPort port_;
  millrace::firmware::StreamDevice device_;
  bool configured_ = false;
};
