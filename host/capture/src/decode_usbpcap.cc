// SPDX-License-Identifier: Apache-2.0
// USBPcap writes an IRP twice: on its way down to the bus driver and on its way up. A control
// transfer has a stage: its setup (with the data of an OUT in newer versions), data (older
// versions), status (older), complete. There are no submissions of IN with a length.
#include <algorithm>

#include "usb_decode.h"

namespace millrace::capture {
namespace {

constexpr size_t kUsbpcapHeaderBytes = 27;
constexpr uint8_t kSetup = 0, kData = 1, kStatus = 2;

// USBD_STATUS of Windows as the errno that Linux has for the same end.
int32_t errno_of(uint32_t status) {
  switch (status) {
    case 0:
      return 0;
    case 0xc0000004:  // STALL_PID
    case 0xc0000030:  // ENDPOINT_HALTED
      return -32;     // EPIPE
    case 0xc0000005:  // DEV_NOT_RESPONDING
    case 0xc0000011:  // XACT_ERROR
    case 0xc0000001:  // CRC
      return -71;     // EPROTO
    case 0xc000000c:  // BUFFER_OVERRUN
    case 0xc0000012:  // BABBLE_DETECTED
      return -75;     // EOVERFLOW
    case 0xc0010000:  // CANCELED
      return -104;    // ECONNRESET
    case 0xc0007000:  // DEVICE_GONE
      return -108;    // ESHUTDOWN
    default:
      return (status & 0xc0000000) == 0 ? 0 : -5;  // EIO; pending is no error
  }
}

}  // namespace

DecodeStatus decode_usbpcap(const CaptureRecord& record, UrbEvent* event) {
  if (record.size < kUsbpcapHeaderBytes) return DecodeStatus::too_short;
  const uint8_t* p = record.data;
  const size_t header = kLittle.u16(p);
  if (header < kUsbpcapHeaderBytes || header > record.size) return DecodeStatus::too_short;
  const uint8_t transfer = p[22];
  if (transfer > 3) return DecodeStatus::not_an_urb;  // 0xfe: IRP information, 0xff: unknown
  if ((p[21] & 0x70) != 0) return DecodeStatus::bad_value;
  const bool is_up = (p[16] & 1) != 0;
  event->type = is_up ? UrbEventType::completion : UrbEventType::submission;
  event->id = kLittle.u64(p + 2);
  event->status = is_up ? errno_of(kLittle.u32(p + 10)) : 0;
  event->bus = kLittle.u16(p + 17);
  event->device = kLittle.u16(p + 19);
  event->endpoint = p[21];
  event->transfer = static_cast<TransferType>(transfer);
  event->length = kLittle.u32(p + 23);
  event->data = p + header;
  event->size = std::min<size_t>(record.size - header, event->length);
  event->has_setup = false;
  event->may_be_unmatched = false;
  event->may_lack_half = true;
  event->time_ns = record.time_ns;
  if (event->transfer == TransferType::control) {
    if (header < kUsbpcapHeaderBytes + 1) return DecodeStatus::bad_value;
    const uint8_t stage = p[27];
    if (stage == kSetup) {
      if (event->size < 8) return DecodeStatus::too_short;
      event->has_setup = true;
      std::copy(event->data, event->data + 8, event->setup.begin());
      event->data += 8;
      event->size -= 8;
      event->endpoint = static_cast<uint8_t>((p[21] & 0x0f) | (event->setup[0] & 0x80));
      event->length = kLittle.u16(&event->setup[6]);
    } else if (stage == kData && !is_up) {
      return DecodeStatus::not_an_urb;  // OUT data of a request that was submitted already
    } else if (stage == kStatus) {
      event->may_be_unmatched = true;
    }
  }
  // The length of an OUT is told on its way down, that of an IN on its way up.
  event->length_known = event->has_setup || is_up == is_in(event->endpoint);
  event->data_was_expected = !event->has_setup ? event->length_known : !is_in(event->endpoint);
  return DecodeStatus::event;
}

}  // namespace millrace::capture
