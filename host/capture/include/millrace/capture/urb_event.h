// SPDX-License-Identifier: Apache-2.0
// What happens to a USB request block: it is submitted, and completes or is refused. The form into
// which every link type with URBs is brought.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace::capture {

enum class UrbEventType : uint8_t { submission, completion, refusal };
// As usbmon and USBPcap number them.
enum class TransferType : uint8_t { isochronous = 0, interrupt = 1, control = 2, bulk = 3 };

struct UrbEvent {
  int64_t time_ns = 0;
  uint64_t id = 0;  // of the URB; used again after its completion
  uint16_t bus = 0;
  uint16_t device = 0;
  uint8_t endpoint = 0;  // with the direction in bit 7, for control that of the data
  UrbEventType type = UrbEventType::submission;
  TransferType transfer = TransferType::bulk;
  int32_t status = 0;             // of a completion: 0 or a negative errno of Linux
  bool length_known = true;       // USBPcap does not tell how much an IN asked for
  bool may_be_unmatched = false;  // a stage of a control transfer whose end may be known already
  // USBPcap, in older versions, writes only the half of a transfer that has data.
  bool may_lack_half = false;
  uint32_t length = 0;  // asked for at a submission, transferred at a completion
  bool has_setup = false;
  std::array<uint8_t, 8> setup{};
  const uint8_t* data = nullptr;
  size_t size = 0;
  bool data_was_expected = false;  // data belongs to this event, in full or in part
};

inline bool is_in(uint8_t endpoint) { return (endpoint & 0x80) != 0; }

enum class [[nodiscard]] DecodeStatus : uint8_t{
    event,
    not_an_urb,  // well-formed, nothing for us
    too_short,   // no room for the header
    bad_value,   // a type, transfer or endpoint that does not exist
};

}  // namespace millrace::capture
