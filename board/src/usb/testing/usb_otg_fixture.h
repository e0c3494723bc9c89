// SPDX-License-Identifier: Apache-2.0
// A controller with 64 KB of memory for its descriptors, clocks as the Teensy core sets them (600
// cycles a microsecond), and a cable whose host end is the test.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "devices/clocks.h"
#include "usb/usb_otg.h"
#include "usb/usb_otg_registers.h"

namespace millrace::board::testing {

inline constexpr uint32_t kMemory = 0x20000000;
inline constexpr uint32_t kMemoryBytes = 65536;

class UsbTestHost final : public DeviceHost {
 public:
  void set_interrupt(unsigned irq, bool level) override { lines.at(irq) = level; }
  void report_unknown(const Device&, uint32_t offset, bool is_write) override {
    if (unknown.size() < 100) unknown.push_back({offset, is_write});
  }
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
  void run_to(Cycles when) {
    while (queue.next() <= when) {
      queue.advance(queue.next());
      queue.run_due();
    }
    queue.advance(when);
  }

  EventQueue queue;
  std::array<bool, 160> lines{};
  std::vector<std::pair<uint32_t, bool>> unknown;
  std::array<uint8_t, kMemoryBytes> memory{};

 private:
  static bool inside(uint32_t address, uint32_t size) {
    return address >= kMemory && address - kMemory <= kMemoryBytes - size;
  }
};

class UsbTestCable final : public UsbHostEnd {
 public:
  void connection_changed(Cycles) override { log += "connection "; }
  void endpoint_changed(unsigned endpoint, bool in, Cycles) override {
    log += (in ? "in" : "out") + std::to_string(endpoint) + " ";
  }
  void remote_wakeup(Cycles) override { log += "wakeup "; }
  std::string take() { return std::exchange(log, {}); }

  std::string log;
};

class UsbOtgFixture : public ::testing::Test {
 protected:
  static constexpr Cycles kMicrosecond = 600;
  static constexpr uint32_t kList = kMemory;           // queue heads: 0x400 bytes
  static constexpr uint32_t kTds = kMemory + 0x1000;   // descriptors
  static constexpr uint32_t kData = kMemory + 0x2000;  // buffers
  static constexpr uint32_t kIoc = usb::kTokenIoc;
  static constexpr uint32_t kZlt = usb::kQhZlt;  // no zero-length end

  UsbOtgFixture() {
    Clocks::Rates rates = Clocks::kBootRates;
    rates[static_cast<size_t>(Clock::core)] = 600'000'000;
    clocks.set(rates, 0);
    otg.set_host(&cable);
  }

  Cycles now() const { return host.queue.now(); }
  void run(Cycles cycles) { host.run_to(now() + cycles); }
  uint32_t get(uint32_t offset) { return otg.read(offset, 4, now()); }
  void put(uint32_t offset, uint32_t value) { otg.write(offset, 4, value, now()); }
  uint32_t word(uint32_t at) {
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) value |= uint32_t{host.memory[at - kMemory + i]} << 8 * i;
    return value;
  }
  void set_word(uint32_t at, uint32_t value) {
    for (unsigned i = 0; i < 4; ++i) {
      host.memory[at - kMemory + i] = static_cast<uint8_t>(value >> 8 * i);
    }
  }

  // The transceiver on and the controller running, as the Teensy core's usb_init() does it.
  void start_controller() {
    phy.write(0x38, 4, 0xC0000000, now());  // CTRL_CLR: SFTRST, CLKGATE
    phy.write(0x00, 4, 0, now());           // PWD
    put(usb::kUsbMode, usb::kCmDevice | usb::kSlom);
    put(usb::kEndptListAddr, kList);
    queue_head(0, 64, usb::kQhIos);
    queue_head(1, 64, 0);
    put(usb::kUsbCmd, usb::kRs);
  }
  // And the host's reset; address 0.
  void start(UsbSpeed speed = UsbSpeed::high) {
    start_controller();
    otg.attach(now());
    otg.reset_begin(now());
    run(3000 * kMicrosecond);
    otg.reset_end(speed, now());
    put(usb::kUsbSts, 0xFFFFFFFF);
    cable.take();
  }
  // Endpoint 2 as bulk in both directions.
  void configure_bulk(uint32_t flags = kZlt, uint32_t size = 512) {
    queue_head(4, size, flags);
    queue_head(5, size, flags);
    put(usb::kEndptCtrl0 + 8, 0x00C800C8);  // TXE, TXR, bulk; RXE, RXR, bulk
    cable.take();
  }
  void queue_head(unsigned index, uint32_t max_packet, uint32_t flags) {
    const uint32_t at = kList + 64 * index;
    for (uint32_t i = 0; i < 64; i += 4) set_word(at + i, 0);
    set_word(at, max_packet << 16 | flags);
    set_word(at + usb::kQhNext, 1);
  }
  static constexpr uint32_t td_at(unsigned number) { return kTds + 32 * number; }
  static constexpr uint32_t kEnd = 1;
  // An active descriptor number `number`; pages as the Teensy core fills them in.
  void td(unsigned number, uint32_t bytes, uint32_t buffer = kData, uint32_t next = kEnd,
          uint32_t flags = kIoc) {
    set_word(td_at(number), next);
    set_word(td_at(number) + 4, bytes << 16 | flags | usb::kTokenActive);
    for (uint32_t i = 0; i < 5; ++i) set_word(td_at(number) + 8 + 4 * i, buffer + 4096 * i);
  }
  static constexpr uint32_t mask(unsigned index) {
    return 1u << (index / 2 + (index % 2 != 0 ? 16 : 0));
  }
  void prime(unsigned index, unsigned number) {
    set_word(kList + 64 * index + usb::kQhNext, td_at(number));
    set_word(kList + 64 * index + usb::kQhToken, 0);
    put(usb::kEndptPrime, mask(index));
  }
  // Primes and waits until it is ready.
  void queue(unsigned index, unsigned number) {
    prime(index, number);
    host.run_to(otg.ready_at(index / 2, index % 2 != 0, now()));
    ASSERT_NE(get(usb::kEndptStat) & mask(index), 0u);
  }
  Handshake out(unsigned endpoint, bool data1, size_t size, uint8_t first = 0) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(first + i);
    return otg.out(address, endpoint, data1, bytes, now());
  }
  Handshake in(unsigned endpoint, bool acked = true) {
    otg.in(address, endpoint, &packet, now());
    if (packet.handshake == Handshake::ack) otg.in_done(endpoint, acked, now());
    return packet.handshake;
  }
  Handshake setup(const std::array<uint8_t, 8>& bytes, unsigned endpoint = 0) {
    return otg.setup(address, endpoint, bytes, now());
  }
  // Sizes of the IN packets to the end of the list, waiting for fetches.
  std::vector<unsigned> drain(unsigned endpoint) {
    std::vector<unsigned> sizes;
    while (sizes.size() < 100) {
      if (in(endpoint) == Handshake::ack) {
        sizes.push_back(packet.size);
        continue;
      }
      const Cycles ready = otg.ready_at(endpoint, true, now());
      if (ready == kNever) break;
      host.run_to(ready);
    }
    run(timing.usb_retire_cycles);
    return sizes;
  }

  UsbTestHost host;
  Clocks clocks;
  Timing timing;
  UsbPhy phy{host, 1};
  UsbOtg otg{host, clocks, timing, phy, 1};
  UsbTestCable cable;
  InPacket packet;
  uint8_t address = 0;
};

}  // namespace millrace::board::testing
