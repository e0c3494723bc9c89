// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/template/template_port.h"

#include "firmware/app/stream_device.h"

namespace millrace::firmware {

// Ask the stack how much room there is, hand over at most that much, and return what it took. If
// the stack cannot tell, hand over everything and return its result. Do not loop here until all is
// taken: the application counts and retries.
size_t TemplatePort::write(const uint8_t*, size_t) { return 0; }

// Take what the stack has received, at most `size` bytes, without waiting.
size_t TemplatePort::read(uint8_t*, size_t) { return 0; }

// End the USB transfer. A stack whose transfers end by themselves when it has nothing more to send
// needs nothing here. A message whose length is a multiple of the packet size needs a zero-length
// packet, or it stays in the host's driver.
void TemplatePort::flush() {}

// A free running microsecond counter that wraps at 2^32. Divide a cycle counter here.
uint32_t TemplatePort::now_us() { return 0; }

// A hardware random number, or a cycle counter mixed with a serial number and a boot counter.
uint32_t TemplatePort::entropy() { return 0; }

// With an RTOS: wait for received data or free buffers, at most `max_us`. Bare metal: return.
void TemplatePort::idle(uint32_t) {}

PortInfo TemplatePort::info() {
  PortInfo info;
  info.board = "template";
  // The speed negotiated, not the fastest that the chip can do.
  info.usb_speed_mbit = 0;
  info.tx_buffer_bytes = 0;
  info.rx_buffer_bytes = 0;
  // From memory that survives a reset: a retained register or a .noinit variable behind a magic
  // number. It tells a replugged cable from a crash.
  info.boot_counter = 0;
  return info;
}

void run_template_device() {
  static TemplatePort port;
  static StreamDevice device(port, StreamDeviceOptions());
  // When the stack reports that the host is gone (USB deconfigured), call device.link_lost().
  while (true) device.poll();
}

}  // namespace millrace::firmware
