// SPDX-License-Identifier: Apache-2.0
// See ../device.h.
#pragma once

#include <stdint.h>

extern "C" uint32_t sys_rand32_get(void);
