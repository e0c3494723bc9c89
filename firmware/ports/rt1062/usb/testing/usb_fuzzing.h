// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of the USB driver share: the input, and what a host does to any device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "firmware/ports/rt1062/usb/testing/fake_usb_chip.h"

namespace millrace::rt1062 {

inline void require(bool is_so) {
  if (!is_so) std::abort();
}

using Bytes = std::vector<uint8_t>;

class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  bool empty() const { return data_ == end_; }
  uint8_t byte() { return empty() ? uint8_t{0} : *data_++; }
  Bytes bytes(size_t size) {
    size = std::min<size_t>(size, static_cast<size_t>(end_ - data_));
    Bytes out(data_, data_ + size);
    data_ += size;
    return out;
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

// Any request, of a type that there is or, with kinds from F0h on and `any_type`, of any.
template <class Rig>
void fuzz_request(Rig& rig, FuzzInput& input, bool any_type) {
  static constexpr uint8_t kTypes[] = {0x00, 0x01, 0x02, 0x21, 0x80, 0x81, 0x82, 0xa1};
  const uint8_t kind = input.byte();
  const uint8_t type = any_type && kind >= 0xf0 ? input.byte() : kTypes[kind % 8];
  const uint8_t code = input.byte();
  const auto value = static_cast<uint16_t>(input.byte() | input.byte() << 8);
  const uint8_t index = input.byte();
  const uint8_t length = input.byte();
  rig.send_setup(type, code, value, index, length);
}

// Actions 4 to 6: reset, suspend or resume, configure. False: another one.
template <class Rig>
bool fuzz_bus(Rig& rig, FuzzInput& input, unsigned action) {
  switch (action) {
    case 4:
      rig.chip.bus_reset(input.byte() % 4 != 0);
      return true;
    case 5:
      rig.chip.suspend(input.byte() % 2 != 0);
      return true;
    case 6:
      rig.control_out(0x00, 9, 1, 0);
      return true;
    default:
      return false;
  }
}

// However the device was treated: a host that comes now gets it to configuration 1.
template <class Rig>
void require_enumeration(Rig& rig) {
  rig.chip.bus_reset(true);
  require(rig.control_out(0x00, 5, 3, 0) == Handshake::ack);
  require(rig.control_out(0x00, 9, 1, 0) == Handshake::ack);
}

}  // namespace millrace::rt1062
