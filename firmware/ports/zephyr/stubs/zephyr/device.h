// SPDX-License-Identifier: Apache-2.0
// Declares what the Zephyr port uses of Zephyr, so that it compiles without one. Declarations only,
// in Zephyr's names; tests define them.
#pragma once

struct device;

extern "C" bool device_is_ready(const struct device* device);
