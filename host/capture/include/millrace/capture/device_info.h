// SPDX-License-Identifier: Apache-2.0
// What a device said of itself within the capture, and what its endpoints are for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "millrace/capture/transfer.h"
#include "millrace/link/cdc_network.h"

namespace millrace::capture {

// How Ethernet frames lie in the transfers of an endpoint; none: a stream of bytes.
enum class Framing : uint8_t { unknown, none, ncm, ecm, eem, rndis };
const char* name_of(Framing framing);

struct EndpointInfo {
  bool is_described = false;  // by a configuration descriptor in the capture
  uint8_t interface = 0, interface_class = 0, subclass = 0, protocol = 0;
  TransferType type = TransferType::bulk;
  uint16_t max_packet = 0;  // 0: not known
  Framing framing = Framing::unknown;
  bool framing_is_guess = false;  // from the data, not from a descriptor
};

inline size_t endpoint_index(uint8_t endpoint) {
  return (endpoint & 0x0fu) | (endpoint & 0x80u) >> 3;
}
inline uint8_t endpoint_of(size_t index) {
  return static_cast<uint8_t>((index & 0x0f) | (index & 0x10) << 3);
}

class DeviceInfo {
 public:
  // Takes what a control transfer tells. True: endpoints were described.
  bool take_control(const Transfer& transfer);
  // Finds out the framing of an endpoint without a descriptor from a transfer's data.
  void guess_framing(const Transfer& transfer);

  bool has_descriptor = false;
  uint16_t vid = 0, pid = 0, bcd_usb = 0;
  std::array<EndpointInfo, 32> endpoints;   // by endpoint_index()
  std::optional<link::NtbParameters> ntb;   // as the device answered
  std::optional<uint32_t> ntb_input_bytes;  // as the host then set
  std::string driver;                       // of Linux, by class; empty: no descriptor

 private:
  bool take_configuration(const uint8_t* data, size_t size);
};

}  // namespace millrace::capture
