// SPDX-License-Identifier: Apache-2.0
// A transfer from its submission to its end: what URB events and bus packets alike come to.
#pragma once

#include <array>
#include <cstdint>

#include "millrace/capture/urb_event.h"

namespace millrace::capture {

// A device by its address; bus 0 where the capture does not tell.
using DeviceKey = uint32_t;
inline DeviceKey device_key(uint16_t bus, uint16_t device) { return uint32_t{bus} << 16 | device; }
inline uint16_t bus_of(DeviceKey key) { return static_cast<uint16_t>(key >> 16); }
inline uint16_t address_of(DeviceKey key) { return static_cast<uint16_t>(key); }

struct Transfer {
  DeviceKey device = 0;
  uint8_t endpoint = 0;
  TransferType type = TransferType::bulk;
  bool has_submission =
      false;  // false: it was submitted before the capture began, or that was lost
  bool asked_known = false;
  int64_t submit_ns = 0;  // of packets: begin of the first transaction that carried data
  int64_t end_ns = 0;     // of packets: begin of the last handshake
  int32_t status = 0;
  uint32_t asked = 0;   // bytes
  uint32_t actual = 0;  // bytes
  bool has_setup = false;
  std::array<uint8_t, 8> setup{};
  const uint8_t* data = nullptr;  // until the call returns
  size_t size = 0;                // below `actual`: the rest was not captured
  uint32_t packets = 0;           // on the bus; 0: not known
};

// Why a submission has no completion.
enum class Abandoned : uint8_t {
  refused,  // by the host controller
  lost,     // dropped by what captured: whatever else happened then may be missing too
  unknown,  // the capturing program need not write it
};

class TransferSink {
 public:
  virtual ~TransferSink() = default;
  virtual void submitted(DeviceKey device, uint8_t endpoint, TransferType type, int64_t time_ns,
                         uint32_t asked, bool asked_known) = 0;
  virtual void completed(const Transfer& transfer) = 0;
  // `asked` as at its submission; 0: not known.
  virtual void abandoned(DeviceKey device, uint8_t endpoint, int64_t time_ns, uint32_t asked,
                         Abandoned why) = 0;
  // A submission of this device is missing in the capture, and whatever else was dropped then.
  virtual void lost(DeviceKey device) = 0;
};

}  // namespace millrace::capture
