// SPDX-License-Identifier: Apache-2.0
// The rig for tests: what every test expects of it is checked.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "firmware/ports/rt1062/usb/testing/usb_rig.h"

namespace millrace::rt1062 {

class UsbFixture : public testing::Test, protected UsbRig {
 protected:
  UsbFixture() { EXPECT_TRUE(device_is_added); }
  ~UsbFixture() override { EXPECT_EQ(chip.bus_errors, 0u); }

  void enumerate(bool high_speed = true) { EXPECT_TRUE(UsbRig::enumerate(high_speed)); }
  std::optional<Bytes> control_in(uint8_t type, uint8_t request, uint16_t value, uint16_t index,
                                  uint16_t length) {
    const std::optional<Bytes> data = UsbRig::control_in(type, request, value, index, length);
    EXPECT_EQ(last_answer, data ? Handshake::ack : Handshake::stall);
    return data;
  }
  Bytes descriptor(uint16_t value, uint16_t index = 0) {
    return control_in(0x80, 6, value, index, 1024).value_or(Bytes());
  }
  void set_dtr(bool on) { EXPECT_EQ(control_out(0x21, 0x22, on ? 1 : 0, 0), Handshake::ack); }
};

}  // namespace millrace::rt1062
