// SPDX-License-Identifier: Apache-2.0
// See device.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <zephyr/device.h>

struct k_sem {
  unsigned count, limit;
};
struct k_timeout_t {
  int64_t us;
};
#define K_USEC(us) (k_timeout_t{us})

extern "C" {
int k_sem_init(struct k_sem* sem, unsigned initial, unsigned limit);
void k_sem_give(struct k_sem* sem);
int k_sem_take(struct k_sem* sem, k_timeout_t timeout);
int64_t k_uptime_ticks(void);
uint64_t k_ticks_to_us_floor64(uint64_t ticks);
uint32_t k_cycle_get_32(void);
int sys_clock_hw_cycles_per_sec(void);
}
