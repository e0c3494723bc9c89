// SPDX-License-Identifier: Apache-2.0
#pragma once

// Makes the board a USB network adapter of the class that the devicetree has. 0, or a negative
// errno, said on the console. Once.
int usb_network_start(void);
