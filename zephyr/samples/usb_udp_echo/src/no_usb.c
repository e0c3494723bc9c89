// SPDX-License-Identifier: Apache-2.0
// For boards that have another network interface: native_sim.
#include "usb_network.h"

int usb_network_start(void) { return 0; }
