// SPDX-License-Identifier: Apache-2.0
// Skipping rounds of loops that wait is compared with executing them: registers, time, counters and
// digest after every slice.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>

#include "cpu/testing/fake_board.h"

namespace millrace::board {
namespace {

using testing::FakeBoard;
using Code = std::vector<uint16_t>;

constexpr uint32_t kIdleData = 0x20000000;
constexpr uint32_t kIdleStack = 0x10000 - 64;
constexpr uint32_t kDwt = 0xE0001000;
constexpr uint32_t kIdleHandler = 0x400;

// r2 is the DWT, r4 the data.
Code bcond(unsigned cond, size_t from, size_t to) {
  const int offset = static_cast<int>(to) - static_cast<int>(from) - 2;
  return {static_cast<uint16_t>(0xD000 | cond << 8 | (offset & 0xFF))};
}
uint16_t branch(size_t from, size_t to) {
  const int offset = static_cast<int>(to) - static_cast<int>(from) - 2;
  return static_cast<uint16_t>(0xE000 | (offset & 0x7FF));
}

// A board whose cycle counter runs from `start`, and whose events change a variable, or interrupt.
struct IdleBoard {
  IdleBoard(const Timing* timing, bool skip, const Code& code, uint32_t start, uint32_t seed)
      : board(timing), random(seed), alarm(&IdleBoard::ring, this) {
    board.memory.on_device_load = [start](uint32_t address, Cycles at) {
      return address == kDwt + 4 ? start + static_cast<uint32_t>(at) : 0;
    };
    board.system.on_counter = [start](uint32_t address, Cycles from, Cycles to, ValueRange* range) {
      *range = {start + static_cast<uint32_t>(from), static_cast<uint32_t>(to - from)};
      return address == kDwt + 4;
    };
    board.memory.device_stall = seed % 3;
    board.memory.set_halfwords(kIdleHandler, {0xF108, 0x0801, 0x4770} /* add r8, #1; bx lr */);
    board.load(code);
    board.r(2) = kDwt;
    board.r(4) = kIdleData;
    board.cpu.skip_idle_loops = skip;
    next();
  }
  void next() { board.events.schedule(alarm, board.events.now() + 1 + random() % 30000); }
  static void ring(void* self, Cycles) {
    IdleBoard& b = *static_cast<IdleBoard*>(self);
    b.board.memory.set_word(kIdleData, b.board.memory.word(kIdleData) + 1);
    if (b.random() % 2 == 0 && b.interrupts) b.board.system.pending_handler = kIdleHandler;
    b.next();
  }

