// SPDX-License-Identifier: Apache-2.0
// The port contract: all that portable device code (firmware/app) needs of a chip, a core or an
// RTOS. One object a serial function; a port implements it in its own folder under ports/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::firmware {

struct PortInfo {
  const char* board = "";        // at most 24 characters; shown to the user
  uint32_t usb_speed_mbit = 0;   // 480, 12, or 0 when the port is not USB
  uint32_t tx_buffer_bytes = 0;  // between write() and the bus
  uint32_t rx_buffer_bytes = 0;
  uint32_t boot_counter = 0;  // one more after every reset; 0: the board cannot tell
};

// All calls come from one thread or loop, never from an interrupt.
class Port {
 public:
  // Hands bytes to the USB stack and returns how many it took, 0..size: less than `size` means
  // that the link does not keep up. A port should take what fits and return at once, so that
  // commands are heard and the time blocked is measured; one whose stack cannot tell how much fits
  // may block as long as the stack does (120 ms in the Teensyduino core). Callers must look at the
  // result. Taken bytes are copied: `data` is free afterwards.
  virtual size_t write(const uint8_t* data, size_t size) = 0;
  // Takes what has been received, 0..size bytes. Never blocks.
  virtual size_t read(uint8_t* data, size_t size) = 0;
  // Ends the USB transfer: what was written goes out now, as a short packet if it must. For ends
  // of messages only; within a stream it costs bandwidth.
  virtual void flush() = 0;
  // Free running, wraps at 2^32.
  virtual uint32_t now_us() = 0;
  // Differs from call to call and from boot to boot as well as the board can.
  virtual uint32_t entropy() = 0;
  // Called when there is nothing to do: a port may sleep until data arrives, or until write() can
  // go on if the last one took less than it was offered, at most `max_us`.
  virtual void idle(uint32_t max_us) = 0;
  virtual PortInfo info() = 0;

 protected:
  ~Port() = default;
};

}  // namespace millrace::firmware
