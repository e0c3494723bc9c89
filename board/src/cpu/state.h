// SPDX-License-Identifier: Apache-2.0
// The registers of the Cortex-M7, as plain data: what instructions, exceptions, the debugger and
// snapshots share.
#pragma once

#include <array>
#include <cstdint>

namespace millrace::board {

struct CpuState {
  // r[13] is the stack pointer in use. r[15] is the address of the next instruction between blocks
  // and not kept up while one executes.
  std::array<uint32_t, 16> r{};
  uint32_t other_sp = 0;  // PSP while MSP is in use, and the other way round

  // Flags are kept as what they follow from: N = n_source bit 31, Z = (z_source == 0).
  uint32_t n_source = 0;
  uint32_t z_source = 1;
  uint32_t c = 0;  // 0 or 1
  uint32_t v = 0;
  uint32_t q = 0;
  uint32_t ge = 0;  // GE[3:0]
  uint32_t itstate = 0;
  uint32_t ipsr = 0;  // exception number; 0: thread mode

  uint32_t primask = 0;
  uint32_t faultmask = 0;
  uint32_t basepri = 0;  // as written, upper 4 bits count
  uint32_t control = 0;  // nPRIV, SPSEL, FPCA

  std::array<uint32_t, 32> s{};  // d[i] is s[2i] (low) and s[2i+1]
  uint32_t fpscr = 0;

  bool exclusive = false;  // local monitor
  uint32_t exclusive_address = 0;

  bool privileged() const { return ipsr != 0 || (control & 1) == 0; }
  bool uses_psp() const { return ipsr == 0 && (control & 2) != 0; }

  uint32_t apsr() const {
    return (n_source & 0x80000000u) | (z_source == 0 ? 0x40000000u : 0) | (c << 29) | (v << 28) |
           (q << 27) | (ge << 16);
  }
  void set_apsr(uint32_t x) {
    n_source = x;
    z_source = (x & 0x40000000u) != 0 ? 0 : 1;
    c = (x >> 29) & 1;
    v = (x >> 28) & 1;
    q = (x >> 27) & 1;
    ge = (x >> 16) & 15;
  }
  uint32_t xpsr() const {
    return apsr() | ((itstate & 3) << 25) | ((itstate >> 2) << 10) | (1u << 24) | ipsr;
  }
  // Switches which stack r[13] is; call around changes of ipsr and control.
  void swap_stacks() {
    const uint32_t sp = r[13];
    r[13] = other_sp;
    other_sp = sp;
  }
  friend bool operator==(const CpuState&, const CpuState&) = default;
};

}  // namespace millrace::board
