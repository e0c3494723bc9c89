// SPDX-License-Identifier: Apache-2.0
// Any host at an echo device with both network functions: bytes are taken as requests, tokens,
// resets, NTBs, frames and calls of the main loop, in any order. No crash, no hang, nothing read or
// written outside; and a host that enumerates the device at the end gets its echoes over both.
#include <cstdint>

#include "firmware/app/echo/echo_stack.h"
#include "firmware/app/echo/fake_frame_port.h"
#include "firmware/ports/rt1062/usb/testing/network_rig.h"
#include "firmware/ports/rt1062/usb/testing/usb_fuzzing.h"

namespace {

using namespace millrace::rt1062;  // NOLINT: a fuzz target
namespace firmware = millrace::firmware;
namespace link = millrace::link;
using Bytes = std::vector<uint8_t>;

firmware::NetworkConfig config() {
  firmware::NetworkConfig c;
  std::copy(firmware::kDeviceMac.begin(), firmware::kDeviceMac.end(), c.mac);
  return c;
}

Bytes echo_request(size_t size) { return firmware::udp_frame(50000, 7, Bytes(size, 0x5a)); }

Bytes block_of(const std::vector<Bytes>& frames, uint16_t sequence) {
  Bytes block(NcmLink::kNtbBytes);
  link::Ntb16Writer writer;
  writer.begin(block.data(), block.size(), link::out_limits(NcmLink::parameters()));
  for (const Bytes& frame : frames) writer.append(frame.data(), frame.size());
  block.resize(writer.finish(sequence));
  return block;
}

struct Device : NetworkRig {
  firmware::EchoStack ncm_stack{ncm_link, config()};
  firmware::EchoStack ecm_stack{ecm_link, config()};

  void poll() {
    ncm_stack.poll();
    ecm_stack.poll();
  }
  // As the main loop does before it sleeps.
  void rest() {
    ncm_link.revive();
    ecm_link.revive();
    poll();
  }
};

// A good NTB with so many echoes in it, then one byte of it changed if there is anything to change.
void send_block(Device& device, FuzzInput& input) {
  const size_t count = input.byte() % 8, size = input.byte();
  Bytes block = block_of(std::vector<Bytes>(count, echo_request(size)), input.byte());
  const size_t at = input.byte() * 8u + input.byte() % 8;
  if (at < block.size()) block[at] = input.byte();
  device.send(5, block, NcmLink::kNtbBytes);
}

void step(Device& device, FuzzInput& input) {
  Bytes packet;
  const uint8_t operation = input.byte();
  if (fuzz_bus(device, input, operation % 16)) return;
  switch (operation % 16) {
    case 0:
    case 1:
      return fuzz_request(device, input, false);
    case 2:
      device.chip.in(0, &packet);
      return;
    case 3:
      device.chip.out(0, input.bytes(input.byte() % 65u));
      return;
    case 7:
      device.select(operation / 16 % 4, input.byte() % 3);
      return;
    case 8:
      device.chip.out(5, input.bytes(size_t{input.byte()} * 2));
      return;
    case 9:
      device.chip.out(6, input.bytes(size_t{input.byte()} * 2));
      return;
    case 10:
      return send_block(device, input);
    case 11:
      device.send(6, echo_request(size_t{input.byte()} * 5), SIZE_MAX);
      return;
    case 12:
      for (unsigned i = operation / 16; i < 16; ++i) device.chip.in(6, &packet);
      return;
    case 13:
      for (unsigned i = operation / 16; i < 16; ++i) device.chip.in(1, &packet);
      return;
    case 14:
      return device.rest();
    default:
      return device.poll();
  }
}

// What leaves `endpoint`, until nothing does.
std::vector<Bytes> drain(Device& device, uint32_t endpoint, size_t limit) {
  std::vector<Bytes> transfers;
  for (int i = 0; i < 100; ++i) {
    const std::optional<Bytes> transfer = device.fetch(endpoint, limit);
    if (transfer) {
      transfers.push_back(*transfer);
      continue;
    }
    device.rest();
    if (!device.chip.primed(static_cast<uint8_t>(endpoint | 0x80))) break;
  }
  return transfers;
}

void require_echoes(Device& device) {
  device.packet_bytes = 512;
  require_enumeration(device);
  require(device.select(1, 1) == Handshake::ack && device.select(3, 1) == Handshake::ack);
  device.rest();
  drain(device, 6, NcmLink::kNtbBytes);  // the announcements
  drain(device, 1, SIZE_MAX);
  require(device.send(5, block_of({echo_request(32), echo_request(1472)}, 0), NcmLink::kNtbBytes));
  require(device.send(6, echo_request(470), SIZE_MAX));  // a frame of 512
  device.poll();
  size_t datagrams = 0;
  for (const Bytes& transfer : drain(device, 6, NcmLink::kNtbBytes)) {
    link::Ntb16Reader reader(transfer.data(), transfer.size());
    link::NtbDatagram d;
    while (reader.next(&d) == link::NtbStatus::datagram) ++datagrams;
  }
  require(datagrams == 2);
  const std::vector<Bytes> frames = drain(device, 1, SIZE_MAX);
  require(frames.size() == 1 && frames[0].size() == 512);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Device device;
  require(device.added);
  FuzzInput input(data, size);
  const uint8_t pace = input.byte();
  device.chip.prime_accesses = pace % 8;
  device.chip.close_accesses = pace / 8 % 8;
  device.device.start();
  for (int steps = 0; steps < 300 && !input.empty(); ++steps) step(device, input);
  require_echoes(device);
  require(device.chip.bus_errors == 0);
  return 0;
}
