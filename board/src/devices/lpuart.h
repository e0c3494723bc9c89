// SPDX-License-Identifier: Apache-2.0
// LPUART1..8 (IMXRT1060RM chapter 49). Frames take the time that the baud rate gives them; what is
// on the line is bytes, not edges: no framing error, noise or break can come from outside.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/device.h"
#include "devices/clocks.h"
#include "devices/lanes.h"
#include "devices/register_file.h"

namespace millrace::board {

class Lpuart final : public Device, private ClockUser {
 public:
  static constexpr uint32_t kBase1 = 0x40184000;  // LPUART1; LPUARTn at kBase1 + (n - 1) * kSize
  static constexpr uint32_t kSize = 0x4000;
  static constexpr unsigned kIrq1 = 20;  // of LPUART1; the others follow
  static constexpr size_t kMaxInput = 65536;
  static constexpr unsigned kFifoWords = 4;

  // A byte that has left, and when its last stop bit ended.
  using Output = std::function<void(uint8_t byte, Cycles when)>;

  // `number` 1..8. Empty functions are allowed. The references must outlive this.
  Lpuart(DeviceHost& host, Clocks& clocks, unsigned number, Output output, DmaLine dma = {});

  // A byte from the other end, which sends at our baud rate, one frame behind the other. Bytes wait
  // while the receiver is off; false if kMaxInput wait already (the byte is dropped).
  bool receive(uint8_t byte);
  size_t waiting_input() const { return input_.size() - input_head_; }

  uint32_t base() const { return kBase1 + (number_ - 1) * kSize; }
  void snapshot(Snapshot& s);

  std::string_view name() const override { return name_; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override;
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override;
  void reset() override;

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  struct Fifo {
    std::array<uint16_t, kFifoWords> words{};
    uint8_t count = 0;
    void push(uint16_t word) { words[count++] = word; }
    uint16_t pop();
    void snapshot(Snapshot& s);
  };

  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;
  static void on_event(void* context, Cycles when);
  void reset_registers();
  // Lets everything happen that is due at `now`.
  void settle(Cycles now);
  void update();  // interrupt, DMA requests, next event
  void start_transmit(uint64_t tick);
  void end_transmit(uint64_t tick);
  void loop_back(uint8_t byte, uint64_t tick);
  void start_receive(uint64_t tick);
  void end_receive(uint64_t tick);
  uint64_t bit_ticks() const;   // 0: no baud clock
  unsigned frame_bits() const;  // start, data, parity and stop bits
  uint16_t parity_word(uint16_t word) const;
  unsigned data_bits() const;  // without parity
  uint32_t status() const;
  bool transmit_empty() const;  // TDRE
  bool receive_full() const;    // RDRF
  unsigned transmit_depth() const;
  unsigned receive_depth() const;
  uint32_t read_data();
  void write_control(uint32_t value, uint64_t tick);
  void write_fifo(const Lanes& lanes);
  void report_modes(uint32_t offset, uint32_t value, uint32_t unmodelled);

  DeviceHost& host_;
  Clocks& clocks_;
  const unsigned number_;
  const std::string name_;
  Output output_;
  DmaLine dma_;
  RegisterFile registers_;
  Event event_;
  Ticks ticks_;  // of the UART clock

  Fifo transmit_, receive_;
  std::vector<uint8_t> input_;  // from input_head_ on
  size_t input_head_ = 0;
  uint32_t flags_ = 0;       // STAT's W1C bits
  uint32_t fifo_flags_ = 0;  // TXOF, RXUF
  bool preamble_ = false;    // one idle frame is to be sent first
  bool sending_data_ = false;
  uint16_t sending_ = 0;
  uint8_t receiving_ = 0;
  bool idle_before_ = false;  // the next word gets IDLINE
  bool idle_full_ = false;    // RXIDEN has made a part-filled FIFO count as full
  uint64_t transmit_end_ = kNone, receive_end_ = kNone;  // ticks
  uint64_t idle_at_ = kNone, idle_full_at_ = kNone;
  bool level_ = false, transmit_request_ = false, receive_request_ = false;
};

}  // namespace millrace::board
