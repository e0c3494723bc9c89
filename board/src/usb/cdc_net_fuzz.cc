// SPDX-License-Identifier: Apache-2.0
// The network driver, and the IPv4 host on it, against a device of any descriptors, answers and
// data. Byte 0: bit 0 NCM, bit 1 full speed, bits 7..2 how many pairs (offset, value) follow that
// change the configuration descriptor; then 4 bytes that change the NTB parameters, as two such
// pairs; the rest are steps, each an operation, a size and that many bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "millrace/board/net_host.h"
#include "usb/cdc_net_host.h"
#include "usb/testing/fake_net_device.h"

namespace {

using namespace millrace::board;
using millrace::board::testing::Bytes;

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
  profile.net_queue_frames = 50;
  return profile;
}

class Bench {
 public:
  explicit Bench(bool is_ncm) : function(device, is_ncm) {}
  void run(uint64_t us) {
    const Cycles end = events.now() + us * 396;
    while (events.next() <= end) {
      events.advance(events.next());
      events.run_due();
    }
    events.advance(end);
  }
  void step(unsigned operation, std::span<const uint8_t> bytes);

  EventQueue events;
  Clocks clocks;
  testing::FakeUsbDevice device;
  testing::FakeNetFunction function;
  UsbHost usb{events, clocks, device, quick()};
  Nobody nobody;
  UsbEnumerator enumerator{usb, nobody};
  CdcNetHost net{usb, enumerator};
  NetHost host{net};
};

void Bench::step(unsigned operation, std::span<const uint8_t> bytes) {
  const size_t first = bytes.empty() ? 0 : bytes[0];
  switch (operation % 8) {
    case 0:
      device.ins[4].packets.emplace_back(bytes.begin(), bytes.end());
      usb.endpoint_changed(4, true, events.now());
      return;
    case 1:
      device.ins[1].packets.emplace_back(bytes.begin(), bytes.end());
      return;
    case 2:
      net.send(Bytes(first * 7, 0x5A));
      return;
    case 3:
      device.ins[4].stalled = (first & 1) != 0;
      device.outs[3].stalled = (first & 2) != 0;
      usb.endpoint_changed(4, true, events.now());
      usb.endpoint_changed(3, false, events.now());
      return;
    case 4:
      device.strings[testing::kMacString] = Bytes(bytes.begin(), bytes.end());
      usb.unplug();
      run(100);
      usb.plug_in();
      return run(25'000);
    case 5:
      return run(first * 16);
    case 6:
      device.outs[3].room = first;
      return usb.endpoint_changed(3, false, events.now());
    default:
      function.refused = static_cast<unsigned>(first);
      host.ping(0xC0A80701, 1, 1, bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Bench bench((data[0] & 1) != 0);
  std::span<const uint8_t> rest(data + 1, size - 1);
  const auto change = [&rest](Bytes* bytes) {
    if (rest.size() < 2) return;
    (*bytes)[rest[0] % bytes->size()] = rest[1];
    rest = rest.subspan(2);
  };
  for (unsigned i = 0; i < data[0] >> 2u; ++i) change(&bench.device.configuration);
  bench.device.full_speed_configuration = bench.device.configuration;
  uint8_t parameters[millrace::link::NtbParameters::kBytes];
  millrace::link::encode(bench.function.parameters, parameters);
  bench.function.parameter_bytes = Bytes(std::begin(parameters), std::end(parameters));
  for (int i = 0; i < 2; ++i) change(&*bench.function.parameter_bytes);
  bench.usb.set_offered_speed((data[0] & 2) != 0 ? UsbSpeed::full : UsbSpeed::high);
  if (data[0] % 3 == 0)
    bench.host.start_dhcp();
  else
    bench.host.set_address(0xC0A80702, 24);
  bench.usb.plug_in();
  bench.run(25'000);
  while (rest.size() >= 2) {
    const size_t bytes = std::min<size_t>(size_t{rest[1]} * 2, rest.size() - 2);
    bench.step(rest[0], rest.subspan(2, bytes));
    rest = rest.subspan(2 + bytes);
    bench.run(150);
  }
  bench.run(5000);
  const EthernetCounts& c = bench.net.counts();
  if (bench.net.queued() > 50 + 40 || c.frames_in > size + c.bytes_in / 14) std::abort();
  if (bench.net.findings().size() > 100) std::abort();
  if (bench.net.is_configured() && bench.net.info().urbs > 10'000) std::abort();
  return 0;
}
