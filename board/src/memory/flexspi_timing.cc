// SPDX-License-Identifier: Apache-2.0
// The wires of a FlexSPI bring data at a fixed rate once a command has been sent:
//
//   select | command, address, dummy | beat 0 | beat 1 | ... | deselect, turnaround
//            command_sck               8 * sck_per_byte each
//
// So a read command is described by when its data start (data_at), from which address, and how many
// beats it brings; when any beat is there is then arithmetic, and nothing happens between calls.
// The AHB RX buffer is the same description seen from the other side: a beat that has come in stays
// until its master starts another command. With prefetch a command goes on to fill the partition;
// a miss of any master cuts it off after the beats that somebody waits for. A wrapping burst brings
// the beat that missed first and the rest of its line in order of the wrap, then following lines.
//
// At 600 MHz over 100 MHz (6 cycles a serial clock), 20 command clocks, 2 a byte, 24 overhead:
//   first beat of a miss          20*6 + 16*6 + 24 = 240
//   the line on the wires         20*6 + 64*6      = 504
//   following lines, prefetched   64*6             = 384 each
//   following 8 bytes, uncached   16*6             = 96 each
// The 24 cycles are those between the pads and the core: they delay the data, not the wires.
#include "memory/flexspi_timing.h"

#include <algorithm>

namespace millrace::board {

void FlexSpiTiming::set_clocks(uint32_t core_khz, uint32_t serial_khz) {
  core_khz_ = core_khz;
  serial_khz_ = serial_khz;
}

uint32_t FlexSpiTiming::beat_of(const Stream& s, uint32_t address) {
  if (!s.valid) return UINT32_MAX;
  const uint32_t offset = s.wrapping ? address - (s.start & ~31u) : address - s.start;
  uint32_t beat = offset / 8;
  if (s.wrapping && beat < 4) beat = (beat - s.start / 8) % 4;
  return beat < s.end ? beat : UINT32_MAX;
}

// Ends what is on the wires as soon as it may end: when a command that comes at `at` can start.
Cycles FlexSpiTiming::acquire(Cycles at) {
  if (running_ < kMasters) {
    Stream& s = streams_[running_];
    const Cycles natural_end = beat_end(s, uint64_t{s.end} - 1);
    Cycles end = natural_end;
    if (at < natural_end) {
      end = std::max(at, beat_end(s, uint64_t{s.demanded} - 1));
      const auto received = [&](uint32_t beats) { return beat_end(s, uint64_t{beats} - 1) <= end; };
      while (s.end > s.demanded && !received(s.end)) --s.end;
    }
    free_at_ = std::max(free_at_, end + sck(p_.turnaround_sck));
    running_ = kMasters;
  }
  return std::max(at, free_at_);
}

FlexSpiTiming::Stream& FlexSpiTiming::start_read(uint32_t address, bool wrapping, uint32_t beats,
                                                 unsigned master, Cycles at) {
  const Cycles start = acquire(at);
  Stream& s = streams_[master];
  s.valid = true;
  s.wrapping = wrapping;
  s.start = address & ~7u;
  s.demanded = beats;
  s.end = p_.prefetch ? std::max(beats, p_.partition_bytes / 8) : beats;
  s.data_at = start + sck(p_.command_sck);
  running_ = master;
  return s;
}

LineTimes FlexSpiTiming::fill_line(uint32_t address, unsigned master, Cycles at) {
  const uint32_t line = address & ~31u;
  Stream* s = &streams_[master];
  bool buffered = true;
  for (uint32_t i = 0; i < 4; ++i) buffered &= beat_of(*s, line + 8 * i) != UINT32_MAX;
  if (!buffered) s = &start_read(address, true, 4, master, at);
  LineTimes times;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t beat = beat_of(*s, line + 8 * i);
    s->demanded = std::max(s->demanded, beat + 1);
    const uint32_t place_in_burst = (i - address / 8) % 4;
    times[i] = std::max(beat_end(*s, beat), at + place_in_burst * p_.bus_beat) + p_.overhead;
  }
  return times;
}

Cycles FlexSpiTiming::read(uint32_t address, unsigned master, Cycles at) {
  Stream* s = &streams_[master];
  if (beat_of(*s, address) == UINT32_MAX) s = &start_read(address, false, 1, master, at);
  const uint32_t beat = beat_of(*s, address);
  s->demanded = std::max(s->demanded, beat + 1);
  return std::max(beat_end(*s, beat), at) + p_.overhead;
}

Cycles FlexSpiTiming::write(uint32_t address, uint32_t bytes, Cycles at) {
  const bool continues = running_ == kMasters && address == write_next_ && at <= write_end_ &&
                         address % 32 != 0;  // the core's bursts end with their line
  Cycles start = write_end_;
  if (!continues) start = acquire(at) + sck(p_.write_command_sck);
  write_end_ = start + sck(uint64_t{bytes} * p_.sck_per_byte);
  write_next_ = address + bytes;
  free_at_ = write_end_ + sck(p_.turnaround_sck);
  for (Stream& s : streams_) {  // what was buffered of these addresses is old now
    if (s.valid && beat_of(s, address) != UINT32_MAX) s.valid = false;
  }
  return write_end_;
}

void FlexSpiTiming::reset() {
  for (Stream& s : streams_) s = Stream();
  running_ = kMasters;
  free_at_ = 0;
  write_next_ = 0;
  write_end_ = 0;
}

void FlexSpiTiming::snapshot(Snapshot& s) {
  s.field("core_khz", core_khz_);
  s.field("serial_khz", serial_khz_);
  s.field("prefetch", p_.prefetch);
  for (Stream& stream : streams_) {
    s.field("valid", stream.valid);
    s.field("wrapping", stream.wrapping);
    s.field("start", stream.start);
    s.field("end", stream.end);
    s.field("demanded", stream.demanded);
    s.field("data_at", stream.data_at);
  }
  s.field("running", running_);
  s.field("free_at", free_at_);
  s.field("write_next", write_next_);
  s.field("write_end", write_end_);
  if (s.restoring() && (running_ > kMasters || core_khz_ == 0 || serial_khz_ == 0)) {
    reset();
    core_khz_ = serial_khz_ = 1;
    s.fail("running", "is impossible");
  }
}

}  // namespace millrace::board
