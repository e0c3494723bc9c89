// SPDX-License-Identifier: Apache-2.0
// The Board of board.h: core, memories, devices and boot ROM joined.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "board/block_profile.h"
#include "board/peripherals.h"
#include "board/semihosting.h"
#include "board/unknown_registers.h"
#include "board/usb_ip_link.h"
#include "board/usb_link.h"
#include "core/device.h"
#include "core/event_queue.h"
#include "core/timing.h"
#include "cpu/cpu.h"
#include "cpu/system_control_m7.h"
#include "devices/clocks.h"
#include "memory/rt1062_memory.h"
#include "millrace/board/board.h"
#include "millrace/board/boot_rom.h"

namespace millrace::board {

class Rt1062Board final : public Board, private DeviceHost, private ClockUser {
 public:
  // REQUIRES: options.timing_profile was applied to `timing` already.
  Rt1062Board(const Image& image, const BoardOptions& options, const Timing& timing);
  // Copies the image into the memories and starts it as the boot ROM would. False and *error.
  bool boot(ImageError* error);

  StopInfo run_until(uint64_t cycles) override;
  StopInfo run_until_ns(uint64_t ns) override;
  void request_stop() override;
  void reset() override;
  bool uart_input(unsigned uart, uint8_t byte) override;
  UsbSerialPort* connect_usb(const UsbHostOptions& options, std::string* error) override;
  UsbIpPort* export_usb(const UsbHostOptions& options, std::string* error) override;
  uint64_t cycles() const override { return cpu_.now(); }
  uint64_t ns() const override { return nanoseconds_.count(cpu_.now()); }
  uint64_t core_hz() const override { return clocks_.hz(Clock::core); }
  BoardStats stats() const override;
  std::string fault_state() override;
  void start_profile() override;
  std::vector<ProfileEntry> profile() const override;
  void start_trace(TraceSink* sink) override;
  uint64_t trace_digest() const override { return cpu_.trace_digest(); }
  std::vector<uint8_t> save() override;
  std::string restore(std::vector<uint8_t> snapshot) override;

  uint32_t read_register(unsigned number) const override;
  void write_register(unsigned number, uint32_t value) override;
  bool read_memory(uint32_t address, uint8_t* out, uint32_t size) override;
  bool write_memory(uint32_t address, const uint8_t* in, uint32_t size) override;
  void set_breakpoint(uint32_t address, bool on) override;
  void set_watchpoint(uint32_t address, uint32_t size, bool reads, bool writes, bool on) override;
  void set_debugger_attached(bool attached) override;
  StopInfo step() override;

 private:
  // DeviceHost.
  void set_interrupt(unsigned irq, bool level) override { system_.set_interrupt(irq, level); }
  void report_unknown(const Device& device, uint32_t offset, bool is_write) override;
  bool dma_read(uint32_t address, uint8_t* out, uint32_t size) override {
    return memory_.dma_read(address, out, size);
  }
  bool dma_write(uint32_t address, const uint8_t* in, uint32_t size) override {
    return memory_.dma_write(address, in, size);
  }
  EventQueue& events() override { return events_; }
  // ClockUser.
  void before_clock_change(Cycles now) override;
  void after_clock_change(Cycles now) override;

  void apply_clocks();
  void block_begins(const Block& block, Cycles at);
  bool start(ImageError* error);  // the boot ROM
  void copy_to_ram();
  // Until `until`, or the core clock changes.
  StopInfo run_slice(Cycles until, bool single);
  StopInfo stop_info(CpuStop stop);
  bool in_fault_loop() const;
  bool in_reset_loop() const;
  void snapshot(Snapshot& s);

  const Image image_;
  const BoardOptions options_;
  const Timing timing_;
  BootPlan plan_;
  EventQueue events_;
  Clocks clocks_;
  Ticks nanoseconds_;
  Rt1062Memory memory_;
  SystemControlM7 system_;
  Cpu cpu_;
  Semihosting semihosting_;
  UnknownRegisters unknown_;
  Peripherals peripherals_;
  std::unique_ptr<UsbLink> usb_;
  std::unique_ptr<UsbIpLink> usb_ip_;
  std::unique_ptr<BlockProfile> profile_;
  TraceSink* trace_ = nullptr;
  bool stop_requested_ = false;
  bool reset_requested_ = false;  // by a device
  bool powered_off_ = false;
  bool clock_changed_ = false;
  uint64_t resets_ = 0;
  uint64_t quick_resets_ = 0;  // in a row, each within kQuickResetNs of the one before
  uint64_t reset_at_ns_ = 0;
  uint32_t reset_pc_ = 0;
  std::string no_start_;  // why a reset found nothing to start
};

}  // namespace millrace::board
