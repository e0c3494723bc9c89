// SPDX-License-Identifier: Apache-2.0
// Port over a UART of Zephyr with an interrupt-driven API: USB CDC-ACM, or a real one.
#pragma once

#include <zephyr/device.h>
#include <zephyr/kernel.h>

#include "firmware/port/port.h"
#include "firmware/ports/zephyr/byte_ring.h"

namespace millrace::firmware {

struct UartPortOptions {
  const struct device* uart = nullptr;
  uint8_t* tx_memory = nullptr;  // between write() and the interrupt; lives as long as the port
  uint32_t tx_bytes = 0;         // 2 or more, like rx_bytes
  uint8_t* rx_memory = nullptr;
  uint32_t rx_bytes = 0;
  const char* board = "";       // at most 24 characters; CONFIG_BOARD
  uint32_t usb_speed_mbit = 0;  // 480 or 12 behind USB, else 0
};

// One thread uses it; its interrupt does the rest.
class UartPort final : public Port {
 public:
  explicit UartPort(const UartPortOptions& options);
  UartPort(const UartPort&) = delete;
  UartPort& operator=(const UartPort&) = delete;

  // Once, before anything else. 0, or a negative errno: -ENODEV, the device is not ready; -ENOSYS
  // or -ENOTSUP, its driver has no interrupt-driven API.
  int start();

  // From any context: the cable was pulled, the bus was reset.
  void set_link_lost() { __atomic_store_n(&link_lost_, true, __ATOMIC_RELEASE); }
  // From the thread of the port: whether that happened since the last call. What was written and
  // has not left, and what was received, is forgotten then; LinkDevice::link_lost() comes next.
  bool take_link_lost();

  size_t write(const uint8_t* data, size_t size) override;
  size_t read(uint8_t* data, size_t size) override;
  void flush() override;
  uint32_t now_us() override;
  uint32_t entropy() override;
  void idle(uint32_t max_us) override;
  PortInfo info() override;

 private:
  static void on_interrupt(const struct device* uart, void* port);
  void receive();
  void send();

  UartPortOptions options_;
  ByteRing tx_;
  ByteRing rx_;
  struct k_sem event_;  // something came, or went
  // Only one side sets each: the interrupt to true, the thread to false.
  bool rx_stopped_ = false;
  bool link_lost_ = false;
  bool forget_tx_ = false;
};

}  // namespace millrace::firmware
