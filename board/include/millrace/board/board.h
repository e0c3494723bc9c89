// SPDX-License-Identifier: Apache-2.0
// The virtual Teensy 4.1: one object a board. Deterministic; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/board/image.h"
#include "millrace/board/trace.h"
#include "millrace/board/usb_ip.h"
#include "millrace/board/usb_serial.h"

namespace millrace::board {

struct BoardOptions {
  bool icache = true;  // false: stays off whatever the firmware does
  bool dcache = true;
  bool timing = true;          // false: functional only, one cycle an instruction
  std::string timing_profile;  // text of a profile (core/timing.h); empty: none
  std::string timing_profile_name = "timing profile";  // for sentences: its file
  uint64_t seed = 1;                                   // cache replacement, TRNG
  uint32_t psram_bytes = 0;                            // 0, 8 or 16 MB
  // What both ADCs see on every channel (devices/adc_signal.h); empty: 0 V.
  std::string adc_signal;
  // A byte left LPUART1..8 (`uart` 1 to 8; the Teensy's Serial1 is 6).
  std::function<void(unsigned uart, uint8_t byte)> uart_output;
  std::function<void(uint8_t byte)> itm_output;  // stimulus port 0
  bool semihosting = false;                      // BKPT 0xAB; else it is a breakpoint like others
  std::function<void(uint8_t byte)> semihosting_output;
  bool count_evictions_by_set = false;
};

enum class StopReason : uint8_t {
  cycles,      // the given time has passed
  requested,   // request_stop()
  exited,      // semihosting exit, or the firmware switched the power off (SNVS)
  breakpoint,  // a debugger's, or BKPT
  watchpoint,
  locked_up,
  fault_loop,  // one instruction faults again and again
  reset_loop,  // it resets itself again and again, each time within a millisecond
  asleep,      // WFI/WFE with nothing that could ever wake it
};

struct StopInfo {
  StopReason reason = StopReason::cycles;
  uint32_t pc = 0;
  uint32_t watch_address = 0;  // watchpoint
  int exit_code = 0;           // exited
  // locked_up, fault_loop: the cause, the registers and a backtrace, several lines. reset_loop:
  // where. exited: why it did not start again, if a reset was the end of it. asleep: why SysTick
  // does not wake it, if it runs.
  std::string detail;
};

// Core cycles lost beyond the issue of instructions, by cause.
struct StallCounts {
  uint64_t icache_flash = 0, icache_ocram = 0;  // instruction fetch, line fill or uncached
  uint64_t dcache_flash = 0, dcache_ocram = 0, dcache_psram = 0;  // line fills of loads and stores
  uint64_t uncached = 0;                                          // loads past the caches
  uint64_t store_buffer = 0;                                      // full, or drained by a barrier
  uint64_t peripheral = 0;                                        // registers
  uint64_t branch = 0;     // mispredictions and unknown targets
  uint64_t operand = 0;    // results late at the begin of a block
  uint64_t exception = 0;  // entry and return
  uint64_t asleep = 0;     // WFI, WFE
};

struct CacheCounts {
  uint64_t hits = 0, misses = 0, evictions = 0, writebacks = 0;
  std::vector<uint64_t> evictions_by_set;  // with count_evictions_by_set
};

// A register that is not modelled: reads gave 0, writes were ignored.
struct UnknownRegister {
  std::string name;  // device and offset: "LPSPI4+0x014"
  uint32_t address = 0;
  uint64_t reads = 0, writes = 0;
  uint32_t first_pc = 0;
};

struct BoardStats {
  uint64_t cycles = 0;
  uint64_t instructions = 0;
  double seconds = 0;  // simulated
  StallCounts stalls;
  CacheCounts icache, dcache;
  uint64_t branches = 0, mispredicts = 0;
  uint64_t exceptions = 0;  // taken
  uint64_t faults = 0;
  uint64_t resets = 0;
  std::vector<UnknownRegister> unknown;  // by address; the first 4,096 that were touched
  uint64_t unknown_unlisted = 0;         // accesses to further ones
};

// Where time goes, by block of straight code. Collected from start_profile() on.
struct ProfileEntry {
  uint32_t address = 0;  // of the block
  uint64_t executions = 0;
  uint64_t instructions = 0;
  uint64_t cycles = 0;  // until the next block began
  uint64_t stalls = 0;  // of these, beyond the issue of the block
};

class Board {
 public:
  // Loads the image and does the boot ROM's part. Null and *error on failure.
  static std::unique_ptr<Board> create(const Image& image, const BoardOptions& options,
                                       ImageError* error);
  virtual ~Board() = default;
  // Runs until `cycles` core cycles since power-on, or an earlier stop.
  virtual StopInfo run_until(uint64_t cycles) = 0;
  // The same with simulated nanoseconds, whatever the firmware does to the core clock.
  virtual StopInfo run_until_ns(uint64_t ns) = 0;
  virtual void request_stop() = 0;  // from a callback
  // Another reset by the debugger; memories keep their content.
  virtual void reset() = 0;
  // A byte for LPUART1..8. Paced by the baud rate; false: 64 KB wait already.
  virtual bool uart_input(unsigned uart, uint8_t byte) = 0;
  // The USB host with its serial port at the board's USB1, unplugged at first. Null and *error if
  // the profile is wrong. Owned by the board; once only. Snapshots do not hold it.
  virtual UsbSerialPort* connect_usb(const UsbHostOptions& options, std::string* error) = 0;
  // Instead of connect_usb(): the host with the device exported over USB/IP. Likewise.
  virtual UsbIpPort* export_usb(const UsbHostOptions& options, std::string* error) = 0;
  virtual uint64_t cycles() const = 0;
  virtual uint64_t ns() const = 0;
  virtual uint64_t core_hz() const = 0;
  virtual BoardStats stats() const = 0;
  // While the firmware is in a handler of HardFault, MemManage, BusFault or UsageFault: the cause,
  // registers and a backtrace, several lines. Empty otherwise.
  virtual std::string fault_state() = 0;
  virtual void start_profile() = 0;
  virtual std::vector<ProfileEntry> profile() const = 0;  // by address
  // Tells `sink` (not null, outlives the board) of everything executed from now on.
  virtual void start_trace(TraceSink* sink) = 0;
  // Digest of every block executed so far and its time: equal runs give equal digests.
  virtual uint64_t trace_digest() const = 0;
  // The whole board but for callbacks and debugger state. restore() gives an empty string or one
  // sentence; after an error only restore() of a good snapshot may follow.
  virtual std::vector<uint8_t> save() = 0;
  virtual std::string restore(std::vector<uint8_t> snapshot) = 0;

  // Debugger. Registers by gdb's numbers for M-profile: 0-15 r0-pc, 16 xpsr, 17 msp, 18 psp,
  // 19 primask, 20 basepri, 21 faultmask, 22 control, 23 fpscr, 32-63 s0-s31.
  virtual uint32_t read_register(unsigned number) const = 0;
  virtual void write_register(unsigned number, uint32_t value) = 0;
  // What the core would see, caches included. False: nothing there. Peripherals are not read.
  virtual bool read_memory(uint32_t address, uint8_t* out, uint32_t size) = 0;
  virtual bool write_memory(uint32_t address, const uint8_t* in, uint32_t size) = 0;
  virtual void set_breakpoint(uint32_t address, bool on) = 0;
  virtual void set_watchpoint(uint32_t address, uint32_t size, bool reads, bool writes,
                              bool on) = 0;
  // BKPT stops the board instead of faulting.
  virtual void set_debugger_attached(bool attached) = 0;
  virtual StopInfo step() = 0;  // one instruction
};

}  // namespace millrace::board
