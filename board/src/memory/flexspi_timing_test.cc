// SPDX-License-Identifier: Apache-2.0
// 600 MHz over 100 MHz: 6 core cycles a serial clock (SCK). Command 20 SCK = 120, a beat of 8 bytes
// 16 SCK = 96, overhead 24, turnaround 6 SCK = 36, a beat out of the buffer 4 after the one before.
#include "memory/flexspi_timing.h"

#include <gtest/gtest.h>

#include "memory/buses.h"
#include "memory/testing/test_memory.h"

namespace millrace::board {
namespace {

FlexSpiParameters flash_parameters(bool prefetch) {
  FlexSpiParameters p;
  p.command_sck = 20;
  p.write_command_sck = 36;
  p.sck_per_byte = 2;
  p.turnaround_sck = 6;
  p.overhead = 24;
  p.bus_beat = 4;
  p.partition_bytes = 256;
  p.prefetch = prefetch;
  return p;
}

struct Flash : FlexSpiTiming {
  explicit Flash(bool prefetch) : FlexSpiTiming(flash_parameters(prefetch)) {
    set_clocks(600000, 100000);
  }
};

TEST(FlexSpiTiming, MissBringsTheCriticalBeatFirstAndWraps) {
  Flash flash(false);
  const LineTimes t = flash.fill_line(0x1010, 0, 1000);
  EXPECT_EQ(t[2], 1000 + 120 + 96 + 24u);  // 240 cycles = 400 ns
  EXPECT_EQ(t[3], 1000 + 120 + 192 + 24u);
  EXPECT_EQ(t[0], 1000 + 120 + 288 + 24u);
  EXPECT_EQ(t[1], 1000 + 504 + 24u);  // 84 SCK on the wires
}

TEST(FlexSpiTiming, WithoutPrefetchTheNextLineIsACommandOfItsOwn) {
  Flash flash(false);
  flash.fill_line(0x1000, 0, 1000);
  // The wires are free again at 1000 + 504 + 36 = 1540.
  EXPECT_EQ(flash.fill_line(0x1020, 0, 1528)[0], 1540 + 240u);
  EXPECT_EQ(flash.fill_line(0x1040, 0, 9000)[0], 9000 + 240u);
}

TEST(FlexSpiTiming, SequentialLinesStreamAt384CyclesWithPrefetch) {
  Flash flash(true);
  Cycles end = flash.fill_line(0x1000, 0, 1000)[3];
  EXPECT_EQ(end, 1528u);
  for (uint32_t line = 1; line < 8; ++line) {  // 256 bytes are one partition
    const LineTimes t = flash.fill_line(0x1000 + 32 * line, 0, end);
    EXPECT_EQ(t[3], end + 384) << line;
    end = t[3];
  }
  EXPECT_EQ(end, 1000 + 120 + 8 * 384 + 24u);
  // The partition is full: the next line is a new command. Data ended on the wires 24 before `end`.
  EXPECT_EQ(flash.fill_line(0x1100, 0, end)[0], end - 24 + 36 + 240);
}

TEST(FlexSpiTiming, AMissThatHitsARunningPrefetchWaitsForItsBeatOnly) {
  Flash flash(true);
  flash.fill_line(0x1008, 0, 1000);
  // Data from 1120 on: four beats of the first line, then 0x1020: beat 6 is 0x1030.
  EXPECT_EQ(flash.fill_line(0x1030, 0, 1600)[2], 1120 + 7 * 96 + 24u);
}

TEST(FlexSpiTiming, WhatIsInTheBufferCostsTheWayToTheCore) {
  Flash flash(true);
  flash.fill_line(0x1000, 0, 1000);
  const LineTimes t = flash.fill_line(0x1060, 0, 50000);
  EXPECT_EQ(t, (LineTimes{50024, 50028, 50032, 50036}));
}

TEST(FlexSpiTiming, AMissCutsAPrefetchOffButNotTheLineThatIsWaitedFor) {
  Flash flash(true);
  flash.fill_line(0x1000, 0, 1000);  // demanded until 1504, prefetch until 1120 + 3072 = 4192
  EXPECT_EQ(flash.fill_line(0x8000, 0, 1300)[0], 1504 + 36 + 240u);
  flash.reset();
  flash.fill_line(0x1000, 0, 1000);
  EXPECT_EQ(flash.fill_line(0x8000, 0, 2000)[0], 2000 + 36 + 240u);
  flash.reset();
  flash.fill_line(0x1000, 0, 1000);
  EXPECT_EQ(flash.fill_line(0x8000, 0, 5000)[0], 5000 + 240u);  // had ended
}

TEST(FlexSpiTiming, BeatsThatCameBeforeTheCutStayInTheirMastersPartition) {
  Flash flash(true);
  flash.fill_line(0x1000, 0, 1000);
  // At 2000: (2000 - 1120) / 96 = 9 whole beats, so lines 0x1000 and 0x1020 and one beat more.
  flash.fill_line(0x8000, 1, 2000);
  EXPECT_EQ(flash.fill_line(0x1020, 0, 20000)[0], 20024u);
  EXPECT_EQ(flash.fill_line(0x1040, 0, 30000)[0], 30240u);
  EXPECT_EQ(flash.fill_line(0x8020, 1, 40000)[0], 40024u);
}

TEST(FlexSpiTiming, AMasterHasOnePartition) {
  Flash flash(true);
  flash.fill_line(0x1000, 0, 1000);
  flash.fill_line(0x8000, 0, 10000);
  EXPECT_EQ(flash.fill_line(0x1020, 0, 20000)[0], 20240u);
}

TEST(FlexSpiTiming, UncachedReadsOf8Bytes) {
  Flash with(true);
  EXPECT_EQ(with.read(0x1000, 0, 1000), 1240u);
  EXPECT_EQ(with.read(0x1008, 0, 1240), 1240 + 96u);
  EXPECT_EQ(with.read(0x1010, 0, 1336), 1336 + 96u);
  EXPECT_EQ(with.read(0x1004, 0, 1500), 1524u);  // still in the buffer
  EXPECT_EQ(with.read(0x0FF8, 0, 5000), 5240u);  // before the stream
  Flash without(false);
  EXPECT_EQ(without.read(0x1000, 0, 1000), 1240u);
  // The command ends at 1216; chip select until 1252; then the same again.
  EXPECT_EQ(without.read(0x1008, 0, 1240), 1252 + 240u);
}

TEST(FlexSpiTiming, WritesAreSentAndEndWhatIsBuffered) {
  Flash flash(true);
  flash.fill_line(0x1000, 0, 1000);
  // The prefetch ended at 4192: the wires are free.
  EXPECT_EQ(flash.write(0x1040, 8, 9000), 9000 + 36 * 6 + 96u);
  EXPECT_EQ(flash.write(0x1048, 8, 9100), 9000 + 36 * 6 + 192u);      // goes on
  EXPECT_EQ(flash.write(0x1060, 8, 9408), 9408 + 36 + 36 * 6 + 96u);  // another place
  EXPECT_EQ(flash.fill_line(0x1020, 0, 20000)[0], 20240u);
}

TEST(FlexSpiTiming, ClocksChangeTheRatio) {
  Flash flash(false);
  flash.set_clocks(396000, 132000);  // 3 cycles a SCK
  EXPECT_EQ(flash.fill_line(0, 0, 0)[0], 36 * 3 + 24u);
}

TEST(FlexSpiTiming, SnapshotResumesTheSame) {
  Flash a(true);
  a.fill_line(0x1000, 0, 1000);
  a.read(0x9008, 2, 1800);
  Snapshot save;
  a.snapshot(save);
  Flash b(false);
  Snapshot s(save.take());
  b.snapshot(s);
  ASSERT_TRUE(s.ok()) << s.error();
  for (const uint32_t address : {0x9020u, 0x1020u, 0x5000u, 0x5020u}) {
    EXPECT_EQ(a.fill_line(address, 0, 3000), b.fill_line(address, 0, 3000));
  }
}

// The same numbers through the memory system.
Timing overhead_24() {
  Timing timing;
  timing.flexspi_overhead = 24;
  return timing;
}

TEST(FlashThroughTheCaches, FirstBytes240LineAbout504Sequential384) {
  TestMemory t({}, overhead_24());
  t.memory.enable_icache(true);
  EXPECT_EQ(t.memory.fetch_line(kFlash, 1000), 240u);
  // To the end of the line: its last beat comes 288 later, less 9 in which the first beats execute.
  TestMemory whole({}, overhead_24());
  whole.memory.enable_icache(true);
  EXPECT_EQ(whole.memory.fetch_span(kFlash, kFlash + 31, 1000), 528 - 9u);
  // In the steady state each further line costs 384 cycles in all.
  Cycles at = 1000 + 528;
  for (uint32_t line = 1; line < 8; ++line) {
    const Cycles start = at;
    at += whole.memory.fetch_span(kFlash + 32 * line, kFlash + 32 * line + 31, at) + 9;
    EXPECT_EQ(at - start, 384u) << line;
  }
}

TEST(FlashThroughTheCaches, DataMissWaits240AndALaterWordForItsBeat) {
  TestMemory t({}, overhead_24());
  t.memory.enable_dcache(true);
  t.load(kFlash + 8);
  EXPECT_EQ(t.stall, 240u);
  t.load(kFlash + 12);  // the same beat
  EXPECT_EQ(t.stall, 0u);
  t.load(kFlash + 16);  // 96 after the first, at which two cycles have passed
  EXPECT_EQ(t.stall, 94u);
  t.load(kFlash);  // the last of the wrap: two more beats, and one cycle has passed
  EXPECT_EQ(t.stall, 191u);
}

TEST(FlashThroughTheCaches, UncachedFetchesOf8Bytes) {
  TestMemory t({}, overhead_24());
  EXPECT_EQ(t.memory.fetch_span(kFlash, kFlash + 7, 1000), 240u);
  EXPECT_EQ(t.memory.fetch_span(kFlash + 8, kFlash + 31, 1240), 3 * 96u);
  TestMemory whole({}, overhead_24());
  EXPECT_EQ(whole.memory.fetch_span(kFlash, kFlash + 31, 1000), 240 + 3 * 96u);
}

// PJRC 73428: 400 ns for a byte under the Teensy core, whose flash runs at 120 MHz: 36 SCK are 180
// core cycles.
TEST(FlashThroughTheCaches, AMissingByteTakes400NsAtTheTeensyCoresClock) {
  TestMemory t;
  t.memory.set_clocks(600000, 120000, 88000);
  t.memory.enable_dcache(true);
  t.load(kFlash + 8);
  EXPECT_EQ(t.stall, 240u);
}

// PJRC 70307: 28.44 MB/s is 32 B in 1.125 us = 99 SCK at 88 MHz. A SCK is 600/88 = 6.818 cycles.
TEST(PsramThroughTheCaches, SequentialReadTakes99SckALine) {
  MemoryOptions options;
  options.psram_bytes = 8u << 20;
  TestMemory t(options);
  t.memory.enable_dcache(true);
  t.load(kPsram);
  EXPECT_GT(t.stall, 300u);  // PJRC 73428: a miss takes more than 500 ns
  EXPECT_LT(t.stall, 330u);
  for (uint32_t i = 4; i < 32; i += 4) t.load(kPsram + i);
  const Cycles start = t.now;
  constexpr uint32_t kLines = 1000;
  for (uint32_t i = 0; i < kLines * 32; i += 4) t.load(kPsram + 32 + i);
  const double per_line = static_cast<double>(t.now - start) / kLines;
  EXPECT_NEAR(per_line, 99 * 600.0 / 88, 4);
  EXPECT_NEAR(32 * 600 / per_line, 28.44, 0.3);  // bytes a microsecond
}

// PJRC 70307: a fill runs at 25.75 MB/s. In read-allocate mode: a command and four beats a line,
// (36 + 64 + 9) SCK = 743 cycles, 25.8 MB/s.
TEST(PsramThroughTheCaches, FillRunsInReadAllocateModeAtThePublishedRate) {
  MemoryOptions options;
  options.psram_bytes = 8u << 20;
  TestMemory t(options);
  t.memory.enable_dcache(true);
  for (uint32_t i = 0; i < 32 * 32; i += 4) t.store(kPsram + i, i);
  EXPECT_TRUE(t.memory.read_allocate_mode());
  const Cycles start = t.now;
  constexpr uint32_t kLines = 1000;
  for (uint32_t i = 0; i < kLines * 32; i += 4) t.store(kPsram + 1024 + i, i);
  const double per_line = static_cast<double>(t.now - start) / kLines;
  EXPECT_NEAR(32 * 600 / per_line, 25.75, 0.3);
}

}  // namespace
}  // namespace millrace::board
