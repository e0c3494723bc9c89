// SPDX-License-Identifier: Apache-2.0
// The devices of the chip, made, wired to each other and attached to the bus.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/device.h"
#include "core/snapshot.h"
#include "core/timing.h"
#include "devices/clocks.h"
#include "memory/memory_system.h"
#include "millrace/board/board.h"

namespace millrace::board {

class Rt1062Memory;
class UsbOtg;

// What devices ask of the chip.
struct PeripheralHooks {
  std::function<void()> reset_request;     // watchdogs, SRC
  std::function<void()> power_off;         // SNVS
  std::function<void(bool on)> wait_mode;  // CCM: the core clock stands while the core sleeps
};

class Peripherals {
 public:
  // All outlive this. Attaches everything to `memory`, gaps in the peripheral space included:
  // what is not modelled reads 0, ignores writes and is reported.
  Peripherals(DeviceHost& host, Clocks& clocks, Rt1062Memory& memory, const BoardOptions& options,
              const Timing& timing, PeripheralHooks hooks);
  ~Peripherals();

  void reset();
  void snapshot(Snapshot& s);
  // Where the device is on the bus.
  uint32_t base_of(const Device& device) const;
  UsbOtg& usb(unsigned number);  // 1, 2
  bool uart_input(unsigned uart, uint8_t byte);

 private:
  struct Devices;
  struct Attachment {
    Device* device;
    uint32_t base;
    uint32_t size;
  };
  void attach(Device& device, uint32_t base, uint32_t size);
  // attach(), and the device is part of snapshots, in the order of these calls.
  template <class D>
  void add(D& device, uint32_t base, uint32_t size) {
    attach(device, base, size);
    snapshots_.push_back([&device](Snapshot& s) { device.snapshot(s); });
  }
  void attach_gaps(DeviceHost& host);

  Rt1062Memory& memory_;
  std::vector<Attachment> attachments_;
  std::vector<std::unique_ptr<Device>> gaps_;
  std::vector<std::function<void(Snapshot&)>> snapshots_;
  std::unique_ptr<Devices> devices_;
};

}  // namespace millrace::board
