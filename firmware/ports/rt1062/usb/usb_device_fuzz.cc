// SPDX-License-Identifier: Apache-2.0
// Any host: bytes are taken as requests, tokens, resets and calls of the application, in any order.
// No crash and no hang; what is received is what was sent, from the last loss of the link on; and a
// host that enumerates the device at the end finds it in order.
#include <cstdint>

#include "firmware/ports/rt1062/usb/testing/usb_fuzzing.h"
#include "firmware/ports/rt1062/usb/testing/usb_rig.h"

namespace {

using namespace millrace::rt1062;  // NOLINT: a fuzz target

// Both directions carry UsbRig::pattern(), counted on over losses.
class Traffic {
 public:
  explicit Traffic(UsbRig& rig) : rig_(rig) {}

  void write(size_t size) {
    const Bytes bytes = UsbRig::pattern(size, written_);
    written_ += static_cast<uint32_t>(rig_.port.write(bytes.data(), bytes.size()));
  }
  void token_in() {
    Bytes packet;
    if (rig_.chip.in(4, &packet) != Handshake::ack) return;
    require(packet == UsbRig::pattern(packet.size(), fetched_));
    fetched_ += static_cast<uint32_t>(packet.size());
  }
  void token_out(size_t size) {
    const size_t largest = rig_.device.high_speed() ? 512 : 64;
    if (size > largest) size = largest;
    if (rig_.chip.out(3, UsbRig::pattern(size, sent_)) == Handshake::ack) {
      sent_ += static_cast<uint32_t>(size);
    }
  }
  void read(size_t size) {
    Bytes bytes(size);
    bytes.resize(rig_.port.read(bytes.data(), size));
    require(bytes == UsbRig::pattern(bytes.size(), read_));
    read_ += static_cast<uint32_t>(bytes.size());
  }
  void keep_step() {
    const uint32_t number = rig_.device.session().number;
    const bool lost = rig_.port.take_link_lost();
    if (lost) fetched_ = written_;
    if (number != number_) read_ = sent_;
    number_ = number;
  }

 private:
  UsbRig& rig_;
  uint32_t number_ = 0;
  uint32_t written_ = 0;
  uint32_t fetched_ = 0;
  uint32_t sent_ = 0;
  uint32_t read_ = 0;
};

void step(UsbRig& rig, Traffic& traffic, FuzzInput& input) {
  Bytes packet;
  const uint8_t operation = input.byte();
  if (fuzz_bus(rig, input, operation % 16)) return;
  switch (operation % 16) {
    case 0:
    case 1:
      return fuzz_request(rig, input, true);
    case 2:
      rig.chip.in(0, &packet);
      return;
    case 3:
      rig.chip.out(0, UsbRig::pattern(input.byte() % 65u));
      return;
    case 7:
      rig.control_out(0x21, 0x22, input.byte(), 0);
      return;
    case 8:
      return traffic.write(size_t{input.byte()} * 67);
    case 9:
      rig.port.flush();
      return;
    case 10:
    case 11:
      for (unsigned i = operation / 16; i < 16; ++i) traffic.token_in();
      return;
    case 12:
      return traffic.token_out(size_t{input.byte()} * 3);
    case 13:
      return traffic.read(size_t{input.byte()} * 5);
    case 14:
      UsbRig::now_us += input.byte();
      rig.port.idle(1000);
      return;
    default:
      return traffic.keep_step();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  UsbRig rig;
  require(rig.device_is_added);
  FuzzInput input(data, size);
  const uint8_t pace = input.byte();
  rig.chip.prime_accesses = pace % 8;
  rig.chip.close_accesses = pace / 8 % 8;
  rig.device.start();
  Traffic traffic(rig);
  for (int steps = 0; steps < 1000 && !input.empty(); ++steps) step(rig, traffic, input);

  require_enumeration(rig);
  require(rig.control_in(0x80, 8, 0, 0, 1) == Bytes{1});
  traffic.keep_step();
  traffic.write(1000);
  rig.port.flush();
  traffic.token_in();
  traffic.token_in();
  traffic.token_out(512);
  traffic.read(512);
  require(rig.chip.bus_errors == 0);
  return 0;
}
