// SPDX-License-Identifier: Apache-2.0
// Measures the USB serial link of a Teensy 4.0 or 4.1. Flash it, then on the PC:
//
//   millrace ports
//   millrace doctor usb:16C0:0483
//   millrace serial bench usb:16C0:0483
//
// Tools > USB Type must be one with "Serial". Do not print: the PC would see it in the stream.
#include <MillraceStream.h>

MillraceStream millrace_stream;

void setup() {
  millrace_stream.begin();
}

void loop() {
  millrace_stream.poll();
}
