// SPDX-License-Identifier: Apache-2.0
// Timing of code in the TCMs against what others measured on a Teensy 4.1; docs/validation.md has
// the table. CoreMark, which is not in this repository, is measured by hand.
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <memory>

#include "board/testing/flash_image.h"
#include "core/bytes.h"
#include "millrace/board/board.h"

namespace millrace::board {
namespace {

using testing::FlashImage;

// A time-to-digital converter by software: the loop keeps the cycle counter in memory until an
// interrupt sets a flag; the interrupt reads the counter first of all. r0 flag, r1 DWT, r4 shadow.
constexpr uint32_t kSetup = 0x100;        // ITCM
constexpr uint32_t kHandler = 0x200;      // ITCM
constexpr uint32_t kShadow = 0x20000000;  // DTCM, like the vectors and the stack
constexpr uint32_t kVectors = 0x20001000;
constexpr uint32_t kStack = 0x20008000;
constexpr uint32_t kHistogram = 0x20000040;  // of (interrupt's time - shadow), a word a cycle

class CounterLoop {
 public:
  CounterLoop(uint32_t systick_control, uint32_t reload) {
    ImageError error;
    board_ = Board::create(FlashImage{0xE7FE /* b . */}.image(), {}, &error);
    put(kSetup, {
                    0xF8CB,
                    0xA000,  // str.w r10, [r11]: VTOR
                    0x603A,  // str r2, [r7]: DEMCR.TRCENA
                    0x600B,  // str r3, [r1]: DWT_CTRL.CYCCNTENA
                    0x606E,  // str r6, [r5, #4]: SysTick reload
                    0x602C,  // str r4, [r5]: SysTick control
                    0x464C,  // mov r4, r9
                    0x684B,  // l: ldr r3, [r1, #4]
                    0x6023,  // str r3, [r4]
                    0x7803,  // ldrb r3, [r0]
                    0x2B00,  // cmp r3, #0
                    0xD0FA,  // beq l
                    0xBE00,
                });
    put(kHandler, {
                      0x684A,  // ldr r2, [r1, #4]
                      0x6823,  // ldr r3, [r4]
                      0x1AD2,  // subs r2, r2, r3
                      0x0092,  // lsls r2, r2, #2
                      0x4422,  // add r2, r4
                      0x6C13,  // ldr r3, [r2, #0x40]
                      0x3301,  // adds r3, #1
                      0x6413,  // str r3, [r2, #0x40]
                      0x4770,  // bx lr
                  });
    put(kVectors + 4 * 15, {kHandler | 1, 0});
    const uint32_t registers[] = {kShadow + 0x10, 0xE0001000, 1u << 24,   1, systick_control,
                                  0xE000E010,     reload,     0xE000EDFC, 0, kShadow,
                                  kVectors,       0xE000ED08};
    for (unsigned k = 0; k < 12; ++k) board_->write_register(k, registers[k]);
    board_->write_register(13, kStack);
    board_->write_register(15, kSetup);
  }
  Board& board() { return *board_; }
  uint32_t hits(unsigned cycles) {
    uint8_t bytes[4] = {};
    EXPECT_TRUE(board_->read_memory(kHistogram + 4 * cycles, bytes, 4));
    return load_le(bytes, 4);
  }

 private:
  void put(uint32_t address, std::initializer_list<uint16_t> code) {
    for (const uint16_t half : code) {
      uint8_t bytes[2];
      store_le(bytes, 2, half);
      EXPECT_TRUE(board_->write_memory(address, bytes, 2));
      address += 2;
    }
  }
  std::unique_ptr<Board> board_;
};

TEST(Published, CycleCounterLoopOfFiveInstructionsTakesFiveCycles) {
  CounterLoop loop(0, 0);
  loop.board().run_until(loop.board().cycles() + 1000);
  const BoardStats before = loop.board().stats();
  loop.board().run_until(before.cycles + 5000);
  EXPECT_EQ(loop.board().stats().cycles - before.cycles, 5000u);
  EXPECT_EQ(loop.board().stats().instructions - before.instructions, 5000u);
}

// Published: 47 to 51 cycles, each of the five about as often, and nothing else. That is from the
// loop's last reading to the first in a handler behind a dispatcher of unknown length, which moves
// the five values and does not spread them. This handler reads first of all: 12 cycles of entry, 1
// of the private peripheral bus, and 1 to 5 since the loop's reading.
TEST(Published, AnInterruptOfTheLoopHasFiveDelays) {
  std::array<uint32_t, 64> histogram{};
  for (uint32_t reload = 1000; reload < 1100; ++reload) {
    CounterLoop loop(7, reload);
    loop.board().run_until(loop.board().cycles() + 1500);  // one interrupt
    for (unsigned k = 0; k < histogram.size(); ++k) histogram[k] += loop.hits(k);
  }
  for (unsigned k = 0; k < histogram.size(); ++k) {
    EXPECT_EQ(histogram[k], k >= 14 && k <= 18 ? 20u : 0u) << k;
  }
}

}  // namespace
}  // namespace millrace::board
