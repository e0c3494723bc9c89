// SPDX-License-Identifier: Apache-2.0
// When data comes out of a serial memory behind a FlexSPI controller (IMXRT1060RM chapter 27). Time
// only; the bytes are in PhysicalMemory. See flexspi_timing.cc for the state machine.
#pragma once

#include <array>
#include <cstdint>

#include "core/event_queue.h"
#include "core/snapshot.h"

namespace millrace::board {

// When each 8-byte beat of a 32-byte line reaches the core, by its place in the line.
using LineTimes = std::array<Cycles, 4>;

struct FlexSpiParameters {
  uint32_t command_sck = 0;        // before the first data bit of a read
  uint32_t write_command_sck = 0;  // of a write
  uint32_t sck_per_byte = 1;
  uint32_t turnaround_sck = 0;  // chip select high between two commands
  uint32_t overhead = 0;        // core cycles from the last bit of a beat to the core
  uint32_t bus_beat = 0;        // core cycles between beats that come from the buffer
  uint32_t partition_bytes = 8;
  bool prefetch = false;
};

class FlexSpiTiming {
 public:
  static constexpr unsigned kMasters = 4;  // core, eDMA, USB, others: a partition each

  explicit FlexSpiTiming(const FlexSpiParameters& parameters) : p_(parameters) {}
  // REQUIRES: both > 0.
  void set_clocks(uint32_t core_khz, uint32_t serial_khz);
  void set_prefetch(bool on) { p_.prefetch = on; }

  // A line fill (wrapping burst, the beat of `address` first) that is asked for at `at`.
  LineTimes fill_line(uint32_t address, unsigned master, Cycles at);
  // A read of up to 8 bytes that do not cross an 8-byte boundary: when they arrive.
  Cycles read(uint32_t address, unsigned master, Cycles at);
  // A write of `bytes` at `address`: when the controller has sent it. One that continues the last
  // write in the same line while that is still under way needs no command of its own.
  Cycles write(uint32_t address, uint32_t bytes, Cycles at);

  void reset();
  void snapshot(Snapshot& s);

 private:
  // A read command and the part of the buffer that it fills, in beats of 8 bytes.
  struct Stream {
    bool valid = false;
    bool wrapping = false;  // the first four beats wrap inside one line
    uint32_t start = 0;     // address of beat 0
    uint32_t end = 0;       // beats that the command brings, or brought before it was cut off
    uint32_t demanded = 0;  // beats that some access waits for: these are never cut off
    Cycles data_at = 0;     // when the first bit of beat 0 is on the wires
  };

  Cycles sck(uint64_t count) const { return count * core_khz_ / serial_khz_; }
  Cycles beat_end(const Stream& s, uint64_t beat) const {
    return s.data_at + sck((beat + 1) * 8 * p_.sck_per_byte);
  }
  static uint32_t beat_of(const Stream& s, uint32_t address);  // UINT32_MAX: not in the stream
  Cycles acquire(Cycles at);
  Stream& start_read(uint32_t address, bool wrapping, uint32_t beats, unsigned master, Cycles at);

  FlexSpiParameters p_;
  uint32_t core_khz_ = 1;
  uint32_t serial_khz_ = 1;
  std::array<Stream, kMasters> streams_{};
  unsigned running_ = kMasters;  // whose stream the wires belong to; kMasters: nobody's
  Cycles free_at_ = 0;           // when a command may start, if running_ is nobody
  uint32_t write_next_ = 0;      // address that would continue the last write
  Cycles write_end_ = 0;
};

}  // namespace millrace::board
