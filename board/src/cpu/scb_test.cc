// SPDX-License-Identifier: Apache-2.0
// Registers of the system control space that are not the topic of another test: NVIC and SCB
// access, special registers, caches, DWT, ITM.
#include "cpu/testing/scs_fixture.h"

namespace millrace::board {
namespace {

class Scb : public testing::ScsFixture {};

// Cortex-M7 TRM (DDI 0489) tables 3-1 and 4-1 for r1p1; the cache sizes from their geometry.
TEST_F(Scb, IdentificationValues) {
  EXPECT_EQ(peek(0xE000ED00), 0x411FC271u);
  EXPECT_EQ(peek(0xE000E004), 4u);  // 32 * (4 + 1) interrupts
  EXPECT_EQ(peek(0xE000ED78), 0x09000003u);
  EXPECT_EQ(peek(0xE000ED7C), 0x8303C003u);
  // NumSets-1 << 13 | ways-1 << 3 | log2(words)-2: data 256 sets 4 ways, instruction 512 x 2.
  EXPECT_EQ(peek(0xE000ED80), 0xF0000000u | (255u << 13) | (3u << 3) | 1u);
  poke(0xE000ED84, 1);
  EXPECT_EQ(peek(0xE000ED80), 0xF0000000u | (511u << 13) | (1u << 3) | 1u);
  EXPECT_EQ(peek(0xE000EF40), 0x10110221u);
  EXPECT_EQ(peek(0xE000EF44), 0x12000011u);
  EXPECT_EQ(peek(0xE000EF48), 0x00000040u);
}

TEST_F(Scb, ConfigurationControlForcesItsFixedBits) {
  EXPECT_EQ(peek(kCcr), 0x00040200u);
  poke(kCcr, 0);
  EXPECT_EQ(peek(kCcr), 0x00040200u);
  poke(kCcr, 0x18);
  EXPECT_TRUE(scs.trap_unaligned());
  EXPECT_TRUE(scs.trap_divide_by_zero());
}

TEST_F(Scb, CachesFollowCcr) {
  poke(kCcr, 1u << 17);
  EXPECT_TRUE(memory.icache);
  EXPECT_FALSE(memory.dcache);
  poke(kCcr, 3u << 16);
  EXPECT_TRUE(memory.dcache);
  poke(kCcr, 0);
  EXPECT_FALSE(memory.icache);
  EXPECT_FALSE(memory.dcache);
}

TEST_F(Scb, CacheMaintenanceIsForwardedAndItsStallOwed) {
  using Op = MemorySystem::CacheOp;
  const std::pair<uint32_t, Op> table[] = {{0x50, Op::icache_all},
                                           {0x58, Op::icache_line},
                                           {0x5C, Op::dcache_invalidate_line},
                                           {0x60, Op::dcache_invalidate_set_way},
                                           {0x64, Op::dcache_clean_line},
                                           {0x68, Op::dcache_clean_line},
                                           {0x6C, Op::dcache_clean_set_way},
                                           {0x70, Op::dcache_clean_invalidate_line},
                                           {0x74, Op::dcache_clean_invalidate_set_way},
                                           {0x78, Op::branch_predictor_all}};
  memory.cache_op_stall = 5;
  for (const auto& [offset, op] : table) {
    memory.cache_ops.clear();
    poke(0xE000EF00 + offset, 0x20200040);
    ASSERT_EQ(memory.cache_ops.size(), 1u);
    EXPECT_EQ(memory.cache_ops[0], std::make_pair(op, 0x20200040u));
    EXPECT_EQ(step(), 5u);
    EXPECT_EQ(step(), 0u);
  }
  poke(0xE000EF54, 0);
  EXPECT_EQ(step(), 0u);
}

// B3.4: set and clear registers over one state; priorities by byte, four bits.
TEST_F(Scb, InterruptRegisters) {
  poke(0xE000E100, 0x80000001);
  poke(0xE000E110, 0x80000000);
  EXPECT_EQ(peek(0xE000E100), 0x80000001u);
  EXPECT_EQ(peek(0xE000E180), 0x80000001u);
  EXPECT_EQ(peek(0xE000E110), 0x80000000u);
  EXPECT_EQ(peek(0xE000E114), 0u);
  poke(0xE000E180, 1);
  EXPECT_EQ(peek(0xE000E100), 0x80000000u);
  poke(0xE000E204, 0x10);
  EXPECT_EQ(peek(0xE000E284), 0x10u);
  EXPECT_NE(peek(kIcsr) & (1u << 22), 0u);
  poke(0xE000E284, 0x10);
  EXPECT_EQ(peek(0xE000E204), 0u);
  poke(0xE000E45D, 0xFF, 1);
  EXPECT_EQ(peek(0xE000E45C), 0x0000F000u);
  poke(0xE000E45C, 0x12345678);
  EXPECT_EQ(peek(0xE000E45C), 0x10305070u);
  EXPECT_EQ(peek(0xE000E45E, 2), 0x1030u);
  poke(0xE000E4A0, 0xFFFFFFFF);  // interrupt 160
  EXPECT_EQ(peek(0xE000E4A0), 0u);
  poke(0xE000E214, 0xFFFFFFFF);
  EXPECT_EQ(peek(0xE000E214), 0u);
}

TEST_F(Scb, ActiveRegisterShowsTheHandler) {
  enable(33, 0);
  pend(33);
  step();
  EXPECT_EQ(peek(0xE000E304), 2u);
  EXPECT_EQ(peek(0xE000E204), 0u);
  leave();
  EXPECT_EQ(peek(0xE000E304), 0u);
}

TEST_F(Scb, PendingIsKeptByAHighLine) {
  scs.set_interrupt(1, true);
  poke(0xE000E280, 2);
  EXPECT_EQ(peek(0xE000E200), 2u);
  scs.set_interrupt(1, false);
  EXPECT_EQ(peek(0xE000E200), 2u);
  poke(0xE000E280, 2);
  EXPECT_EQ(peek(0xE000E200), 0u);
}

TEST_F(Scb, SoftwareTriggerPendsAnInterrupt) {
  poke(0xE000EF00, 40);
  EXPECT_EQ(peek(0xE000E204), 0x100u);
  poke(0xE000EF00, 0x1FF);  // no such line
  EXPECT_EQ(step(), 0u);
}

TEST_F(Scb, UnprivilegedTriggerNeedsUserSetMPend) {
  EXPECT_FALSE(scs.attributes(0xE000EF00, false).writable);
  poke(kCcr, 2);
  EXPECT_TRUE(scs.attributes(0xE000EF00, false).writable);
  EXPECT_FALSE(scs.attributes(0xE000EF04, false).writable);
}

TEST_F(Scb, HandlerPrioritiesExistOnlyForExceptionsThatDo) {
  poke(kShpr1, 0xFFFFFFFF);
  poke(kShpr2, 0xFFFFFFFF);
  poke(kShpr3, 0xFFFFFFFF);
  EXPECT_EQ(peek(kShpr1), 0x00F0F0F0u);
  EXPECT_EQ(peek(kShpr2), 0xF0000000u);
  EXPECT_EQ(peek(kShpr3), 0xF0F000F0u);
  poke(kShpr3 + 2, 0x40, 1);
  EXPECT_EQ(peek(kShpr3), 0xF04000F0u);
}

// B3.2.6: nothing without the key; the request stops exceptions.
TEST_F(Scb, ResetRequestNeedsTheKey) {
  poke(kAircr, 4);
  EXPECT_FALSE(scs.reset_requested());
  poke(kAircr, 0x05FA0304);
  EXPECT_EQ(peek(kAircr), 0xFA050300u);
  EXPECT_TRUE(scs.reset_requested());
  EXPECT_TRUE(scs.attention());
  poke(kIcsr, 1u << 31);
  EXPECT_EQ(step(), 0u);
  EXPECT_EQ(state.ipsr, 0u);
  scs.reset();
  EXPECT_FALSE(scs.reset_requested());
  EXPECT_EQ(peek(kAircr), 0xFA050000u);
  EXPECT_EQ(peek(kVtor), 0u);
  EXPECT_EQ(peek(kFpccr), 0xC0000000u);
}

// B3.2.4: VECTPENDING follows BASEPRI and FAULTMASK but not PRIMASK.
TEST_F(Scb, VectPendingIgnoresPrimask) {
  enable(2, 0x80);
  pend(2);
  state.primask = 1;
  scs.change_masks(state);
  EXPECT_EQ((peek(kIcsr) >> 12) & 0x1FF, 18u);
  scs.write_special(state, 17, 0x80, 0);
  EXPECT_EQ((peek(kIcsr) >> 12) & 0x1FF, 0u);
  scs.write_special(state, 17, 0x90, 0);
  EXPECT_EQ((peek(kIcsr) >> 12) & 0x1FF, 18u);
}

TEST_F(Scb, SystemExceptionsArePendedAndClearedThroughIcsr) {
  state.primask = 1;
  poke(kIcsr, (1u << 28) | (1u << 26));
  EXPECT_EQ(peek(kIcsr) & 0x14000000, 0x14000000u);
  EXPECT_EQ((peek(kIcsr) >> 12) & 0x1FF, kPendSv);
  poke(kIcsr, (1u << 27) | (1u << 25));
  EXPECT_EQ(peek(kIcsr) & 0x14000000, 0u);
}

TEST_F(Scb, VectorTableIsAlignedTo128Bytes) {
  poke(kVtor, 0x2000FFFF);
  EXPECT_EQ(peek(kVtor), 0x2000FF80u);
}

// B5.2.2, B5.2.3.
TEST_F(Scb, SpecialRegistersObeyPrivilege) {
  state.set_apsr(0xF80F0000);
  EXPECT_EQ(scs.read_special(state, 0), 0xF80F0000u);
  EXPECT_EQ(scs.read_special(state, 8), kMainStack);
  EXPECT_EQ(scs.read_special(state, 9), kProcessStack);
  scs.write_special(state, 20, 3, 0);
  EXPECT_EQ(state.r[13], kProcessStack);
  EXPECT_EQ(scs.read_special(state, 20), 3u);
  EXPECT_EQ(scs.read_special(state, 9), 0u);
  scs.write_special(state, 20, 0, 0);
  EXPECT_EQ(state.control, 3u);
  scs.write_special(state, 16, 1, 0);
  EXPECT_EQ(state.primask, 0u);
  scs.write_special(state, 0, 0, 2);  // APSR_nzcvq
  EXPECT_EQ(state.apsr(), 0x000F0000u);
  scs.write_special(state, 0, 0xF8000000, 1);  // APSR_g
  EXPECT_EQ(state.apsr(), 0u);
}

TEST_F(Scb, StackPointersAreReachedByNameInEitherMode) {
  use_process_stack();
  scs.write_special(state, 8, 0x20001003, 0);
  scs.write_special(state, 9, 0x20002000, 0);
  EXPECT_EQ(state.other_sp, 0x20001000u);
  EXPECT_EQ(state.r[13], 0x20002000u);
  enable(0, 0);
  pend(0);
  step();
  EXPECT_EQ(scs.read_special(state, 5), 16u);
  EXPECT_EQ(scs.read_special(state, 9), 0x20001FE0u);
  scs.write_special(state, 20, 2, 0);  // SPSEL is not writable in handler mode
  EXPECT_EQ(state.control, 0u);
}

TEST_F(Scb, FaultmaskCannotBeSetInNmi) {
  poke(kIcsr, 1u << 31);
  step();
  scs.write_special(state, 19, 1, 0);
  EXPECT_EQ(state.faultmask, 0u);
  state.faultmask = 1;  // CPSID f
  scs.change_masks(state);
  EXPECT_EQ(state.faultmask, 0u);
}

// C1.8.
TEST_F(Scb, CycleCounterFollowsTime) {
  EXPECT_EQ(peek(0xE0001000), 0x40000000u);
  poke(0xE0001000, 1);
  events.advance(100);
  EXPECT_EQ(peek(0xE0001004), 0u);  // DEMCR.TRCENA is off
  poke(kDemcr, 1u << 24);
  events.advance(250);
  EXPECT_EQ(peek(0xE0001004), 150u);
  poke(0xE0001004, 0xFFFFFFF0);
  events.advance(270);
  EXPECT_EQ(peek(0xE0001004), 4u);
  poke(0xE0001000, 0);
  events.advance(300);
  EXPECT_EQ(peek(0xE0001004), 4u);
}

TEST_F(Scb, ExceptionOverheadIsCountedInEightBits) {
  poke(kDemcr, 1u << 24);
  poke(0xE0001000, 1u << 18);
  enable(0, 0);
  for (unsigned i = 0; i < 12; ++i) {
    pend(0);
    step();
    leave();
  }
  EXPECT_EQ(peek(0xE000100C), (12 * (timing.exception_entry + timing.exception_exit)) & 0xFF);
  EXPECT_EQ(peek(0xE0001008), 0u);
  scs.count(Dwt::Counter::sleep, 3);
  EXPECT_EQ(peek(0xE0001010), 0u);  // not enabled
}

TEST_F(Scb, ComparatorWatchesData) {
  poke(kDemcr, (1u << 24) | (1u << 16));
  EXPECT_FALSE(scs.watches_data());
  poke(0xE0001020 + 16, 0x20000100);
  poke(0xE0001024 + 16, 3);  // 8 bytes
  poke(0xE0001028 + 16, 6);  // writes
  EXPECT_TRUE(scs.watches_data());
  scs.watch_data(0x20000104, 4, false, 0);
  scs.watch_data(0x20000108, 4, true, 0);
  scs.watch_data(0x200000FC, 4, true, 0);
  EXPECT_EQ(step(), 0u);
  EXPECT_EQ(peek(0xE0001038), 6u);
  scs.watch_data(0x200000FE, 4, true, 0);  // overlaps
  EXPECT_EQ(peek(0xE0001038), 6u | (1u << 24));
  EXPECT_EQ(peek(0xE0001038), 6u);
  step();
  EXPECT_EQ(state.ipsr, kDebugMonitor);
  EXPECT_EQ(peek(kDfsr), 4u);
}

// C1.7.
TEST_F(Scb, StimulusPortsWriteWhenEnabled) {
  std::vector<std::tuple<unsigned, uint32_t, unsigned>> seen;
  scs.set_itm_output(
      [&](unsigned port, uint32_t value, unsigned size) { seen.emplace_back(port, value, size); });
  poke(0xE0000000, 'a', 1);
  EXPECT_EQ(peek(0xE0000000), 0u);
  poke(kDemcr, 1u << 24);
  poke(0xE0000E00, 0x80000001);
  poke(0xE0000E80, 1);
  EXPECT_EQ(peek(0xE0000000), 1u);
  EXPECT_EQ(peek(0xE0000004), 0u);
  poke(0xE0000000, 'b', 1);
  poke(0xE0000004, 'c', 1);
  poke(0xE000007C, 0x11223344, 4);
  using Write = std::tuple<unsigned, uint32_t, unsigned>;
  EXPECT_EQ(seen, (std::vector<Write>{Write{0, 'b', 1}, Write{31, 0x11223344, 4}}));
}

// What a restored object does next is what the saved one does.
TEST_F(Scb, SnapshotRestoresEveryUnit) {
  poke(kShcsr, 7u << 16);
  poke(kCcr, 0x11);
  poke(kDemcr, 1u << 24);
  poke(0xE0001000, 1);
  poke(0xE000ED9C, 0x20000013);
  poke(0xE000EDA0, 0x0300001F);
  poke(0xE000E014, 99);
  poke(0xE000E010, 3);
  enable(40, 0x60);
  pend(40);
  step();
  pend(41);
  scs.fault(state, FaultCause::bus_data, 0x77);
  events.advance(50'000);
  Snapshot saved;
  events.snapshot(saved);
  scs.snapshot(saved);
  const auto dump = [&] {
    std::vector<uint32_t> words;
    for (uint32_t address = 0xE0000000; address < 0xE0002000; address += 4) {
      words.push_back(peek(address));
    }
    for (uint32_t address = 0xE000E000; address < 0xE000F000; address += 4) {
      words.push_back(peek(address));
    }
    words.push_back(static_cast<uint32_t>(events.next()));
    return words;
  };
  const std::vector<uint32_t> before = dump();
  const std::vector<uint8_t> bytes = saved.take();
  scs.reset();
  EXPECT_NE(dump(), before);
  Snapshot restored(bytes);
  events.snapshot(restored);
  scs.snapshot(restored);
  EXPECT_TRUE(restored.ok()) << restored.error();
  EXPECT_EQ(dump(), before);
  EXPECT_EQ(scs.trap_divide_by_zero(), true);
}

TEST_F(Scb, ReservedReadsAsZeroAndIgnoresWrites) {
  for (const uint32_t address : {0xE0002000u, 0xE0003000u, 0xE000E000u, 0xE000EDF0u, 0xE0040000u,
                                 0xE0041000u, 0xE00FF000u, 0xE00FFFFCu, 0xE000ECFCu}) {
    poke(address, 0xFFFFFFFF);
    EXPECT_EQ(peek(address), 0u) << std::hex << address;
  }
}

}  // namespace
}  // namespace millrace::board
