// SPDX-License-Identifier: Apache-2.0
// Two rings between the thread and the driver's interrupt (of USB: its work queue).
//
// A driver's fifo is filled in the interrupt only, so a host that does not read stops it, the ring
// fills up, and write() takes less: that is how the application sees a stall. When the receiving
// ring is full the receive interrupt goes off instead of throwing bytes away: over USB the host is
// told to wait, over wires RTS does it if there is one.
//
// Time is Zephyr's uptime, so its resolution is a tick (CONFIG_SYS_CLOCK_TICKS_PER_SEC; 100 us by
// default on boards without a slow timer). The cycle counter would be finer, but wraps after 7 s at
// 600 MHz, and nobody promises to ask that often.
#include "firmware/ports/zephyr/uart_port.h"

#include <errno.h>
#include <string.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/random/random.h>

namespace millrace::firmware {

UartPort::UartPort(const UartPortOptions& options)
    : options_(options),
      tx_(options.tx_memory, options.tx_bytes),
      rx_(options.rx_memory, options.rx_bytes) {
  k_sem_init(&event_, 0, 1);
}

int UartPort::start() {
  if (options_.uart == nullptr || !device_is_ready(options_.uart)) return -ENODEV;
  const int error = uart_irq_callback_user_data_set(options_.uart, on_interrupt, this);
  if (error != 0) return error;
  uart_irq_rx_enable(options_.uart);
  return 0;
}

void UartPort::on_interrupt(const struct device* uart, void* port) {
  UartPort& self = *static_cast<UartPort*>(port);
  uart_irq_update(uart);
  while (uart_irq_is_pending(uart) > 0) {
    if (uart_irq_rx_ready(uart) > 0) self.receive();
    if (uart_irq_tx_ready(uart) > 0) self.send();
    uart_irq_update(uart);
  }
  k_sem_give(&self.event_);
}

void UartPort::receive() {
  uint32_t room;
  uint8_t* const to = rx_.room(&room);
  if (room == 0) {
    uart_irq_rx_disable(options_.uart);
    __atomic_store_n(&rx_stopped_, true, __ATOMIC_RELEASE);
    return;
  }
  const int got = uart_fifo_read(options_.uart, to, static_cast<int>(room));
  if (got > 0) rx_.put(static_cast<uint32_t>(got));
}

void UartPort::send() {
  if (__atomic_exchange_n(&forget_tx_, false, __ATOMIC_ACQ_REL)) tx_.clear();
  uint32_t bytes;
  const uint8_t* const from = tx_.peek(&bytes);
  if (bytes == 0) {
    uart_irq_tx_disable(options_.uart);
    return;
  }
  const int sent = uart_fifo_fill(options_.uart, from, static_cast<int>(bytes));
  if (sent > 0) tx_.take(static_cast<uint32_t>(sent));
}

bool UartPort::take_link_lost() {
  if (!__atomic_exchange_n(&link_lost_, false, __ATOMIC_ACQ_REL)) return false;
  // The interrupt reads tx_: it has to clear it.
  __atomic_store_n(&forget_tx_, true, __ATOMIC_RELEASE);
  uart_irq_tx_enable(options_.uart);
  rx_.clear();
  if (__atomic_exchange_n(&rx_stopped_, false, __ATOMIC_ACQ_REL)) uart_irq_rx_enable(options_.uart);
  return true;
}

size_t UartPort::write(const uint8_t* data, size_t size) {
  size_t taken = 0;
  // Two pieces at most: up to the end of the ring, and from its beginning.
  for (int piece = 0; piece < 2 && taken < size; ++piece) {
    uint32_t room;
    uint8_t* const to = tx_.room(&room);
    const size_t bytes = size - taken < room ? size - taken : room;
    memcpy(to, data + taken, bytes);
    tx_.put(static_cast<uint32_t>(bytes));
    taken += bytes;
  }
  if (taken > 0) uart_irq_tx_enable(options_.uart);
  return taken;
}

size_t UartPort::read(uint8_t* data, size_t size) {
  size_t taken = 0;
  for (int piece = 0; piece < 2 && taken < size; ++piece) {
    uint32_t there;
    const uint8_t* const from = rx_.peek(&there);
    const size_t bytes = size - taken < there ? size - taken : there;
    memcpy(data + taken, from, bytes);
    rx_.take(static_cast<uint32_t>(bytes));
    taken += bytes;
  }
  if (taken > 0 && __atomic_exchange_n(&rx_stopped_, false, __ATOMIC_ACQ_REL)) {
    uart_irq_rx_enable(options_.uart);
  }
  return taken;
}

// Zephyr's CDC-ACM ends a transfer by itself when its fifo runs dry.
void UartPort::flush() { uart_irq_tx_enable(options_.uart); }

uint32_t UartPort::now_us() {
  return static_cast<uint32_t>(k_ticks_to_us_floor64(static_cast<uint64_t>(k_uptime_ticks())));
}

uint32_t UartPort::entropy() { return sys_rand32_get() ^ (k_cycle_get_32() * 0x9e3779b1u); }

void UartPort::idle(uint32_t max_us) { k_sem_take(&event_, K_USEC(max_us)); }

PortInfo UartPort::info() {
  PortInfo info;
  info.board = options_.board;
  info.usb_speed_mbit = options_.usb_speed_mbit;
  info.tx_buffer_bytes = options_.tx_bytes - 1;
  info.rx_buffer_bytes = options_.rx_bytes - 1;
  return info;
}

}  // namespace millrace::firmware
