// SPDX-License-Identifier: Apache-2.0
// A stream to the PC over USB `Serial` that loses nothing silently, for Teensy 4.0 and 4.1:
//
//   MillraceLink<> link;
//   void loop() {
//     link.poll();
//     if (link.connected()) link.data().write_or_drop(samples, sizeof(samples), link.now_us());
//   }
//
// `millrace link receive` on the PC takes it. Nothing else may use Serial in the same sketch.
#pragma once

#include "firmware/app/link_device.h"
#include "teensy_port.h"

// What does not depend on the sizes.
class MillraceLinkBase {
 public:
  // Once, in setup(): counts this boot.
  void begin() { port_.count_boot(); }
  // In loop(), as often as possible. Does not wait for the USB or the host.
  void poll();
  bool connected() const { return device_.connected(); }
  // Device to PC: write(), write_or_drop(), reserve() and commit(), end_of_message(), end().
  millrace::link::StreamSender& data() { return device_.data(); }
  // PC to device: peek(), consume().
  millrace::link::StreamReceiver& data_in() { return device_.data_in(); }
  // For the producer calls of data().
  uint64_t now_us() const { return device_.now_us(); }

 protected:
  explicit MillraceLinkBase(const millrace::firmware::LinkDeviceOptions& options)
      : device_(port_, options) {}

 private:
  millrace::firmware::TeensyPort port_;
  millrace::firmware::LinkDevice device_;
  bool configured_ = false;
};

// kRing bytes of memory for what the PC has not taken: it bridges a stall of kRing / rate. kUnit:
// bytes of a sample; a loss is whole samples. demo: answers `millrace link bench`.
template <size_t kRing = 192 * 1024, uint32_t kUnit = 1, bool kDemo = false>
class MillraceLink : public MillraceLinkBase {
 public:
  MillraceLink() : MillraceLinkBase(options()) {}

 private:
  using Memory = millrace::firmware::LinkMemory<kRing, 128>;
  // Not a member: the base uses it before members are made.
  static Memory& memory() {
    static Memory memory{};
    return memory;
  }
  static millrace::firmware::LinkDeviceOptions options() {
    millrace::firmware::LinkDeviceOptions o = link_options(memory());
    o.unit_bytes = kUnit;
    o.demo = kDemo;
    return o;
  }
};
