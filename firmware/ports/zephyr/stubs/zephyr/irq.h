// SPDX-License-Identifier: Apache-2.0
// See device.h.
#pragma once

#include <stdint.h>

#define IRQ_ZERO_LATENCY 1u
// Zephyr makes an entry of the vector table of it at build.
#define IRQ_DIRECT_CONNECT(irq, priority, handler, flags) \
  stub_irq_direct_connect(irq, priority, handler, flags)

extern "C" {
void stub_irq_direct_connect(unsigned irq, unsigned priority, void (*handler)(void),
                             uint32_t flags);
void irq_enable(unsigned irq);
void irq_disable(unsigned irq);
}
