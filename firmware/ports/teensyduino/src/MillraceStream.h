// SPDX-License-Identifier: Apache-2.0
// The Millrace measuring device for Teensy 4.0 and 4.1, over USB `Serial`:
//
//   MillraceStream millrace;
//   void setup() { millrace.begin(); }
//   void loop() { millrace.poll(); }
//
// It answers `millrace serial` on the PC, and any client of the nine-byte handshake. Nothing else
// may use Serial in the same sketch: a Serial.print() would stand in the stream as foreign bytes.
#pragma once

#include "firmware/app/stream_device.h"
#include "teensy_port.h"

class MillraceStream {
 public:
  explicit MillraceStream(const millrace::firmware::StreamDeviceOptions& options =
                              millrace::firmware::StreamDeviceOptions())
      : device_(port_, options) {}

  // Once, in setup(): counts this boot.
  void begin();
  // In loop(), as often as possible. Does not wait for the USB or the host.
  void poll();

  // What the PC is told as well.
  millrace::link::DeviceCounters counters() const { return device_.counters(); }

 private:
  millrace::firmware::TeensyPort port_;
  millrace::firmware::StreamDevice device_;
  bool configured_ = false;
};
