// SPDX-License-Identifier: Apache-2.0
// A UART of Zephyr in memory: two fifos, an interrupt that runs where the driver would run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <zephyr/drivers/uart.h>

struct device {
  // Runs the interrupt as long as it is due: bytes came and its receive interrupt is on, or the
  // fifo to the host has room and its transmit interrupt is on.
  void run();
  // What the host sends; what it takes. The host's buffer is bytes that nobody asked for yet.
  void host_sends(const std::string& bytes) {
    in += bytes;
    run();
  }
  std::string host_takes(size_t most = ~size_t{0}) {
    if (most > out.size()) most = out.size();
    const std::string taken = out.substr(0, most);
    out.erase(0, most);
    run();
    return taken;
  }

  std::string in, out;
  size_t fifo_bytes = 512;  // of the fifo to the host
  size_t piece = 64;        // most that a call reads or fills
  bool ready = true;
  int callback_error = 0;
  bool rx_on = false, tx_on = false, in_interrupt = false;
  uart_irq_callback_user_data_t callback = nullptr;
  void* user_data = nullptr;
  int64_t ticks = 0;  // of 100 us
};

// The clock and the semaphores of the stubs belong to this one.
extern struct device* fake_uart;
