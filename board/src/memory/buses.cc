// SPDX-License-Identifier: Apache-2.0
#include "memory/buses.h"

#include <algorithm>

namespace millrace::board {
namespace {

constexpr unsigned kCore = 0;  // the core's master number: both its sides share a partition

FlexSpiParameters flash_parameters(const Timing& t) {
  FlexSpiParameters p;
  p.command_sck = t.flexspi_command_sck;
  p.write_command_sck = t.flexspi_command_sck;
  p.sck_per_byte = t.flexspi_sck_per_byte;
  p.turnaround_sck = t.flexspi_turnaround_sck;
  p.overhead = t.flexspi_overhead;
  p.bus_beat = t.ocram_line_beat;
  p.partition_bytes = t.flexspi_partition_bytes;
  p.prefetch = t.flexspi_prefetch != 0;
  return p;
}

FlexSpiParameters psram_parameters(const Timing& t) {
  FlexSpiParameters p = flash_parameters(t);
  p.command_sck = t.psram_command_sck;
  p.write_command_sck = t.psram_write_command_sck;
  p.turnaround_sck = t.psram_turnaround_sck;
  p.overhead = t.psram_overhead;
  p.prefetch = t.psram_prefetch != 0;
  return p;
}

bool on_axi(Memory memory) { return memory == Memory::ocram || memory == Memory::rom; }

}  // namespace

Buses::Buses(const Timing& t)
    : line_first_(t.ocram_line_first),
      line_beat_(t.ocram_line_beat),
      read_(t.ocram_read),
      write_(t.ocram_write),
      flexspi1_(flash_parameters(t)),
      flexspi2_(psram_parameters(t)) {
  flexspi1_.set_clocks(t.core_khz, t.flexspi_khz);
  flexspi2_.set_clocks(t.core_khz, t.psram_khz);
}

LineTimes Buses::fill_line(Memory memory, uint32_t address, Cycles at) {
  if (FlexSpiTiming* const spi = serial(memory)) return spi->fill_line(address, kCore, at);
  LineTimes times{at, at, at, at};
  if (!on_axi(memory)) return times;
  const Cycles start = std::max(at, ocram_free_at_);
  for (uint32_t i = 0; i < 4; ++i) {
    times[i] = start + line_first_ + Cycles{(i - address / 8) % 4} * line_beat_;
  }
  // Requests overlap, data do not: the next burst's data can follow this one's at once.
  ocram_free_at_ = start + Cycles{4} * line_beat_;
  ocram_write_next_ = 1;
  return times;
}

Cycles Buses::read(Memory memory, uint32_t address, Cycles at) {
  if (FlexSpiTiming* const spi = serial(memory)) return spi->read(address, kCore, at);
  if (!on_axi(memory)) return at;
  const Cycles start = std::max(at, ocram_free_at_);
  ocram_free_at_ = start + line_beat_;
  ocram_write_next_ = 1;
  return start + read_;
}

Cycles Buses::write(Memory memory, uint32_t address, uint32_t bytes, Cycles at) {
  if (FlexSpiTiming* const spi = serial(memory)) return spi->write(address, bytes, at);
  if (!on_axi(memory)) return at;
  const Cycles start = std::max(at, ocram_free_at_);
  const bool continues = address == ocram_write_next_ && address % kBurstBytes != 0;
  ocram_free_at_ = start + (continues ? line_beat_ : write_);
  ocram_write_next_ = bytes == 8 ? address + 8 : 1;
  return ocram_free_at_;
}

Cycles Buses::write_line(Memory memory, uint32_t address, Cycles at) {
  if (FlexSpiTiming* const spi = serial(memory)) return spi->write(address, kBurstBytes, at);
  if (!on_axi(memory)) return at;
  ocram_free_at_ = std::max(at, ocram_free_at_) + write_ + Cycles{3} * line_beat_;
  ocram_write_next_ = 1;
  return ocram_free_at_;
}

void Buses::reset() {
  flexspi1_.reset();
  flexspi2_.reset();
  ocram_free_at_ = 0;
  ocram_write_next_ = 1;
}

void Buses::snapshot(Snapshot& s) {
  flexspi1_.snapshot(s);
  flexspi2_.snapshot(s);
  s.field("ocram_free_at", ocram_free_at_);
  s.field("ocram_write_next", ocram_write_next_);
}

}  // namespace millrace::board
