// SPDX-License-Identifier: Apache-2.0
// Any bytes as descriptors. The first byte chooses speed and kind, the rest is the descriptor.
#include <cstdint>
#include <cstdlib>

#include "usb/usb_descriptors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace millrace::board;
  if (size == 0) return 0;
  const UsbSpeed speed = (data[0] & 1) != 0 ? UsbSpeed::high : UsbSpeed::full;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  UsbFindings findings;
  UsbDeviceDescriptor device;
  const bool is_device = parse_device_descriptor(bytes, &device);
  check_device_descriptor(bytes, speed, &findings);
  if (!is_device && findings.empty()) std::abort();
  check_device_qualifier(bytes, bytes, &findings);
  check_configuration(bytes, device, speed, &findings);
  check_string_descriptor(data[0] >> 1, bytes, &findings);
  if (findings.size() > kMaxFindings) std::abort();
  for (const std::string& finding : findings) {
    for (const char c : finding) {
      if (c < ' ' || c > '~') std::abort();
    }
  }
  for (const UsbInterfaceInfo& interface : parse_configuration(bytes).interfaces) {
    if (interface.endpoints.size() > 64) std::abort();
  }
  for (const char c : parse_string_descriptor(bytes)) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) std::abort();
  }
  return 0;
}
