// SPDX-License-Identifier: Apache-2.0
// Enhanced DMA (IMXRT1060RM chapter 6): 32 channels with transfer control descriptors (TCD), one
// engine. Channels that preempt each other (DCHPRI.ECP) and cancelling (CR.CX, ECX) are not
// modelled.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "core/device.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

// Core cycles. Nothing is printed for this part: inferred from 11 cycles of a 150 MHz bus for a
// minor loop's overhead (arbitration, reading and writing the TCD) and 4 for a beat.
struct EdmaTiming {
  uint32_t service = 44;
  uint32_t read = 16;
  uint32_t write = 16;
};

class Edma final : public Device {
 public:
  static constexpr uint32_t kBase = 0x400E8000;
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq = 0;  // channels n and n + 16 share kIrq + n
  static constexpr unsigned kErrorIrq = 16;
  static constexpr unsigned kChannels = 32;

  // Called when a channel has done a minor loop: what requested it may let go.
  using Served = std::function<void(unsigned channel)>;

  // The references must outlive this.
  explicit Edma(DeviceHost& host, EdmaTiming timing = {});

  void set_served(Served served) { served_ = std::move(served); }
  // Level of a channel's hardware request.
  void set_request(unsigned channel, bool level);

  void snapshot(Snapshot& s);

  std::string_view name() const override { return "DMA0"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  static constexpr uint32_t kTcdBytes = 32;

  // edma.cc
  static void on_event(void* context, Cycles when);
  uint32_t tcd(unsigned channel, uint32_t offset, unsigned size) const;
  void set_tcd(unsigned channel, uint32_t offset, unsigned size, uint32_t value);
  void write_tcd_byte(uint32_t at, uint8_t value);
  void write_command(uint32_t offset, uint8_t value);
  bool write_plain(const Lanes& lanes);
  uint32_t read_word(uint32_t offset, bool* known) const;
  void update();

  // edma_engine.cc
  struct Loop {  // a minor loop's size and offset out of NBYTES
    uint32_t bytes = 0;
    int32_t offset = 0;
    bool source = false, destination = false;
  };
  Loop minor_loop(unsigned channel) const;
  int select() const;                      // the channel to serve, -1: none
  uint32_t check(unsigned channel) const;  // ES bits, 0: a valid TCD
  void arbitrate(Cycles now);
  void schedule_slice(Cycles from, uint32_t extra);
  void settle(Cycles now);
  void run_slice();
  bool move_chunk();
  void end_minor_loop();
  void end_major_loop();
  void fail(unsigned channel, uint32_t bits);

  DeviceHost& host_;
  const EdmaTiming timing_;
  Served served_;
  Event event_;

  uint32_t control_ = 0;  // CR
  uint32_t error_status_ = 0;
  uint32_t enabled_ = 0;  // ERQ
  uint32_t error_interrupts_ = 0;
  uint32_t interrupts_ = 0;
  uint32_t errors_ = 0;
  uint32_t requests_ = 0;      // HRS
  uint32_t asynchronous_ = 0;  // EARS
  std::array<uint8_t, kChannels> priority_{};
  std::array<uint8_t, kChannels * kTcdBytes> tcds_{};

  int active_ = -1;
  uint8_t last_ = 0;  // channel served last, for round robin
  bool moving_ = false;
  uint32_t source_ = 0, destination_ = 0, left_ = 0;
  uint32_t pending_error_ = 0;  // ES bits with which the service ends
  Cycles end_ = kNever;         // of the slice
  uint32_t levels_ = 0;         // interrupt lines, bit 16: errors
};

}  // namespace millrace::board
