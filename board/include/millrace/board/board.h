// SPDX-License-Identifier: Apache-2.0
// The virtual Teensy 4.1: one object a board. Deterministic; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/board/image.h"

namespace millrace::board {

struct BoardOptions {
  bool icache = true;  // false: stays off whatever the firmware does
  bool dcache = true;
  bool timing = true;          // false: functional only, one cycle an instruction
  std::string timing_profile;  // text of a profile (core/timing.h); empty: none
  uint64_t seed = 1;           // cache replacement, TRNG
  uint32_t psram_bytes = 0;    // 0, 8 or 16 MB
  std::function<void(unsigned uart, uint8_t byte)> uart_output;  // LPUART1..8
  std::function<void(uint8_t byte)> itm_output;
  bool semihosting = false;
};

enum class StopReason {
  cycles,   // the given time has passed
  stopped,  // request_stop(), semihosting exit
  breakpoint,
  watchpoint,
  locked_up,
  asleep,  // WFI/WFE with nothing that could ever wake it
};

struct StopInfo {
  StopReason reason = StopReason::cycles;
  uint32_t pc = 0;
  int exit_code = 0;   // semihosting exit
  std::string detail;  // locked_up: causes, registers, backtrace, several lines
};

struct StallCounts {
  uint64_t icache_flash = 0, icache_ocram = 0, dcache_flash = 0, dcache_ocram = 0;
  uint64_t uncached = 0, branch = 0, store_buffer = 0, peripheral = 0, exception = 0, asleep = 0;
};

struct CacheCounts {
  uint64_t hits = 0, misses = 0, evictions = 0;
};

struct BoardStats {
  uint64_t cycles = 0;
  uint64_t instructions = 0;
  StallCounts stalls;
  CacheCounts icache, dcache;
  uint64_t exceptions = 0;
  struct Unknown {  // a register that is not modelled
    std::string device;
    uint32_t address = 0;
    uint64_t reads = 0, writes = 0;
    uint32_t first_pc = 0;
  };
  std::vector<Unknown> unknown;
};

class Board {
 public:
  // Loads the image and runs the boot ROM's part. Null and *error on failure.
  static std::unique_ptr<Board> create(const Image& image, const BoardOptions& options,
                                       ImageError* error);
  virtual ~Board() = default;
  // Runs until `cycles` core cycles since reset, or an earlier stop.
  virtual StopInfo run_until(uint64_t cycles) = 0;
  virtual void request_stop() = 0;  // from a callback
  virtual void uart_input(unsigned uart, uint8_t byte) = 0;
  virtual uint64_t cycles() const = 0;
  virtual double core_hz() const = 0;
  virtual BoardStats stats() const = 0;
  // Digest of everything executed so far: equal runs give equal digests.
  virtual uint64_t trace_digest() const = 0;

  // Debugger.
  virtual uint32_t read_register(unsigned number) const = 0;  // gdb's numbering: r0-15, 25 xpsr
  virtual void write_register(unsigned number, uint32_t value) = 0;
  virtual bool read_memory(uint32_t address, uint8_t* out, uint32_t size) = 0;
  virtual bool write_memory(uint32_t address, const uint8_t* in, uint32_t size) = 0;
  virtual void set_breakpoint(uint32_t address, bool on) = 0;
  virtual void set_watchpoint(uint32_t address, uint32_t size, bool reads, bool writes,
                              bool on) = 0;
  virtual StopInfo step() = 0;  // one instruction
};

}  // namespace millrace::board
