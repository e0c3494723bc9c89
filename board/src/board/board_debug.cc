// SPDX-License-Identifier: Apache-2.0
// The debugger's view of the board.
#include "board/rt1062_board.h"
#include "core/bytes.h"

namespace millrace::board {
namespace {

// gdb's numbers (board.h).
enum : unsigned {
  kPc = 15,
  kXpsr = 16,
  kMsp = 17,
  kPsp = 18,
  kPrimask = 19,
  kBasepri = 20,
  kFaultmask = 21,
  kControl = 22,
  kFpscr = 23,
  kFirstS = 32,
  kLastS = 63,
};

}  // namespace

uint32_t Rt1062Board::read_register(unsigned number) const {
  const CpuState& state = cpu_.state;
  if (number <= kPc) return state.r[number];
  if (number >= kFirstS && number <= kLastS) return state.s[number - kFirstS];
  switch (number) {
    case kXpsr:
      return state.xpsr();
    case kMsp:
      return state.uses_psp() ? state.other_sp : state.r[13];
    case kPsp:
      return state.uses_psp() ? state.r[13] : state.other_sp;
    case kPrimask:
      return state.primask;
    case kBasepri:
      return state.basepri;
    case kFaultmask:
      return state.faultmask;
    case kControl:
      return state.control;
    case kFpscr:
      return state.fpscr;
    default:
      return 0;
  }
}

void Rt1062Board::write_register(unsigned number, uint32_t value) {
  CpuState& state = cpu_.state;
  if (number == kPc) {
    cpu_.set_pc(value & ~1u);
    return;
  }
  if (number < kPc) {
    state.r[number] = value;
  } else if (number >= kFirstS && number <= kLastS) {
    state.s[number - kFirstS] = value;
  } else {
    switch (number) {
      case kXpsr:  // the flags and IT state; the exception number is not the debugger's to change
        state.set_apsr(value);
        state.itstate = ((value >> 25) & 3) | ((value >> 10) & 0x3F) << 2;
        break;
      case kMsp:
        (state.uses_psp() ? state.other_sp : state.r[13]) = value & ~3u;
        break;
      case kPsp:
        (state.uses_psp() ? state.r[13] : state.other_sp) = value & ~3u;
        break;
      case kPrimask:
        state.primask = value & 1;
        break;
      case kBasepri:
        state.basepri = value & 0xFF;
        break;
      case kFaultmask:
        state.faultmask = value & 1;
        break;
      case kControl: {
        const bool psp = state.uses_psp();
        state.control = value & 7;
        if (state.uses_psp() != psp) state.swap_stacks();
        break;
      }
      case kFpscr:
        state.fpscr = value;
        break;
      default:
        return;
    }
    system_.change_masks(state);
  }
  cpu_.state_changed();
}

bool Rt1062Board::read_memory(uint32_t address, uint8_t* out, uint32_t size) {
  const bool system = address >= 0xE0000000 && address < 0xE0100000;
  if (!system) return memory_.debug_read(address, out, size);
  if (address % 4 != 0 || size != 4) return false;
  store_le(out, 4, system_.read_register(address));
  return true;
}

bool Rt1062Board::write_memory(uint32_t address, const uint8_t* in, uint32_t size) {
  if (!memory_.debug_write(address, in, size)) return false;
  cpu_.state_changed();
  return true;
}

void Rt1062Board::set_breakpoint(uint32_t address, bool on) { cpu_.set_breakpoint(address, on); }

void Rt1062Board::set_watchpoint(uint32_t address, uint32_t size, bool reads, bool writes,
                                 bool on) {
  cpu_.set_watchpoint({address, size, reads, writes}, on);
}

void Rt1062Board::set_debugger_attached(bool attached) { cpu_.halting_debug = attached; }

}  // namespace millrace::board
