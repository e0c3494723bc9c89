// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zephyr/device.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes the board a USB serial port; `on_lost` is called, from any thread, when the host has
// deconfigured it or the cable is gone. 0, or a negative errno. Once.
int usb_serial_start(void (*on_lost)(void));

// The UART of that port.
const struct device* usb_serial_uart(void);

#ifdef __cplusplus
}
#endif
