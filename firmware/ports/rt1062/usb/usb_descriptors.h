// SPDX-License-Identifier: Apache-2.0
// Descriptors of USB 2.0 chapter 9.6, written byte by byte into a buffer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/ports/rt1062/usb/usb_hardware.h"

namespace millrace::rt1062 {

enum class DescriptorType : uint8_t {
  device = 1,
  configuration = 2,
  string = 3,
  interface = 4,
  endpoint = 5,
  device_qualifier = 6,
  other_speed_configuration = 7,
  interface_association = 11,  // ECN "Interface Association Descriptor"
  class_interface = 0x24,      // CDC 1.2, 5.2.3
};

constexpr uint16_t kControlMaxPacket = 64;

// Bytes behind the end of the buffer are counted but not written.
class UsbDescriptorWriter {
 public:
  UsbDescriptorWriter(uint8_t* buffer, size_t size) : buffer_(buffer), room_(size) {}

  void byte(unsigned value) {
    if (size_ < room_) buffer_[size_] = static_cast<uint8_t>(value);
    ++size_;
  }
  void word(unsigned value) {
    byte(value);
    byte(value >> 8);
  }
  void type(DescriptorType value) { byte(static_cast<unsigned>(value)); }

  void interface_association(uint8_t first, uint8_t count, uint8_t class_code, uint8_t subclass,
                             uint8_t protocol);
  void interface(uint8_t number, uint8_t endpoints, uint8_t class_code, uint8_t subclass,
                 uint8_t protocol, uint8_t alternate = 0);
  void endpoint(uint8_t address, EndpointType type, uint16_t max_packet, uint8_t interval);

  size_t size() const { return size_; }
  bool fits() const { return size_ <= room_; }
  // REQUIRES: at + 2 <= size().
  void set_word(size_t at, size_t value);

 private:
  uint8_t* buffer_;
  size_t room_;
  size_t size_ = 0;
};

// What tells this device from others.
struct UsbIdentity {
  uint16_t vendor_id = 0;
  uint16_t product_id = 0;
  uint16_t device_version = 0;  // BCD
  const char* manufacturer = "";
  const char* product = "";
  char serial_number[11] = {};  // decimal, 0-terminated
  // Strings kFirstMacString and the next: what network functions call the address of the host.
  char mac_addresses[2][13] = {};  // hexadecimal, 0-terminated; "": there is no such string
};

constexpr uint8_t kFirstMacString = 4;

// The Ethernet addresses of a network function, from OCOTP_MAC0 and OCOTP_MAC1. Both ends are made
// of the address of the Teensy's own Ethernet port, as locally administered ones, so that none of
// the three is another's: bit 3 of the first byte is set for the host. `function`: 0 or 1, tells
// two network functions apart by bit 4.
struct NetworkAddresses {
  uint8_t device[6];
  uint8_t host[6];
};
NetworkAddresses network_addresses(uint32_t mac0, uint32_t mac1, unsigned function);
// As iMACAddress wants it (ECM 1.2 table 3): twelve digits, no separators.
void write_mac_text(const uint8_t (&address)[6], char (&text)[13]);

// What an echo device with these functions shows. Its numbers are the ones that pid.codes reserves
// for tests: 1209:0001 plus a bit for each function, since Windows remembers descriptors by number.
UsbIdentity echo_identity(uint32_t mac0, bool ncm, bool ecm, bool serial);

// The device that a Teensy 4.1 with serial only shows. `mac0`: OCOTP_MAC0, whose low 24 bits are
// the Teensy's number. The Teensy core shows numbers below 10,000,000 times ten, for a driver of
// macOS that cuts the last digit off (usb_desc.c of the core).
UsbIdentity teensy_serial_identity(uint32_t mac0);

// Each returns the length of the whole descriptor, written as far as `out` has room.
size_t write_device_descriptor(const UsbIdentity& identity, UsbDescriptorWriter& out);
size_t write_device_qualifier(UsbDescriptorWriter& out);
// `index` 0 is the list of languages: English (United States). 0: there is no such string.
size_t write_string_descriptor(const UsbIdentity& identity, uint8_t index,
                               UsbDescriptorWriter& out);

}  // namespace millrace::rt1062
