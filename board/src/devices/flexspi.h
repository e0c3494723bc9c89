// SPDX-License-Identifier: Apache-2.0
// FlexSPI1 and FlexSPI2 (IMXRT1060RM chapter 27) at the level of commands: IP commands run the
// look- up table's sequences against the chips. Accesses by the AHB bus are the memory system's; of
// them the controller knows the prefetch switch alone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/device.h"
#include "devices/clocks.h"
#include "devices/lanes.h"
#include "devices/register_file.h"
#include "devices/serial_memory.h"

namespace millrace::board {

struct FlexspiOptions {
  unsigned number = 1;  // 1 or 2
  // Chips at A1, A2, B1, B2; null: lines with pull-ups. Must outlive the controller.
  std::array<SerialMemory*, 4> chips{};
  // Offsets and values that the boot ROM leaves, set at every reset (see rom_values()).
  std::vector<std::pair<uint32_t, uint32_t>> boot_values = {};
  std::function<void(bool on)> prefetch = {};  // AHBCR.PREFETCHEN, when it changes
  DmaLine dma = {};
};

class Flexspi final : public Device, private ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x402A8000, kBase2 = 0x402A4000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq1 = 108, kIrq2 = 107;
  static constexpr size_t kFifoBytes = 128;

  // The references must outlive this. The chips are not reset by it.
  Flexspi(DeviceHost& host, Clocks& clocks, FlexspiOptions options);

  // What the ROM leaves of FlexSPI1 after it has booted from the Teensy's flash: module on,
  // sampling by the DQS pad, 8 MB on A1, AHB buffers with or without prefetch (which is not known:
  // see flexspi_prefetch in core/timing.h).
  static std::vector<std::pair<uint32_t, uint32_t>> rom_values(bool prefetch);

  uint32_t base() const { return options_.number == 1 ? kBase1 : kBase2; }
  void snapshot(Snapshot& s);

  std::string_view name() const override { return name_; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  enum class Phase : uint8_t { idle, command, data };
  enum class Kind : uint8_t { none, read, write };

  // One sequence of the look-up table, read from it when it starts.
  struct Sequence {
    uint8_t command = 0;
    uint8_t command_pads = 1;
    uint8_t data_pads = 1;
    bool has_address = false;
    Kind kind = Kind::none;
    uint8_t error = 0;  // code of STS1.IPCMDERRCODE
    uint8_t error_at = 0;
    uint32_t clocks = 0;     // of the root clock before the data
    uint32_t data_size = 0;  // operand of READ or WRITE, for IDATSZ 0
  };

  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;
  static void on_event(void* context, Cycles when);

  // flexspi_sequence.cc
  Sequence parse(unsigned index);
  int select_chip(uint32_t address, uint32_t* within) const;  // -1: beyond all chips
  void start_command(uint64_t tick);
  void start_sequence(uint64_t tick);
  void start_chunk(uint64_t tick);
  void end_chunk(uint64_t tick);
  void end_sequence(uint64_t tick);
  void finish(uint8_t error_code, unsigned error_at);
  void carry_out(uint64_t tick);
  void settle(Cycles now);

  void update();
  void software_reset();
  uint32_t interrupt_flags() const;
  uint32_t receive_watermark() const;  // bytes
  uint32_t transmit_watermark() const;
  void pop_receive();
  void push_transmit();
  uint32_t read_receive_window(const Lanes& lanes);
  void write_transmit_window(const Lanes& lanes);
  void write_flags(uint32_t bits);
  void resume(Cycles now);

  DeviceHost& host_;
  Clocks& clocks_;
  const Clock clock_;
  const FlexspiOptions options_;
  const std::string name_;
  RegisterFile registers_;
  Event event_;
  Ticks ticks_;  // of the root clock: a bit a pad and tick, at either edge or both

  std::array<uint32_t, 64> table_{};
  bool key_ = false;                          // LUTKEY was written just now
  std::vector<uint8_t> received_, to_send_;   // the FIFOs, multiples of 8 bytes
  std::array<uint8_t, kFifoBytes> window_{};  // TFDR0..31 before they are pushed
  uint32_t flags_ = 0;                        // INTR without the FIFO levels
  uint32_t error_ = 0;                        // STS1
  uint32_t popped_ = 0, pushed_ = 0;          // RDCNTR, WRCNTR: 8 bytes each

  Phase phase_ = Phase::idle;
  Sequence sequence_;
  uint8_t index_ = 0;      // of the sequence in progress
  uint8_t sequences_ = 0;  // after it
  uint32_t address_ = 0;   // within chip_
  int chip_ = -1;
  std::vector<uint8_t> data_;   // of the sequence
  uint32_t done_ = 0;           // bytes of it
  uint32_t chunk_ = 0;          // bytes on the lines; 0: waiting for a FIFO
  uint64_t next_ = UINT64_MAX;  // tick
  bool level_ = false, transmit_request_ = false, receive_request_ = false;
};

}  // namespace millrace::board
