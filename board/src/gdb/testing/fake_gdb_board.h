// SPDX-License-Identifier: Apache-2.0
// A board for tests of the debugger: registers, 1 KB of RAM and a flash sector, and a program of
// stops. An instruction takes a cycle and two bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "millrace/board/board.h"

namespace millrace::board::testing {

class FakeGdbBoard final : public Board {
 public:
  static constexpr uint32_t kRam = 0x20000000;
  static constexpr uint32_t kFlash = 0x60000000;
  static constexpr uint32_t kSystem = 0xE000ED00;  // whole words only
  static constexpr uint32_t kBytes = 1024;

  FakeGdbBoard() {
    registers[15] = kFlash;
    registers[16] = 0x01000000;
    flash.fill(0xFF);
  }

  // From `cycle` on run_until() stops once for `reason`; in the order of the calls.
  StopInfo& stop_at(uint64_t cycle, StopReason reason) {
    stops.emplace_back(cycle, StopInfo{}).second.reason = reason;
    return stops.back().second;
  }

  StopInfo run_until(uint64_t until) override {
    for (;;) {
      if (!stops.empty() && stops.front().first <= now) {
        StopInfo info = stops.front().second;
        stops.pop_front();
        info.pc = registers[15];
        return info;
      }
      if (now >= until) return stop_here(StopReason::cycles);
      execute();
      if (breakpoints.contains(registers[15])) {
        return stop_here(StopReason::breakpoint);
      }
    }
  }
  StopInfo step() override {
    execute();
    return stop_here(StopReason::cycles);
  }
  StopInfo run_until_ns(uint64_t until) override { return run_until(until); }
  void request_stop() override {}
  void reset() override {
    ++resets;
    registers[15] = kFlash;
  }
  bool uart_input(unsigned, uint8_t) override { return false; }
  uint64_t cycles() const override { return now; }
  uint64_t ns() const override { return now; }
  uint64_t core_hz() const override { return 600'000'000; }
  BoardStats stats() const override { return board_stats; }
  std::string fault_state() override { return fault; }
  void start_profile() override {}
  void start_trace(TraceSink*) override {}
  UsbSerialPort* connect_usb(const UsbHostOptions&, std::string*) override { return nullptr; }
  UsbIpPort* export_usb(const UsbHostOptions&, std::string*) override { return nullptr; }
  std::vector<ProfileEntry> profile() const override { return {}; }
  uint64_t trace_digest() const override { return 0; }
  std::vector<uint8_t> save() override { return {}; }
  std::string restore(std::vector<uint8_t>) override { return {}; }

  uint32_t read_register(unsigned number) const override { return registers.at(number); }
  void write_register(unsigned number, uint32_t value) override {
    registers.at(number) = value;
    written.push_back(number);
  }
  bool read_memory(uint32_t address, uint8_t* out, uint32_t size) override {
    if (address >= kSystem && address < kSystem + 64) {
      if (address % 4 != 0 || size != 4) return false;
      std::memset(out, static_cast<int>(address & 0xFF), 4);
      return true;
    }
    uint8_t* const there = find(address, size);
    if (there == nullptr) return false;
    std::copy_n(there, size, out);
    return true;
  }
  bool write_memory(uint32_t address, const uint8_t* in, uint32_t size) override {
    uint8_t* const there = find(address, size);
    if (there == nullptr) return false;
    std::copy_n(in, size, there);
    return true;
  }
  void set_breakpoint(uint32_t address, bool on) override {
    if (on) {
      breakpoints.insert(address);
    } else {
      breakpoints.erase(address);
    }
  }
  void set_watchpoint(uint32_t address, uint32_t size, bool reads, bool writes, bool on) override {
    const auto watch = std::tuple(address, size, reads, writes);
    if (on) {
      watchpoints.insert(watch);
    } else {
      watchpoints.erase(watch);
    }
  }
  void set_debugger_attached(bool on) override { attached = on; }

  std::array<uint32_t, 64> registers{};
  std::vector<unsigned> written;  // numbers, in order
  std::array<uint8_t, kBytes> ram{};
  std::array<uint8_t, 8192> flash{};
  std::deque<std::pair<uint64_t, StopInfo>> stops;
  // Instead of stepping to the next instruction.
  std::function<void(FakeGdbBoard&)> instruction;
  std::set<uint32_t> breakpoints;
  std::set<std::tuple<uint32_t, uint32_t, bool, bool>> watchpoints;
  BoardStats board_stats;
  std::string fault;
  uint64_t now = 0;
  unsigned resets = 0;
  bool attached = false;

 private:
  StopInfo stop_here(StopReason reason) const {
    StopInfo info;
    info.reason = reason;
    info.pc = registers[15];
    return info;
  }
  void execute() {
    ++now;
    if (instruction) {
      instruction(*this);
    } else {
      registers[15] += 2;
    }
  }
  uint8_t* find(uint32_t address, uint32_t size) {
    if (address >= kRam && size <= kBytes && address - kRam <= kBytes - size) {
      return ram.data() + (address - kRam);
    }
    const auto flash_bytes = static_cast<uint32_t>(flash.size());
    if (address >= kFlash && size <= flash_bytes && address - kFlash <= flash_bytes - size) {
      return flash.data() + (address - kFlash);
    }
    return nullptr;
  }
};

}  // namespace millrace::board::testing
