// SPDX-License-Identifier: Apache-2.0
// Any bytes from a USB/IP client, against a device that answers. The first byte: bit 0, without the
// handshake; bits 7..1, the size of the pieces in which the rest comes. A client that breaks the
// protocol loses its connection, with URBs at work, and the rest is the next client's.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "usb/testing/fake_usb_device.h"
#include "usb/usb_ip_server.h"

namespace {

using namespace millrace::board;

class Nobody final : public UsbEnumerator::Listener {
 public:
  void device_ready(const UsbDeviceInfo&) override {}
  void device_gone() override {}
  void device_failed(const std::string&) override {}
};

UsbHostProfile quick() {
  UsbHostProfile profile;
  profile.debounce_us = profile.recovery_us = 1;
  profile.reset_us = 3000;
  return profile;
}

class Bench {
 public:
  Bench() {
    usb.plug_in();
    run(30'000);
    device.ins[4].endless = true;
    device.outs[3].room = 20;
  }
  void run(uint64_t us) {
    const Cycles end = events.now() + us * 396;
    while (events.next() <= end) {
      events.advance(events.next());
      events.run_due();
    }
    events.advance(end);
  }

  EventQueue events;
  Clocks clocks;
  testing::FakeUsbDevice device;
  UsbHost usb{events, clocks, device, quick()};
  Nobody nobody;
  UsbEnumerator enumerator{usb, nobody};
  UsbIpServer server{usb, enumerator};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Bench bench;
  if (!bench.enumerator.is_ready()) std::abort();
  if ((data[0] & 1) != 0 && !bench.server.import_without_request()) std::abort();
  const size_t piece = data[0] / 2u + 1u;
  std::span<const uint8_t> rest(data + 1, size - 1);
  while (!rest.empty()) {
    if (!bench.server.problem().empty()) bench.server.disconnect();
    const size_t taken = bench.server.receive(rest.first(std::min(piece, rest.size())));
    rest = rest.subspan(taken);
    bench.run(20);
    if (bench.server.output().size() > UsbIpServer::kMaxOutput + UsbIpServer::kMaxInFlight) {
      std::abort();
    }
    bench.server.consume(bench.server.output().size() / 2 + 1);
  }
  bench.run(200);
  bench.server.disconnect();
  bench.run(1000);
  if (!bench.server.idle()) std::abort();
  return 0;
}
