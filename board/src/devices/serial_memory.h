// SPDX-License-Identifier: Apache-2.0
// Chips behind a FlexSPI controller, as they see one transaction from chip select to chip select.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/event_queue.h"
#include "core/snapshot.h"

namespace millrace::board {

struct SerialTransfer {
  uint8_t command = 0;
  unsigned command_pads = 1;  // 1, 2, 4 or 8 lines
  bool has_address = false;
  uint32_t address = 0;     // within the chip
  std::span<uint8_t> read;  // to be filled; holds 0xFF, what lines with pull-ups give
  std::span<const uint8_t> sent;
};

class SerialMemory {
 public:
  virtual ~SerialMemory() = default;
  // Carries out one transaction that ends at `now`. False: the chip has such a command but the
  // model does not, or no such command exists; nothing happened.
  virtual bool transfer(const SerialTransfer& transfer, Cycles now, uint64_t core_hz) = 0;
  virtual void reset() = 0;  // power on
  virtual void snapshot(Snapshot& s) = 0;
};

// The bytes of a chip, which live in the memory system. Addresses are within the chip and checked.
struct SerialStore {
  uint32_t size = 0;  // a power of two
  std::function<void(uint32_t address, uint8_t* out, uint32_t size)> read;
  std::function<void(uint32_t address, const uint8_t* in, uint32_t size)> write;
};

}  // namespace millrace::board
