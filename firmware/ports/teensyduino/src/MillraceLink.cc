// SPDX-License-Identifier: Apache-2.0
#include "MillraceLink.h"

#include <Arduino.h>

void MillraceLinkBase::poll() {
  const bool configured = usb_configuration != 0;
  if (configured_ && !configured) device_.link_lost();
  configured_ = configured;
  device_.poll();
}
