// SPDX-License-Identifier: Apache-2.0
// Headers before a URB's data, as the link types have them.
#pragma once

#include "byte_order.h"
#include "millrace/capture/capture_reader.h"
#include "millrace/capture/urb_event.h"

namespace millrace::capture {

// Link types 189 (48 bytes) and 220 (64 bytes): Linux' Documentation/usb/usbmon.rst.
DecodeStatus decode_usbmon(const CaptureRecord& record, UrbEvent* event);
// Link type 249: USBPcap's USBPCAP_BUFFER_PACKET_HEADER, always little-endian.
DecodeStatus decode_usbpcap(const CaptureRecord& record, UrbEvent* event);

}  // namespace millrace::capture
