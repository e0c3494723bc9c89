// SPDX-License-Identifier: Apache-2.0
// Samples to the PC without losing one silently. Flash it, then on the PC:
//
//   millrace link receive usb:16C0:0483 -o samples.bin
//
// A sample is 4 bytes here: a counter, made a million times a second. Unplug the cable for a moment,
// stop the program and start it with --resume: the file has no hole as long as the memory
// (here 192 KB, 48 ms of samples) holds what came meanwhile; else the program says which samples are
// missing. For `millrace link bench` take MillraceLink<192 * 1024, 1, true> and leave produce() out.
// Tools > USB Type must be one with "Serial". Do not print: the PC would see it in the stream.
#include <MillraceLink.h>

MillraceLink<192 * 1024, sizeof(uint32_t)> link_to_pc;

uint32_t next_sample = 0;
uint64_t produced_until_us = 0;

void produce() {
  const uint64_t now_us = link_to_pc.now_us();
  uint32_t block[128];
  if (produced_until_us == 0) produced_until_us = now_us;
  // At most 100 blocks, 13 ms of samples, between two poll(): after hours without a PC there are more.
  for (int i = 0; i < 100 && produced_until_us + 128 <= now_us; ++i) {
    for (uint32_t& sample : block) sample = next_sample++;
    link_to_pc.data().write_or_drop(reinterpret_cast<uint8_t*>(block), sizeof(block), now_us);
    produced_until_us += 128;
  }
}

void setup() { link_to_pc.begin(); }

void loop() {
  link_to_pc.poll();
  if (link_to_pc.connected()) produce();
}
