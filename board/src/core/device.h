// SPDX-License-Identifier: Apache-2.0
// A block of registers on the bus. Devices know no other device but what they are given.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/event_queue.h"

namespace millrace::board {

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // as in the reference manual: LPUART6
  // `offset` from the device's base, aligned to `size` (1, 2 or 4). `now`: when the access reaches
  // the device. A register that is not modelled goes to report_unknown() of the bus.
  virtual uint32_t read(uint32_t offset, unsigned size, Cycles now) = 0;
  virtual void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) = 0;
  virtual void reset() = 0;
};

// Where devices send what is not a register value. Implemented by the board.
class DeviceHost {
 public:
  // Level of an interrupt line into the NVIC, 0..159.
  virtual void set_interrupt(unsigned irq, bool level) = 0;
  // A register that the model does not have: counted, reported at the end with the first PC.
  virtual void report_unknown(const Device& device, uint32_t offset, bool is_write) = 0;
  // DMA: reads and writes memory behind the caches. False: no memory there.
  virtual bool dma_read(uint32_t address, uint8_t* out, uint32_t size) = 0;
  virtual bool dma_write(uint32_t address, const uint8_t* in, uint32_t size) = 0;
  virtual EventQueue& events() = 0;

 protected:
  ~DeviceHost() = default;
};

}  // namespace millrace::board
