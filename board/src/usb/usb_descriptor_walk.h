// SPDX-License-Identifier: Apache-2.0
// Numbers of USB 2.0 table 9-5 and CDC 1.2 table 25, and the walk over a chain of descriptors.
#pragma once

#include <cstdint>
#include <span>

#include "usb/usb_descriptors.h"

namespace millrace::board {

namespace usb_descriptor {
inline constexpr uint8_t kDevice = 1, kConfiguration = 2, kString = 3, kInterface = 4,
                         kEndpoint = 5, kDeviceQualifier = 6, kAssociation = 11,
                         kClassInterface = 0x24;
}
namespace usb_class {
inline constexpr uint8_t kCommunications = 2, kCdcData = 0x0A, kMiscellaneous = 0xEF;
}
namespace cdc {
inline constexpr uint8_t kHeader = 0, kCallManagement = 1, kAbstractControl = 2, kUnion = 6,
                         kEthernet = 0x0F, kNcm = 0x1A;
inline constexpr uint8_t kAcm = 2, kEcm = 6, kNetworkControl = 0x0D;  // bInterfaceSubClass
inline constexpr uint8_t kNtbProtocol = 1;  // bInterfaceProtocol of NCM's data interface
}  // namespace cdc

// for (DescriptorWalk walk(bytes); walk.next();) use(walk.descriptor());
class DescriptorWalk {
 public:
  explicit DescriptorWalk(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  // False at the end, and at a descriptor that is shorter than 2 bytes or longer than the rest.
  bool next() {
    offset_ = end_;
    const size_t rest = bytes_.size() - offset_;
    if (rest < 2 || bytes_[offset_] < 2 || bytes_[offset_] > rest) return false;
    end_ = offset_ + bytes_[offset_];
    return true;
  }
  std::span<const uint8_t> descriptor() const { return bytes_.subspan(offset_, end_ - offset_); }
  size_t offset() const { return offset_; }  // after false: where it stopped

 private:
  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
  size_t end_ = 0;
};

UsbEndpointInfo read_endpoint(std::span<const uint8_t> descriptor);  // REQUIRES: 7 bytes

}  // namespace millrace::board
