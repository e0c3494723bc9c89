// SPDX-License-Identifier: Apache-2.0
// Clocks as the Teensy core sets them, a fake host, and word accesses at the current time.
#pragma once

#include <gtest/gtest.h>

#include "core/device.h"
#include "devices/clocks.h"
#include "devices/testing/fake_host.h"

namespace millrace::board::testing {

class DeviceFixture : public ::testing::Test {
 protected:
  // Core 600 MHz, IPG 150 MHz (4 cycles a tick), PERCLK and UART 24 MHz (25 cycles a tick).
  DeviceFixture() { set_clocks(600'000'000); }

  void set_clocks(uint64_t core_hz) {
    Clocks::Rates rates = Clocks::kBootRates;
    rates[static_cast<size_t>(Clock::core)] = core_hz;
    rates[static_cast<size_t>(Clock::ipg)] = core_hz / 4;
    rates[static_cast<size_t>(Clock::perclk)] = 24'000'000;
    rates[static_cast<size_t>(Clock::uart)] = 24'000'000;
    clocks.set(rates, host.queue.now());
  }
  uint32_t get(Device& device, uint32_t offset, unsigned size = 4) {
    return device.read(offset, size, host.queue.now());
  }
  void put(Device& device, uint32_t offset, uint32_t value, unsigned size = 4) {
    device.write(offset, size, value, host.queue.now());
  }
  void run_to(Cycles when) { host.run_to(when); }
  // What `from` saves, `to` restores; false if it refuses.
  template <typename T>
  bool copy_state(T& from, T& to) {
    Snapshot saved;
    from.snapshot(saved);
    Snapshot restored(saved.take());
    to.snapshot(restored);
    return restored.ok();
  }

  FakeHost host;
  Clocks clocks;
};

}  // namespace millrace::board::testing
