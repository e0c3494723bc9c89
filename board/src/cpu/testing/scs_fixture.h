// SPDX-License-Identifier: Apache-2.0
// A Cortex-M7 without a core: registers, system control space and a vector table whose handler of
// exception n is at kHandlers + 16 n.
#pragma once

#include <gtest/gtest.h>

#include "core/event_queue.h"
#include "core/timing.h"
#include "cpu/exception_number.h"
#include "cpu/state.h"
#include "cpu/system_control_m7.h"
#include "cpu/testing/scs_test_memory.h"

namespace millrace::board::testing {

class ScsFixture : public ::testing::Test {
 protected:
  static constexpr uint32_t kVectors = 0x1000;
  static constexpr uint32_t kHandlers = 0x2000;
  static constexpr uint32_t kMainStack = 0x20008000;
  static constexpr uint32_t kProcessStack = 0x2000C000;
  static constexpr uint32_t kThreadPc = 0x4000;

  // Registers by address.
  static constexpr uint32_t kIcsr = 0xE000ED04;
  static constexpr uint32_t kVtor = 0xE000ED08;
  static constexpr uint32_t kAircr = 0xE000ED0C;
  static constexpr uint32_t kScr = 0xE000ED10;
  static constexpr uint32_t kCcr = 0xE000ED14;
  static constexpr uint32_t kShpr1 = 0xE000ED18;
  static constexpr uint32_t kShpr2 = 0xE000ED1C;
  static constexpr uint32_t kShpr3 = 0xE000ED20;
  static constexpr uint32_t kShcsr = 0xE000ED24;
  static constexpr uint32_t kCfsr = 0xE000ED28;
  static constexpr uint32_t kHfsr = 0xE000ED2C;
  static constexpr uint32_t kDfsr = 0xE000ED30;
  static constexpr uint32_t kMmfar = 0xE000ED34;
  static constexpr uint32_t kBfar = 0xE000ED38;
  static constexpr uint32_t kCpacr = 0xE000ED88;
  static constexpr uint32_t kDemcr = 0xE000EDFC;
  static constexpr uint32_t kFpccr = 0xE000EF34;
  static constexpr uint32_t kFpcar = 0xE000EF38;
  static constexpr uint32_t kFpdscr = 0xE000EF3C;
  static constexpr uint32_t kIser = 0xE000E100;
  static constexpr uint32_t kIspr = 0xE000E200;
  static constexpr uint32_t kIpr = 0xE000E400;

  ScsFixture() : scs(events, memory, timing) {
    memory.attach(scs, 0xE0000000, 0x100000);
    memory.set_attributes_source(&scs);
    for (unsigned n = 1; n < kExceptions; ++n) {
      memory.set_word(kVectors + 4 * n, handler(n) | 1);
    }
    poke(kVtor, kVectors);
    poke(kCpacr, 0x00F00000);
    state.r[13] = kMainStack;
    state.other_sp = kProcessStack;
    state.r[15] = kThreadPc;
  }

  static uint32_t handler(unsigned n) { return kHandlers + 16 * n; }

  uint32_t peek(uint32_t address, unsigned size = 4) {
    return memory.load(address, size, true, events.now()).value;
  }
  void poke(uint32_t address, uint32_t value, unsigned size = 4) {
    memory.store(address, size, value, true, events.now());
  }
  void enable(unsigned irq, uint8_t priority) {
    poke(kIser + 4 * (irq / 32), 1u << (irq % 32));
    poke(kIpr + irq, priority, 1);
  }
  void pend(unsigned irq) { poke(kIspr + 4 * (irq / 32), 1u << (irq % 32)); }
  // Enters whatever is due, as the core does at a block boundary.
  uint32_t step() { return scs.attention() ? scs.enter_pending(state) : 0; }
  uint32_t leave() { return scs.exception_return(state, state.r[14]); }
  // Runs on a process stack, unprivileged if asked.
  void use_process_stack(bool privileged = true) {
    scs.write_special(state, 20, privileged ? 2 : 3, 0);
  }
  void enable_faults() { poke(kShcsr, 7u << 16); }

  EventQueue events;
  Timing timing;
  ScsTestMemory memory;
  SystemControlM7 scs;
  CpuState state;
};

}  // namespace millrace::board::testing
