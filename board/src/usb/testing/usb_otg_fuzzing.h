// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of the controller share: memory that notices every access outside of it,
// the input, and what must hold whatever was done.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "core/device.h"
#include "core/event_queue.h"
#include "core/snapshot.h"
#include "usb/usb_otg.h"

namespace millrace::board::testing {

inline void require(bool is_so) {
  if (!is_so) std::abort();
}

// The rest of the board: an event queue, and kBytes of memory at kMemory.
template <uint32_t kBytes>
class FuzzedChip final : public DeviceHost {
 public:
  static constexpr uint32_t kMemory = 0x20000000;

  void set_interrupt(unsigned irq, bool) override { require(irq == 113); }
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
  void set_word(uint32_t address, uint32_t value) {
    std::memcpy(&memory[address - kMemory], &value, 4);
  }
  // The events of `cycles`; one that comes back at once, again and again, is a hang.
  void pass(Cycles cycles) {
    const Cycles end = queue.now() + cycles;
    for (Cycles runs = 0; queue.next() <= end; ++runs) {
      require(runs <= 10 * cycles + 1000);
      queue.advance(std::max(queue.now(), queue.next()));
      queue.run_due();
    }
    queue.advance(end);
  }

  EventQueue queue;
  std::array<uint8_t, kBytes> memory{};

 private:
  static bool inside(uint32_t address, uint32_t size) {
    require(size <= kBytes);
    return address >= kMemory && address - kMemory <= kBytes - size;
  }
};

class FuzzInput {
 public:
  explicit FuzzInput(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  // Little-endian; 0 behind the end.
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

// What is saved can be restored, and is the same then.
inline void require_saved_and_restored(UsbOtg& otg) {
  Snapshot saved;
  otg.snapshot(saved);
  const std::vector<uint8_t> bytes = saved.take();
  Snapshot restored(bytes);
  otg.snapshot(restored);
  Snapshot again;
  otg.snapshot(again);
  require(restored.ok() && again.take() == bytes);
}

}  // namespace millrace::board::testing
