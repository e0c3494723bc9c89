// SPDX-License-Identifier: Apache-2.0
// Any firmware and any host: bytes are taken as register writes, contents of the memory with queue
// heads and descriptors, tokens, and time that passes. No crash, no hang, no endless list.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "devices/clocks.h"
#include "usb/testing/usb_otg_fuzzing.h"
#include "usb/usb_otg.h"
#include "usb/usb_otg_registers.h"

namespace {

using namespace millrace::board;  // NOLINT: a fuzz target

constexpr uint32_t kBytes = 8192;

using Host = testing::FuzzedChip<kBytes>;
using Input = testing::FuzzInput;

class Cable final : public UsbHostEnd {
 public:
  void connection_changed(Cycles) override {}
  void endpoint_changed(unsigned endpoint, bool, Cycles) override {
    if (endpoint >= kUsbEndpoints) std::abort();
  }
  void remote_wakeup(Cycles) override {}
};

void token(UsbOtg& otg, Input& input, Cycles now) {
  static InPacket packet;
  const uint32_t kind = input.take(1);
  const unsigned endpoint = kind >> 4;  // also some that do not exist
  std::array<uint8_t, 1100> data{};
  switch (kind & 7) {
    case 0:
      data[0] = static_cast<uint8_t>(input.take(1));
      otg.setup(0, endpoint, std::span<const uint8_t, 8>(data.data(), 8), now);
      break;
    case 1:
      otg.out(0, endpoint, (kind & 8) != 0,
              std::span<const uint8_t>(data.data(), input.take(2) % data.size()), now);
      break;
    case 2:
      otg.ping(0, endpoint, now);
      break;
    case 3:
      otg.in_done(endpoint, (kind & 8) != 0, now);
      break;
    default:
      otg.in(0, endpoint, &packet, now);
      if (packet.size > kUsbMaxPacket) std::abort();
      if (packet.handshake == Handshake::ack && (kind & 8) != 0) otg.in_done(endpoint, true, now);
  }
  otg.ready_at(endpoint, (kind & 8) != 0, now);
}

void bus_state(UsbOtg& otg, Input& input, Cycles now) {
  const uint32_t what = input.take(1);
  switch (what & 7) {
    case 0:
      return otg.reset_begin(now);
    case 1:
      otg.reset_end((what & 8) != 0 ? UsbSpeed::full : UsbSpeed::high, now);
      return;
    case 2:
      return otg.suspend(now);
    case 3:
      return otg.resume(now);
    case 4:
      return otg.attach(now);
    case 5:
      return otg.detach(now);
    default:
      return otg.start_of_frame(input.take(2), now);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  Host host;
  Clocks clocks;
  const Timing timing;
  UsbPhy phy(host, 1);
  UsbOtg otg(host, clocks, timing, phy, 1);
  Cable cable;
  otg.set_host(&cable);
  // A running controller on a high-speed bus, so that the input need not find the way there.
  phy.write(0x38, 4, 0xC0000000, 0);
  phy.write(0x00, 4, 0, 0);
  otg.write(usb::kUsbMode, 4, usb::kCmDevice | usb::kSlom, 0);
  otg.write(usb::kEndptListAddr, 4, Host::kMemory, 0);
  otg.write(usb::kUsbCmd, 4, usb::kRs, 0);
  otg.attach(0);
  otg.reset_begin(0);
  otg.reset_end(UsbSpeed::high, 0);

  Input input({bytes, size});
  for (unsigned step = 0; step < 4096 && !input.empty(); ++step) {
    const Cycles now = host.queue.now();
    const uint32_t action = input.take(1);
    switch (action & 7) {
      case 0:
      case 1: {
        const unsigned width = 1u << (action >> 3) % 3;
        const uint32_t offset = input.take(2) % UsbOtg::kSize & ~(width - 1);
        otg.write(offset, width, input.take(width), now);
        break;
      }
      case 2: {
        const unsigned width = 1u << (action >> 3) % 3;
        otg.read(input.take(2) % UsbOtg::kSize & ~(width - 1), width, now);
        break;
      }
      case 3: {
        const uint32_t at = Host::kMemory + input.take(2) % (kBytes / 4) * 4;
        host.set_word(at, input.take(4));
        break;
      }
      case 4:
      case 5:
        token(otg, input, now);
        break;
      case 6:
        host.pass(Cycles{1} << (action >> 3) % 15);
        break;
      default:
        if ((action & 0x80) != 0) {
          testing::require_saved_and_restored(otg);
        } else {
          bus_state(otg, input, now);
        }
    }
  }
  return 0;
}
