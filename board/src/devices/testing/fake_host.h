// SPDX-License-Identifier: Apache-2.0
// A DeviceHost for tests of one device: interrupt lines, a memory for DMA, and a clock to move.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "core/device.h"
#include "core/event_queue.h"

namespace millrace::board::testing {

class FakeHost final : public DeviceHost {
 public:
  void set_interrupt(unsigned irq, bool level) override { lines.at(irq) = level; }
  void report_unknown(const Device&, uint32_t offset, bool is_write) override {
    unknown.push_back({offset, is_write});
  }
  bool dma_read(uint32_t address, uint8_t* out, uint32_t size) override {
    for (uint32_t i = 0; i < size; ++i) out[i] = memory[address + i];
    return true;
  }
  bool dma_write(uint32_t address, const uint8_t* in, uint32_t size) override {
    for (uint32_t i = 0; i < size; ++i) memory[address + i] = in[i];
    return true;
  }
  EventQueue& events() override { return queue; }

  // Runs everything that is due up to and at `when`.
  void run_to(Cycles when) {
    while (queue.next() <= when) {
      queue.advance(queue.next());
      queue.run_due();
    }
    queue.advance(when);
  }

  struct Unknown {
    uint32_t offset = 0;
    bool is_write = false;
    friend bool operator==(const Unknown&, const Unknown&) = default;
  };
  EventQueue queue;
  std::array<bool, 160> lines{};
  std::map<uint32_t, uint8_t> memory;
  std::vector<Unknown> unknown;
};

}  // namespace millrace::board::testing
