// SPDX-License-Identifier: Apache-2.0
// The device controller in memory, and the host at the other end of the cable. Written from the
// manual (IMXRT1060RM 42.5.6), to disagree with the driver where that is wrong: data in regions
// mapped as cached are moved only by clean() and invalidate(), an endpoint lets go of its list some
// register accesses after it has run out, and a tripwire that is set in this time does not hold.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "firmware/ports/rt1062/usb/usb_hardware.h"

namespace millrace::rt1062 {

enum class Handshake { ack, nak, stall, timeout };

struct FakeUsbChip final : UsbHardware {
  enum class Caching { none, write_back };

  static constexpr uint8_t kMemoryFill = 0xee;  // what is behind the cache at first

  // Makes `size` bytes from `start` on visible to the controller. Unmapped addresses are errors.
  void map(void* start, size_t size, Caching caching);

  void power_up() override;
  uint32_t read(UsbRegister reg) override;
  void write(UsbRegister reg, uint32_t value) override;
  uint32_t bus_address(const volatile void* place) override;
  void clean(const void* data, size_t size) override;
  void invalidate(void* data, size_t size) override;
  uint32_t lock() override;
  void unlock(uint32_t state) override;
  void sleep() override { ++sleeps; }

  // The bus.
  void bus_reset(bool high_speed);
  void suspend(bool vbus);
  void setup(std::span<const uint8_t, 8> bytes);
  Handshake in(uint32_t endpoint, std::vector<uint8_t>* packet);
  Handshake out(uint32_t endpoint, std::span<const uint8_t> packet);

  uint32_t& reg(UsbRegister name) { return registers[static_cast<uint32_t>(name)]; }
  uint32_t address() { return reg(UsbRegister::deviceaddr) >> DEVICEADDR_USBADR_SHIFT; }
  bool primed(uint8_t address) { return queue(address).state == State::ready; }
  // The driver's handler, called whenever an interrupt is pending and not locked out.
  std::function<void()> handler;
  // Called before each register access: what happens in the middle of the driver's work.
  std::function<void()> before_access;

  uint32_t prime_accesses = 2;  // register accesses that a prime, a fetch, a close take
  uint32_t close_accesses = 0;
  uint32_t accesses = 0;
  uint32_t interrupts = 0;
  uint32_t sleeps = 0;
  uint32_t bus_errors = 0;
  uint32_t corrupt_next = 0;  // the next so many dTDs fail with a buffer error
  bool lose_primes = false;
  uint32_t new_address = 0;  // in force; DEVICEADDR may be ahead of it

 private:
  enum class State { idle, priming, fetching, ready, closing };
  struct Queue {
    State state = State::idle;
    uint32_t accesses_left = 0;
    bool prime_again = false;
    uint32_t descriptor = 0;
    uint32_t offset = 0;
  };
  struct Region {
    uint32_t address = 0;
    uint8_t* start = nullptr;
    size_t size = 0;
    std::vector<uint8_t> memory;  // empty if not cached
  };

  Queue& queue(uint8_t address) { return queues[endpoint_index(address)]; }
  Region* region_of(const volatile void* place);
  uint8_t* dma(uint32_t address, size_t size);
  void copy_lines(const void* data, size_t size, bool to_memory);
  uint32_t load(uint32_t address);
  void store(uint32_t address, uint32_t value);
  uint32_t head(uint32_t index);
  void tick();
  void begin_prime(uint32_t index);
  void take(uint32_t index, uint32_t descriptor);
  void retire(uint32_t index, uint32_t errors);
  uint32_t bits(State first, State second);
  void raise(uint32_t status);
  void run_handler();
  uint8_t* data_at(uint32_t descriptor, uint32_t offset, uint32_t size);

  std::map<uint32_t, uint32_t> registers;
  std::vector<Region> regions;
  Queue queues[2 * kUsbEndpoints];
  uint32_t next_address = 0x20000000;
  bool locked = false;
  bool in_handler = false;
  bool staged_address = false;
};

}  // namespace millrace::rt1062
