// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/zephyr/fake_uart.h"

#include <zephyr/kernel.h>
#include <zephyr/random/random.h>

struct device* fake_uart = nullptr;

namespace {

size_t room_of(const struct device& d) {
  return d.out.size() < d.fifo_bytes ? d.fifo_bytes - d.out.size() : 0;
}
// The API has const devices: their state is elsewhere in Zephyr.
struct device& state(const struct device* d) {
  return *const_cast<struct device*>(d);
}

}  // namespace

void device::run() {
  while (!in_interrupt && callback != nullptr && uart_irq_is_pending(this) > 0) {
    in_interrupt = true;
    callback(this, user_data);
    in_interrupt = false;
  }
}

extern "C" {

bool device_is_ready(const struct device* d) { return d->ready; }

int uart_irq_callback_user_data_set(const struct device* d, uart_irq_callback_user_data_t callback,
                                    void* user_data) {
  if (d->callback_error != 0) return d->callback_error;
  state(d).callback = callback;
  state(d).user_data = user_data;
  return 0;
}
void uart_irq_rx_enable(const struct device* d) {
  state(d).rx_on = true;
  state(d).run();
}
void uart_irq_rx_disable(const struct device* d) { state(d).rx_on = false; }
void uart_irq_tx_enable(const struct device* d) {
  state(d).tx_on = true;
  state(d).run();
}
void uart_irq_tx_disable(const struct device* d) { state(d).tx_on = false; }
int uart_irq_update(const struct device*) { return 1; }
int uart_irq_is_pending(const struct device* d) {
  return uart_irq_rx_ready(d) > 0 || uart_irq_tx_ready(d) > 0 ? 1 : 0;
}
int uart_irq_rx_ready(const struct device* d) { return d->rx_on && !d->in.empty() ? 1 : 0; }
int uart_irq_tx_ready(const struct device* d) { return d->tx_on && room_of(*d) > 0 ? 1 : 0; }
int uart_fifo_read(const struct device* d, uint8_t* data, const int size) {
  size_t bytes = static_cast<size_t>(size);
  if (bytes > d->in.size()) bytes = d->in.size();
  if (bytes > d->piece) bytes = d->piece;
  d->in.copy(reinterpret_cast<char*>(data), bytes);
  state(d).in.erase(0, bytes);
  return static_cast<int>(bytes);
}
int uart_fifo_fill(const struct device* d, const uint8_t* data, int size) {
  size_t bytes = static_cast<size_t>(size);
  if (bytes > room_of(*d)) bytes = room_of(*d);
  if (bytes > d->piece) bytes = d->piece;
  state(d).out.append(reinterpret_cast<const char*>(data), bytes);
  return static_cast<int>(bytes);
}

int k_sem_init(struct k_sem* sem, unsigned initial, unsigned limit) {
  *sem = {initial, limit};
  return 0;
}
void k_sem_give(struct k_sem* sem) {
  if (sem->count < sem->limit) ++sem->count;
}
int k_sem_take(struct k_sem* sem, k_timeout_t timeout) {
  if (sem->count > 0) {
    --sem->count;
    return 0;
  }
  fake_uart->ticks += (timeout.us + 99) / 100;
  return -11;
}
int64_t k_uptime_ticks(void) { return fake_uart->ticks; }
uint64_t k_ticks_to_us_floor64(uint64_t ticks) { return ticks * 100; }
uint32_t k_cycle_get_32(void) { return static_cast<uint32_t>(fake_uart->ticks) * 60'000; }
uint32_t sys_rand32_get(void) { return 0x12345678; }

}  // extern "C"