  FakeBoard board;
  std::mt19937 random;
  Event alarm;
  bool interrupts = true;
};

// Runs the code both ways in equal slices. Returns the rounds skipped.
uint64_t compare_cycles(const Timing* timing, const Code& code,
                        const std::array<uint32_t, 13>& registers, uint32_t start, uint32_t seed,
                        bool interrupts = true) {
  IdleBoard skips(timing, true, code, start, seed);
  IdleBoard plain(timing, false, code, start, seed);
  for (IdleBoard* b : {&skips, &plain}) {
    b->interrupts = interrupts;
    for (unsigned k = 0; k < 13; ++k) {
      if (k != 2 && k != 4) b->board.r(k) = registers[k];
    }
  }
  std::mt19937 random(seed + 1);
  for (Cycles until = 0; until < 200000;) {
    until += 1 + random() % (seed % 2 == 0 ? 60000 : 3000);
    const CpuStop stop = skips.board.cpu.run(until);
    EXPECT_EQ(stop, plain.board.cpu.run(until));
    const Cpu& a = skips.board.cpu;
    const Cpu& b = plain.board.cpu;
    EXPECT_TRUE(a.state == b.state) << "registers differ";
    EXPECT_EQ(a.now(), b.now());
    EXPECT_EQ(a.instructions(), b.instructions());
    EXPECT_EQ(a.trace_digest(), b.trace_digest());
    EXPECT_TRUE(a.counters() == b.counters()) << "counters differ";
    for (const uint32_t base : {kIdleData, kIdleStack}) {
      for (uint32_t word = 0; word < 64; word += 4) {
        EXPECT_EQ(skips.board.memory.word(base + word), plain.board.memory.word(base + word))
            << std::hex << base + word;
      }
    }
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed << " until " << until << " code "
                    << ::testing::PrintToString(code);
      break;
    }
    if (stop != CpuStop::cycles) break;
  }
  EXPECT_EQ(plain.board.cpu.skipped_rounds(), 0u);
  return skips.board.cpu.skipped_rounds();
}

// while (*r4 < r5) {}
const Code kWaitForVariable = {0x6820, 0x42A8, 0xD3FC} /* l: ldr r0, [r4]; cmp r0, r5; bcc l */;
// while (CYCCNT - r1 < r0) {}
const Code kWaitForTime = {0x6853, 0x1A5B, 0x4283,
                           0xD3FB} /* l: ldr r3, [r2, #4]; subs r3, r3, r1; cmp r3, r0; bcc l */;

TEST(Idle, WaitingForAVariableIsSkipped) {
  const Timing timing;
  for (const Timing* t : {static_cast<const Timing*>(nullptr), &timing}) {
    // 200,000 cycles at no more than 5 a round; some 10 events stop the skipping for 1024 cycles.
    EXPECT_GT(compare_cycles(t, kWaitForVariable, {0, 0, 0, 0, 0, 1000000}, 0, 4), 25000u);
  }
}

TEST(Idle, WaitingForTimeIsSkippedAndEndsOnTime) {
  const Timing timing;
  for (const uint32_t start : {0u, 0xFFFFFF00u, 0x7FFFFFF0u, 0xFFFF0000u}) {
    EXPECT_GT(compare_cycles(&timing, kWaitForTime, {150000, start}, start, 4), 15000u);
  }
}

TEST(Idle, ALoopThatIsLeftRightAfterASkip) {
  const Timing timing;
  for (uint32_t n = 1500; n < 1540; ++n) {
    compare_cycles(&timing, kWaitForTime, {n, 0}, 0, 2);
  }
}

TEST(Idle, AVariableChangedWhileTheLoopIsWatched) {
  // The event comes in any cycle of the rounds that are watched.
  const Timing timing;
  for (uint32_t when = 1; when < 60; ++when) {
    auto run = [&](bool skip) {
      auto b = std::make_unique<FakeBoard>(&timing);
      b->cpu.skip_idle_loops = skip;
      b->load(kWaitForVariable);
      b->r(4) = kIdleData;
      b->r(5) = 1;
      Event event(
          [](void* self, Cycles) { static_cast<FakeBoard*>(self)->memory.set_word(kIdleData, 1); },
          b.get());
      b->events.schedule(event, when);
      EXPECT_EQ(b->cpu.run(100000), CpuStop::breakpoint);
      return b;
    };
    const auto a = run(true);
    const auto b = run(false);
    EXPECT_EQ(a->cpu.now(), b->cpu.now());
    EXPECT_LT(a->cpu.now(), when + 40u);
    EXPECT_EQ(a->cpu.trace_digest(), b->cpu.trace_digest());
  }
}

// As micros(), delay() and yield() of an Arduino core: exclusives, a product's upper half, an IT
// block, a call whose function stores flags and masks interrupts. r4 is the data, r6 the scale.
const Code kDelay = {
    0xF8D2, 0x8004,          // head: ldr r8, [r2, #4]
    0xE854, 0x3F04,          // loop: ldrex r3, [r4, #16]
    0x6960, 0x2701,          // ldr r0, [r4, #20]; movs r7, #1
    0xE844, 0x7104,          // strex r1, r7, [r4, #16]
    0x2900, 0xD1F7, 0x6853,  // cmp r1, #0; bne loop; ldr r3, [r2, #4]
    0xEBB3, 0x0308,          // subs r3, r3, r8
    0xFBA6, 0x1303,          // umull r1, r3, r6, r3
    0xF240, 0x37E8,          // movw r7, #1000
    0x42BB, 0xBF94,          // cmp r3, r7; ite ls
    0x4618, 0x4638,          // movls r0, r3; movhi r0, r7
    0x42A8, 0xD202,          // cmp r0, r5; bcs done
    0xF000, 0xF804, 0xE7E7,  // bl yield; b loop
    0xF109, 0x0901, 0xE7E2,  // done: add r9, #1; b head
    0xB510, 0x7E21, 0xB939,  // yield: push {r4, lr}; ldrb r1, [r4, #24]; cbnz r1, out
    0x7667, 0xB672,          // strb r7, [r4, #25]; cpsid i
    0x69E1, 0x6220, 0xB662,  // ldr r1, [r4, #28]; str r0, [r4, #32]; cpsie i
    0xF3EF, 0x8111, 0x7661,  // mrs r1, BASEPRI; strb r1, [r4, #25]
    0xBD10,                  // out: pop {r4, pc}
};

TEST(Idle, WaitingInFunctionsThatStoreIsSkippedAndEndsOnTime) {
  const Timing timing;
  // A microsecond is 100 cycles: a product with 2^32 / 100. 200,000 cycles at some 50 a round, in
  // pieces of a delay that leave at least half of the rounds to skip.
  constexpr uint32_t kScale = 42949673;
  for (const uint32_t us : {3u, 100u, 471u, 999u}) {
    for (uint32_t seed = 0; seed < 4; ++seed) {
      const uint64_t skipped =
          compare_cycles(&timing, kDelay, {0, 0, 0, 0, 0, us, kScale}, 0xFFFFE000, seed, false);
      if (us >= 471 && seed % 2 == 0) {
        EXPECT_GT(skipped, 1500u) << us;
      }
    }
  }
}

TEST(Idle, AStoreThatChangesNothingIsSkipped) {
  EXPECT_GT(compare_cycles(nullptr, {0x6060, 0xE7FD} /* l: str r0, [r4, #4]; b l */, {}, 0, 2),
            10000u);
}

TEST(Idle, LoopsThatCountAreNotSkipped) {
  // l: ldr r3, [r2, #4]; ldr r0, [r4, #12]; orrs r0, r3; str r0, [r4, #12]; b l: keeps all bits
  // that the counter ever had.
  EXPECT_EQ(compare_cycles(nullptr, {0x6853, 0x68E0, 0x4318, 0x60E0, 0xE7FA}, {}, 0, 2, false), 0u);
  EXPECT_EQ(compare_cycles(nullptr, {0x6860, 0x3001, 0x6060, 0xE7FB} /* l: ldr r0, [r4, #4]; adds
                                                               r0, #1; str r0, [r4, #4]; b l */
                           ,
                           {}, 0, 2),
            0u);
  EXPECT_EQ(compare_cycles(nullptr, {0x3001, 0xE7FD} /* l: adds r0, #1; b l */, {}, 0, 2), 0u);
  EXPECT_EQ(
      compare_cycles(nullptr, {0x6813, 0x1A5B, 0x4283, 0xD3FB} /* l: ldr r3, [r2]; subs r3, r3, r1;
                                                           cmp r3, r0; bcc l: not the counter */
                     ,
                     {1000, 0}, 0, 2),
      0u);
}

// A loop with random instructions around the essential ones; then back to where it began, with the
// time taken anew.
Code random_loop(std::mt19937& random) {
  const auto pick = [&random](uint32_t n) { return static_cast<uint16_t>(random() % n); };
  Code code = {0x6851};  // ldr r1, [r2, #4]
  const size_t head = code.size();
  const auto filler = [&] {
    switch (pick(24)) {
      case 0:
        code.push_back(static_cast<uint16_t>(0x2600 | pick(256)));  // movs r6, #imm
        break;
      case 1:
        code.push_back(0x462F);  // mov r7, r5
        break;
      case 2:
        code.push_back(0x6867);  // ldr r7, [r4, #4]
        break;
      case 3:
        code.push_back(0xBF00);  // nop
        break;
      case 4:
        code.insert(code.end(), {0xEB06, 0x0747});  // add.w r7, r6, r7, lsl #1
        break;
      case 5:
        if (pick(8) == 0) code.push_back(0x3601);  // adds r6, #1: each round differs
        break;
      case 6:
        if (pick(4) == 0) code.push_back(0xE7FF);  // b to the next: two blocks
        break;
      case 7:
        if (pick(4) == 0) code.push_back(0x18FF);  // adds r7, r7, r3
        break;
      case 8:
        code.push_back(pick(2) == 0 ? uint16_t{0x60A6}
                                    : uint16_t{0x60E3});  // str r6 or r3, [r4, #]
        break;
      case 9:
        code.push_back(pick(2) == 0 ? uint16_t{0x68A7}
                                    : uint16_t{0x68E7});  // ldr r7, [r4, #8 or #12]
        break;
      case 10:
        code.insert(code.end(), {0xB4C8, 0xBCC8});  // push {r3, r6, r7}; pop {r3, r6, r7}
        break;
      case 11:
        code.push_back(0x7426);  // strb r6, [r4, #16]
        break;
      case 12:
        code.insert(code.end(), {0xFBA3, 0x6705});  // umull r6, r7, r3, r5
        break;
      case 13:
        code.insert(code.end(),
                    {0xE854, 0x7F05, 0xE844, 0x6705});  // ldrex, strex r7, r6, [r4, #20]
        break;
      case 14:
        code.insert(code.end(), {0x091F, 0xB2DF});  // lsrs r7, r3, #4; uxtb r7, r3
        break;
      case 15:
        code.insert(code.end(),
                    {0xBF94, 0x2701, 0x1C5F});  // ite ls; movls r7, #1; addhi r7, r3, #1
        break;
      case 16:
        code.insert(code.end(), {0xB672, 0xB662});  // cpsid i; cpsie i
        break;
      case 17:
        code.insert(code.end(), {0x426F, 0x416F});  // rsbs r7, r5, #0; adcs r7, r5
        break;
      case 18:
        code.insert(code.end(), {0xE9C4, 0x6306, 0xE9D4, 0x7606});  // strd r6, r3; ldrd r7, r6
        break;
      case 19:
        code.insert(code.end(), {0xFB03, 0x7715});  // mls r7, r3, r5, r7
        break;
      default:
        break;
    }
  };
  const auto add = [&](uint16_t h) {
    filler();
    code.push_back(h);
  };
  switch (pick(9)) {
    case 0:                      // a variable
      add(0x6820), add(0x42A8);  // ldr r0, [r4]; cmp r0, r5
      break;
    case 1:
      add(0x6853), add(0x1A5B), add(0x4283);  // ldr r3, [r2, #4]; subs r3, r3, r1; cmp r3, r0
      break;
    case 2:
      add(0x6853), add(0x1ACB), add(0x4283);  // ...; subs r3, r1, r3; cmp r3, r0
      break;
    case 3:
      add(0x6853), add(0x4283);  // cmp r3, r0
      break;
    case 4:
      add(0x6853), add(0x4298);  // cmp r0, r3
      break;
    case 5:
      add(0x6853), add(0x1A1B);  // subs r3, r3, r0
      break;
    case 6:
      add(0x6853), add(0x1AC3);  // subs r3, r0, r3
      break;
    case 7:
      add(0x6853), add(0x1A5D), add(0x462E),
          add(0x4286);  // subs r5, r3, r1; mov r6, r5; cmp r6, r0
      break;
    default:
      add(0x6853), add(0x425B), add(0x3307), add(0x4283);  // rsbs r3, r3, #0; adds r3, #7; cmp
      break;
  }
  const Code back = bcond(pick(14), code.size(), head);
  code.insert(code.end(), back.begin(), back.end());
  code.insert(code.end(), {0xF109, 0x0901});  // add r9, #1
  code.push_back(branch(code.size(), 0));
  return code;
}

TEST(Idle, RandomLoopsAndEventsAreAsIfExecuted) {
  std::mt19937 random(20261130);
  const Timing timing;
  unsigned skipping = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const Code code = random_loop(random);
    std::array<uint32_t, 13> registers{};
    for (uint32_t& r : registers) {
      r = static_cast<uint32_t>(random());
      if (random() % 4 != 0) r %= 60000;
    }
    const uint32_t starts[] = {0, static_cast<uint32_t>(random()), 0xFFFF8000, 0x7FFF8000};
    const uint32_t start = starts[random() % 4];
    skipping +=
        compare_cycles(seed % 4 == 0 ? nullptr : &timing, code, registers, start, seed) != 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(skipping, 200u);  // it is not that nothing is ever skipped
}

}  // namespace
}  // namespace millrace::board
