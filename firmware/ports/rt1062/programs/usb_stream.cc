// SPDX-License-Identifier: Apache-2.0
// The measuring device of spec/stream.md over our own USB driver: a Teensy's serial port to the
// host. The console tells what happens on the bus.
#include "firmware/app/stream_device.h"
#include "firmware/ports/rt1062/console.h"
#include "firmware/ports/rt1062/image.h"
#include "firmware/ports/rt1062/rt1062_registers.h"
#include "firmware/ports/rt1062/sampler/sampler_chip.h"
#include "firmware/ports/rt1062/ticks.h"
#include "firmware/ports/rt1062/usb/usb_serial.h"

namespace millrace::rt1062 {
namespace {

// The line coding by which the Teensy Loader asks for the boot loader; the breakpoint is what its
// chip listens for (Teensy core, usb.c).
constexpr uint32_t kBootLoaderBaud = 134;
constexpr uint32_t kBootLoaderDelayMs = 10;  // the host shall see its request answered

class EventLog {
 public:
  explicit EventLog(const UsbSerial& usb) : usb_(usb) {}

  void print_new() {
    const volatile UsbEvents& events = usb_.device.events();
    if (resets_ != events.resets) {
      resets_ = events.resets;
      print("usb: reset\n");
    }
    if (configurations_ != events.configurations) {
      configurations_ = events.configurations;
      print(usb_.device.high_speed() ? "usb: configured, 480 Mbit/s\n"
                                     : "usb: configured, 12 Mbit/s\n");
    }
    if (detaches_ != events.detaches) {
      detaches_ = events.detaches;
      print("usb: detached\n");
    }
    const uint32_t revived = usb_.in.revived() + usb_.out.revived();
    if (revived_ != revived || failures_ != usb_.out.failures()) {
      revived_ = revived;
      failures_ = usb_.out.failures();
      print("usb: transfers primed again ");
      print_decimal(revived_);
      print(", failed ");
      print_decimal(failures_);
      print_char('\n');
    }
  }

 private:
  UsbSerial usb_;
  uint32_t resets_ = 0;
  uint32_t configurations_ = 0;
  uint32_t detaches_ = 0;
  uint32_t revived_ = 0;
  uint32_t failures_ = 0;
};

void enter_boot_loader() {
  const uint32_t start_ms = milliseconds();
  while (milliseconds() - start_ms <= kBootLoaderDelayMs) wait_for_interrupt();
  __asm__ volatile("bkpt #251");
}

}  // namespace

void run_program() {
  print("Millrace USB stream on i.MX RT1062\n");
  UsbSerial usb = start_usb_serial();
  firmware::StreamDeviceOptions options;
  options.sampler = &make_sampler(nullptr);
  static firmware::StreamDevice device(usb.port, options);
  EventLog log(usb);
  while (true) {
    log.print_new();
    if (usb.port.take_link_lost()) device.link_lost();
    if (usb.line.baud() == kBootLoaderBaud) enter_boot_loader();
    device.poll();
  }
}

}  // namespace millrace::rt1062
