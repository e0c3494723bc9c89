// SPDX-License-Identifier: Apache-2.0
// Any firmware and any host: bytes are taken as register writes, contents of the memory with queue
// heads and descriptors, tokens, and time that passes. No crash, no hang, no endless list.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "devices/clocks.h"
#include "usb/usb_otg.h"
#include "usb/usb_otg_registers.h"

namespace {

using namespace millrace::board;  // NOLINT: a fuzz target

constexpr uint32_t kMemory = 0x20000000;
constexpr uint32_t kBytes = 8192;

class Host final : public DeviceHost {
 public:
  void set_interrupt(unsigned irq, bool) override {
    if (irq != 113) std::abort();
  }
  void report_unknown(const Device&, uint32_t, bool) override {}
  bool dma_read(uint32_t address, uint8_t* out, uint32_t size) override {
    if (!inside(address, size)) return false;
    std::memcpy(out, &memory[address - kMemory], size);
    return true;
  }
  bool dma_write(uint32_t address, const uint8_t* in, uint32_t size) override {
    if (!inside(address, size)) return false;
    std::memcpy(&memory[address - kMemory], in, size);
    return true;
  }
  EventQueue& events() override { return queue; }

  EventQueue queue;
  std::array<uint8_t, kBytes> memory{};

 private:
  static bool inside(uint32_t address, uint32_t size) {
    if (size > kBytes) std::abort();
    return address >= kMemory && address - kMemory <= kBytes - size;
  }
};

class Cable final : public UsbHostEnd {
 public:
  void connection_changed(Cycles) override {}
  void endpoint_changed(unsigned endpoint, bool, Cycles) override {
    if (endpoint >= kUsbEndpoints) std::abort();
  }
  void remote_wakeup(Cycles) override {}
};

class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint32_t take(unsigned count) {
    uint32_t value = 0;
    for (unsigned i = 0; i < count && !bytes_.empty(); ++i) {
      value |= uint32_t{bytes_.front()} << 8 * i;
      bytes_ = bytes_.subspan(1);
    }
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
};

// The events of `cycles`; one that comes back at once, again and again, is a hang.
void pass(Host& host, Cycles cycles) {
  const Cycles end = host.queue.now() + cycles;
  for (unsigned runs = 0; host.queue.next() <= end; ++runs) {
    if (runs > 10 * cycles + 1000) std::abort();
    host.queue.advance(std::max(host.queue.now(), host.queue.next()));
    host.queue.run_due();
  }
  host.queue.advance(end);
}

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

void save_and_restore(UsbOtg& otg) {
  Snapshot saved;
  otg.snapshot(saved);
  const std::vector<uint8_t> bytes = saved.take();
  Snapshot restored(bytes);
  otg.snapshot(restored);
  Snapshot again;
  otg.snapshot(again);
  if (!restored.ok() || again.take() != bytes) std::abort();
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
  otg.write(usb::kEndptListAddr, 4, kMemory, 0);
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
        const uint32_t at = input.take(2) % (kBytes / 4) * 4;
        const uint32_t value = input.take(4);
        std::memcpy(&host.memory[at], &value, 4);
        break;
      }
      case 4:
      case 5:
        token(otg, input, now);
        break;
      case 6:
        pass(host, Cycles{1} << (action >> 3) % 15);
        break;
      default:
        if ((action & 0x80) != 0) {
          save_and_restore(otg);
        } else {
          bus_state(otg, input, now);
        }
    }
  }
  return 0;
}
