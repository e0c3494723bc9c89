// SPDX-License-Identifier: Apache-2.0
#include "MillraceStream.h"

#include <Arduino.h>

void MillraceStream::begin() { port_.count_boot(); }

void MillraceStream::poll() {
  const bool configured = usb_configuration != 0;
  if (configured_ && !configured) device_.link_lost();
  configured_ = configured;
  device_.poll();
}
