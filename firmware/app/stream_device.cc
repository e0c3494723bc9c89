// SPDX-License-Identifier: Apache-2.0
#include "firmware/app/stream_device.h"
