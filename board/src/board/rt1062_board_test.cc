// SPDX-License-Identifier: Apache-2.0
// The board as its users see it, on small programs in flash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "board/testing/flash_image.h"
#include "millrace/board/board.h"

namespace millrace::board {
namespace {

using ::testing::AllOf;
using testing::FlashImage;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::unique_ptr<Board> make(const FlashImage& flash, const BoardOptions& options = {}) {
  ImageError error;
  std::unique_ptr<Board> board = Board::create(flash.image(), options, &error);
  EXPECT_NE(board, nullptr) << error.message;
  return board;
}

uint32_t word_at(Board& board, uint32_t address) {
  uint8_t bytes[4] = {};
  EXPECT_TRUE(board.read_memory(address, bytes, 4));
  return load_le(bytes, 4);
}

TEST(Board, StartsThroughTheVectorTableOfTheImage) {
  auto board = make(FlashImage{0xE7FE /* b . */});
  EXPECT_EQ(board->read_register(15), FlashImage::kCode);
  EXPECT_EQ(board->read_register(13), FlashImage::kStack);
  EXPECT_EQ(word_at(*board, 0xE000ED08), FlashImage::kVectors);  // VTOR
}

TEST(Board, ImageWithoutHeaderIsRefusedInOneSentence) {
  Image image = FlashImage{0xE7FE}.image();
  image.segments[0].bytes[0] = 0xFF;
  ImageError error;
  EXPECT_EQ(Board::create(image, {}, &error), nullptr);
  EXPECT_THAT(error.message, StartsWith("test.hex: "));
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

TEST(Board, BadTimingProfileIsRefused) {
  BoardOptions options;
  options.timing_profile = "branch_mispredict = 4\nno_such_number = 3\n";
  ImageError error;
  EXPECT_EQ(Board::create(FlashImage{0xE7FE}.image(), options, &error), nullptr);
  EXPECT_THAT(error.message, HasSubstr("line 2"));
}

// movs r0, #N; adds r0, #1 ...: a loop that counts in OCRAM.
// l: ldr r1, [r0]; adds r1, #1; str r1, [r0]; b l, with r0 = 0x20201000 from a literal.
const FlashImage& counting() {
  static const FlashImage flash{
      0x4802 /* ldr r0, [pc, #8] */, 0x6801, 0x3101, 0x6001, 0xE7FB, 0xBF00, 0x1000, 0x2020};
  return flash;
}

TEST(Board, TheSlicesOfARunDoNotMatter) {
  auto whole = make(counting());
  whole->run_until(200000);
  auto sliced = make(counting());
  for (uint64_t t = 777; t < 200000; t += 777) sliced->run_until(t);
  sliced->run_until(200000);
  EXPECT_EQ(whole->trace_digest(), sliced->trace_digest());
  EXPECT_EQ(whole->cycles(), sliced->cycles());
  EXPECT_GT(word_at(*whole, 0x20201000), 1000u);
  EXPECT_EQ(word_at(*whole, 0x20201000), word_at(*sliced, 0x20201000));
}

TEST(Board, SnapshotResumesBitIdentically) {
  auto first = make(counting());
  first->run_until(50001);
  const std::vector<uint8_t> saved = first->save();
  const uint64_t saved_at = first->cycles();
  first->run_until(150000);
  auto second = make(counting());
  second->run_until(3);
  EXPECT_EQ(second->restore(saved), "");
  EXPECT_EQ(second->cycles(), saved_at);
  second->run_until(150000);
  EXPECT_EQ(first->trace_digest(), second->trace_digest());
  EXPECT_TRUE(first->save() == second->save());
}

TEST(Board, DamagedSnapshotIsRefused) {
  auto board = make(counting());
  board->run_until(100);
  std::vector<uint8_t> saved = board->save();
  saved.resize(saved.size() / 2);
  EXPECT_NE(board->restore(saved), "");
}

// Null pointers with an odd offset: the first page, not yet known to the core's fast path.
TEST(Board, MisalignedAccessesOfTheFirstPageAreDone) {
  for (const unsigned access : {0x6801 /* ldr r1, [r0] */, 0x8801 /* ldrh r1, [r0] */,
                                0x6002 /* str r2, [r0] */, 0x8002 /* strh r2, [r0] */}) {
    for (const unsigned address : {1, 2, 3, 5, 0xFD}) {
      FlashImage flash{static_cast<uint16_t>(0x2000 | address) /* movs r0, #address */,
                       0x2255 /* movs r2, #0x55 */, static_cast<uint16_t>(access),
                       0x2301 /* movs r3, #1 */, 0xE7FE /* b . */};
      auto board = make(flash);
      EXPECT_EQ(board->run_until(10000).reason, StopReason::cycles) << access << " at " << address;
      EXPECT_EQ(board->read_register(3), 1u) << access << " at " << address;
      uint8_t there = 0;
      ASSERT_TRUE(board->read_memory(address, &there, 1));
      EXPECT_EQ(there, access < 0x6800 || access == 0x8002 ? 0x55 : 0) << access;
    }
  }
}

TEST(Board, LockUpTellsCauseRegistersAndAddress) {
  // udf in thread mode; the HardFault handler is udf again.
  auto board = make(FlashImage{0xDE00});
  const StopInfo stop = board->run_until(100000);
  EXPECT_EQ(stop.reason, StopReason::locked_up);
  EXPECT_THAT(stop.detail, HasSubstr("undefined instruction at 0x60002100"));
  EXPECT_THAT(stop.detail, HasSubstr("CFSR 0x00010000"));  // UFSR.UNDEFINSTR
}

TEST(Board, AHandlerThatReturnsToTheFaultIsAFaultLoop) {
  FlashImage flash{0xDE00};
  flash.vector(3, 0x60002200);
  flash.halfwords(0x60002200, {0x4770 /* bx lr */});
  auto board = make(flash);
  const StopInfo stop = board->run_until(50'000'000);
  EXPECT_EQ(stop.reason, StopReason::fault_loop);
  EXPECT_THAT(stop.detail, HasSubstr("undefined instruction"));
  EXPECT_LT(board->cycles(), 50'000'000u);
}

TEST(Board, AHandlerThatSkipsWhatFaultsIsNoFaultLoop) {
  // movs r0, #9; lsls r0, r0, #28 (0x90000000); l: adds r0, #4; ldr r1, [r0]; cmp r0, r5; bne l
  FlashImage flash{0x2009, 0x0700, 0x3004, 0x6801, 0x42A8, 0xD1FB};
  flash.vector(3, 0x60002200);
  // ldr r1, [sp, #24]; adds r1, #2; str r1, [sp, #24]; bx lr
  flash.halfwords(0x60002200, {0x9906, 0x3102, 0x9106, 0x4770});
  auto board = make(flash);
  EXPECT_EQ(board->run_until(5'000'000).reason, StopReason::cycles);
  EXPECT_GT(board->stats().faults, 2000u);
}

// Faults without an instruction of their own have words of their own.
TEST(Board, FaultsOnTheWayToAHandlerAreNamed) {
  const auto report = [](std::initializer_list<uint16_t> code,
                         std::initializer_list<uint16_t> svc) {
    FlashImage flash(code);
    flash.vector(3, 0x60002200);
    flash.vector(11, 0x60002300);
    flash.halfwords(0x60002200, {0xE7FE /* b . */});
    flash.halfwords(0x60002300, svc);
    auto board = make(flash);
    EXPECT_EQ(board->run_until(10000).reason, StopReason::cycles);
    return board->fault_state();
  };
  EXPECT_THAT(report({0xDF00} /* svc 0 */, {0xDF00}),
              StartsWith("an SVC instruction where SVCall cannot be taken (priority or masks) at "
                         "0x60002302"));
  EXPECT_THAT(report({0xB672, 0xDF00} /* cpsid i; svc 0 */, {0xE7FE}), StartsWith("an SVC"));
  // movs r0, #9; lsls r0, r0, #28; mov sp, r0; svc 0
  EXPECT_THAT(report({0x2009, 0x0700, 0x4685, 0xDF00}, {0xE7FE}),
              AllOf(StartsWith("no memory for the registers that an exception saves"),
                    HasSubstr("address 0x8FFFFFE0")));
  // The handler moves its stack away: movs r0, #9; lsls r0, r0, #28; mov sp, r0; bx lr
  EXPECT_THAT(report({0xDF00}, {0x2009, 0x0700, 0x4685, 0x4770}),
              AllOf(StartsWith("no memory where an exception's return takes the registers from"),
                    HasSubstr("address 0x90000000")));
  // An access that faults with no stack to tell of it keeps its own name: push {r0}
  EXPECT_THAT(report({0x2009, 0x0700, 0x4685, 0xB401}, {0xE7FE}),
              AllOf(StartsWith("an access that no memory or device answers at 0x60002106"),
                    Not(HasSubstr("in a row"))));
}

TEST(Board, AFirmwareThatOnlyResetsItselfIsStopped) {
  // ldr r0, =AIRCR; ldr r1, =VECTKEY | SYSRESETREQ; str r1, [r0]; b .
  FlashImage flash{0x4801, 0x4902, 0x6001, 0xE7FE, 0xED0C, 0xE000, 0x0004, 0x05FA};
  for (const bool stepped : {false, true}) {
    auto board = make(flash);
    StopInfo stop;
    for (unsigned i = 0; i < 10000 && stop.reason == StopReason::cycles; ++i) {
      stop = stepped ? board->step() : board->run_until(board->cycles() + 100'000);
    }
    EXPECT_EQ(stop.reason, StopReason::reset_loop);
    EXPECT_EQ(stop.detail,
              "100 resets, each within 1 ms of the one before, the last by 0x60002104");
    EXPECT_EQ(board->stats().resets, 100u);
  }
}

// l: subs r3, #1; bne l; then the reset: rounds of longer than 1 ms are somebody's purpose.
TEST(Board, ResetsFarApartAreNoResetLoop) {
  FlashImage flash{0x4B04 /* ldr r3, [pc, #16] */,
                   0x3B01,
                   0xD1FD,
                   0x4802,
                   0x4902,
                   0x6001,
                   0xE7FE,
                   0xBF00,
                   0xED0C,
                   0xE000,
                   0x0004,
                   0x05FA};
  flash.halfwords(0x60002100, {0x4B05, 0x3B01, 0xD1FD, 0x4802, 0x4902, 0x6001, 0xE7FE, 0xBF00});
  flash.word(0x60002110, 0xE000ED0C);
  flash.word(0x60002114, 0x05FA0004);
  flash.word(0x60002118, 400'000);
  BoardOptions options;
  options.timing = false;  // two cycles a round: 2.02 ms at 396 MHz
  auto board = make(flash, options);
  EXPECT_EQ(board->run_until(102 * 800'000).reason, StopReason::cycles);
  EXPECT_GE(board->stats().resets, 101u);
}

TEST(Board, AFaultHandlerThatWaitsIsNamed) {
  FlashImage flash{0xDE00};
  flash.vector(3, 0x60002200);
  flash.halfwords(0x60002200, {0xE7FE /* b . */});
  auto board = make(flash);
  EXPECT_EQ(board->run_until(10000).reason, StopReason::cycles);
  EXPECT_THAT(board->fault_state(), HasSubstr("undefined instruction at 0x60002100"));
}

TEST(Board, ExecutionFromWhereThereIsNoMemoryIsNamed) {
  // ldr r0, [pc, #0]; bx r0; .word 0x50000001
  auto board = make(FlashImage{0x4800, 0x4700, 0x0001, 0x5000});
  const StopInfo stop = board->run_until(100000);
  EXPECT_EQ(stop.reason, StopReason::locked_up);
  // The default map gives 0x40000000-0x5FFFFFFF no execution.
  EXPECT_THAT(stop.detail, HasSubstr("no-execute at 0x50000000"));
}

TEST(Board, ExecutionInTheLastPageOfTheAddressSpaceFaults) {
  // ldr r0, [pc, #0]; bx r0; .word 0xFFFFFFDF: no EXC_RETURN in thread mode
  FlashImage flash{0x4800, 0x4700, 0xFFDF, 0xFFFF};
  flash.vector(3, 0x60002200);
  flash.halfwords(0x60002200, {0xE7FE /* b . */});
  auto board = make(flash);
  EXPECT_EQ(board->run_until(100000).reason, StopReason::cycles);
  EXPECT_THAT(board->fault_state(), HasSubstr("no-execute at 0xFFFFFFDE"));
}

TEST(Board, SleepWithoutAWakerEnds) {
  auto board = make(FlashImage{0xBF30 /* wfi */, 0xE7FE});
  EXPECT_EQ(board->run_until(1'000'000'000).reason, StopReason::asleep);
}

TEST(Board, SemihostingPrintsAndExits) {
  // movs r0, #4 (SYS_WRITE0); ldr r1, [pc, #12]; bkpt 0xAB; movs r0, #0x18; ldr r1, [pc, #8];
  // bkpt 0xAB; the text's address; ADP_Stopped_ApplicationExit; text.
  FlashImage flash{0x2004, 0x4903, 0xBEAB, 0x2018, 0x4902, 0xBEAB, 0xE7FE, 0xBF00};
  flash.word(0x60002110, 0x60002120);
  flash.word(0x60002114, 0x20026);
  flash.word(0x60002120, 0x216948);  // "Hi!"
  BoardOptions options;
  std::string text;
  options.semihosting = true;
  options.semihosting_output = [&text](uint8_t byte) { text += static_cast<char>(byte); };
  auto board = make(flash, options);
  const StopInfo stop = board->run_until(1'000'000);
  EXPECT_EQ(stop.reason, StopReason::exited);
  EXPECT_EQ(stop.exit_code, 0);
  EXPECT_EQ(text, "Hi!");
}

TEST(Board, UnknownRegistersAreListedWithTheFirstPc) {
  // ldr r0, [pc, #8]; ldr r1, [r0, #0x14]; str r1, [r0, #0x14]; ldr r1, [r0, #0x14]; b .; LPSPI4
  auto board = make(FlashImage{0x4802, 0x6941, 0x6141, 0x6941, 0xE7FE, 0xBF00, 0x0000, 0x403A});
  board->run_until(10000);
  const std::vector<UnknownRegister> unknown = board->stats().unknown;
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].name, "LPSPI4+0x014");
  EXPECT_EQ(unknown[0].reads, 2u);
  EXPECT_EQ(unknown[0].writes, 1u);
  EXPECT_EQ(unknown[0].first_pc, 0x60002102u);
}

TEST(Board, TimeFollowsTheCoreClock) {
  auto board = make(counting());
  EXPECT_EQ(board->core_hz(), 396'000'000u);
  board->run_until_ns(1000);  // 396 cycles
  EXPECT_GE(board->cycles(), 396u);
  EXPECT_LT(board->cycles(), 396u + 600);  // the instruction that was under way
  EXPECT_GE(board->ns(), 1000u);
}

TEST(Board, BreakpointStopsBeforeTheInstruction) {
  auto board = make(counting());
  board->set_breakpoint(FlashImage::kCode + 4, true);
  const StopInfo stop = board->run_until(100000);
  EXPECT_EQ(stop.reason, StopReason::breakpoint);
  EXPECT_EQ(stop.pc, FlashImage::kCode + 4);
  EXPECT_EQ(board->step().pc, FlashImage::kCode + 6);
}

TEST(Board, WatchpointNamesTheAddress) {
  auto board = make(counting());
  board->set_watchpoint(0x20201000, 4, false, true, true);
  const StopInfo stop = board->run_until(100000);
  EXPECT_EQ(stop.reason, StopReason::watchpoint);
  EXPECT_EQ(stop.watch_address, 0x20201000u);
}

TEST(Board, ProfileAccountsForEveryCycle) {
  auto board = make(counting());
  board->start_profile();
  board->run_until(100000);
  uint64_t cycles = 0, instructions = 0;
  for (const ProfileEntry& entry : board->profile()) {
    cycles += entry.cycles;
    instructions += entry.instructions;
  }
  EXPECT_EQ(cycles, board->cycles());
  EXPECT_GE(instructions, board->stats().instructions);
}

}  // namespace
}  // namespace millrace::board
