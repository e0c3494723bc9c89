// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "usb_decode.h"

namespace millrace::capture {

DecodeStatus decode_usbmon(const CaptureRecord& record, UrbEvent* event) {
  const bool is_long = record.link_type == kLinkUsbmon64;
  const size_t header = is_long ? 64 : 48;
  if (record.size < header) return DecodeStatus::too_short;
  const ByteOrder order{record.is_big_endian};
  const uint8_t* p = record.data;
  switch (p[8]) {
    case 'S':
      event->type = UrbEventType::submission;
      break;
    case 'C':
      event->type = UrbEventType::completion;
      break;
    case 'E':
      event->type = UrbEventType::refusal;
      break;
    default:
      return DecodeStatus::bad_value;
  }
  if (p[9] > 3 || (p[10] & 0x70) != 0) return DecodeStatus::bad_value;
  event->id = order.u64(p);
  event->transfer = static_cast<TransferType>(p[9]);
  event->endpoint = p[10];
  event->device = p[11];
  event->bus = order.u16(p + 12);
  event->time_ns = record.has_time ? record.time_ns
                                   : static_cast<int64_t>(order.u64(p + 16) * 1'000'000'000 +
                                                          uint64_t{order.u32(p + 24)} * 1000);
  event->status = static_cast<int32_t>(order.u32(p + 28));
  event->length = order.u32(p + 32);
  event->length_known = true;
  event->may_be_unmatched = false;
  event->may_lack_half = false;
  event->has_setup = p[14] == 0 && event->type == UrbEventType::submission &&
                     event->transfer == TransferType::control;
  if (event->has_setup) std::copy(p + 40, p + 48, event->setup.begin());
  // Isochronous descriptors, 16 bytes each, stand between header and data. The short header has
  // their number among the iso fields, the long one a field of its own.
  size_t descriptors = 0;
  if (is_long) {
    descriptors = order.u32(p + 60);
  } else if (event->transfer == TransferType::isochronous) {
    descriptors = order.u32(p + 44);
  }
  const size_t rest = record.size - header;
  const size_t before = static_cast<size_t>(std::min<uint64_t>(uint64_t{descriptors} * 16, rest));
  event->data = p + header + before;
  event->size = std::min<size_t>(rest - before, event->length);
  event->data_was_expected = p[15] == 0;
  return DecodeStatus::event;
}

}  // namespace millrace::capture
