// SPDX-License-Identifier: Apache-2.0
// What the core executes, and when it is told that its decoded code is not that any more.
#include <gmock/gmock.h>

#include "memory/testing/test_memory.h"

namespace millrace::board {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using CacheOp = MemorySystem::CacheOp;

constexpr uint32_t kOcramPage = kOcram / kPageBytes;
constexpr uint32_t kFlashPage = kFlash / kPageBytes;

struct CodeChange : ::testing::Test, TestMemory {
  std::vector<uint32_t> changed() {
    bool everything = false;
    EXPECT_EQ(memory.code_changed(), true);
    const std::vector<uint32_t> pages = memory.take_changed_code_pages(&everything);
    EXPECT_FALSE(everything);
    EXPECT_FALSE(memory.code_changed());
    return pages;
  }
  void forget_changes() {
    bool everything = false;
    memory.take_changed_code_pages(&everything);
  }
  // As the CPU does: decode the line of `address`, watch its page.
  uint16_t decode(uint32_t address) {
    memory.watch_code_page(address & ~(kPageBytes - 1));
    return fetch(address);
  }
};

TEST_F(CodeChange, StaleICacheLineExecutesUntilInvalidated) {
  memory.enable_icache(true);
  dma_store(kOcram, 0x1111);
  execute(kOcram, kOcram + 1);
  dma_store(kOcram, 0x2222);
  EXPECT_EQ(fetch(kOcram), 0x1111);
  op(CacheOp::icache_line, kOcram + 32);
  EXPECT_EQ(fetch(kOcram), 0x1111);
  op(CacheOp::icache_line, kOcram + 30);
  EXPECT_EQ(fetch(kOcram), 0x2222);
  execute(kOcram, kOcram + 1);
  dma_store(kOcram, 0x3333);
  op(CacheOp::icache_all, 0);
  EXPECT_EQ(fetch(kOcram), 0x3333);
}

TEST_F(CodeChange, DirtyDataIsNotSeenByFetchesUntilCleaned) {
  memory.enable_dcache(true);
  store(kOcram, 0x4770);
  EXPECT_EQ(fetch(kOcram), 0);
  op(CacheOp::dcache_clean_line, kOcram);
  EXPECT_EQ(fetch(kOcram), 0x4770);
}

TEST_F(CodeChange, UncachedStoreReportsItsPage) {
  decode(kOcram + 64);
  EXPECT_FALSE(memory.code_changed());
  store(kOcram + 0x800, 1);        // a line nobody decoded
  store(kOcram + 0x1000 + 64, 1);  // another page
  EXPECT_FALSE(memory.code_changed());
  store(kOcram + 68, 1);
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
  store(kOcram + 68, 2);  // not watched any more
  EXPECT_FALSE(memory.code_changed());
  decode(kOcram + 64);
  store(kOcram + 68, 3);
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
}

TEST_F(CodeChange, DmaAndFlashProgrammingReport) {
  decode(kOcram);
  dma_store(kOcram + 4, 1);
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
  decode(kFlash + 0x20);
  program(kFlash + 0x24, 5);
  EXPECT_THAT(changed(), ElementsAre(kFlashPage));
}

TEST_F(CodeChange, DmaOverManyPagesReportsEachDecodedOne) {
  decode(kOcram + 0x0FE0);
  decode(kOcram + 0x2000);
  decode(kOcram + 0x3020);
  const std::vector<uint8_t> bytes(0x2004 - 0xFFE, 1);
  ASSERT_TRUE(memory.dma_write(kOcram + 0xFFE, bytes.data(), static_cast<uint32_t>(bytes.size())));
  EXPECT_THAT(changed(), UnorderedElementsAre(kOcramPage, kOcramPage + 2));
}

TEST_F(CodeChange, CachedStoreReportsWhenItReachesMemory) {
  memory.enable_dcache(true);
  decode(kOcram);
  store(kOcram, 0x4770);
  EXPECT_FALSE(memory.code_changed());
  op(CacheOp::dcache_clean_line, kOcram);
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
}

TEST_F(CodeChange, EvictionOfADirtyLineReports) {
  memory.enable_dcache(true);
  decode(kOcram);
  store(kOcram, 0x4770);
  for (uint32_t i = 1; i < 200 && !memory.code_changed(); ++i) load(kOcram + 8192 * (i % 60));
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
  EXPECT_EQ(fetch(kOcram), 0x4770);
}

TEST_F(CodeChange, LineInTheICacheHidesTheChangeUntilItIsInvalidated) {
  memory.enable_icache(true);
  decode(kOcram);
  execute(kOcram, kOcram + 31);
  dma_store(kOcram, 0x2222);
  EXPECT_FALSE(memory.code_changed());
  op(CacheOp::icache_line, kOcram);
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
  EXPECT_EQ(fetch(kOcram), 0x2222);
}

TEST_F(CodeChange, InvalidatingUnchangedLinesReportsNothing) {
  memory.enable_icache(true);
  decode(kFlash);
  execute(kFlash, kFlash + 31);
  op(CacheOp::icache_all, 0);
  EXPECT_FALSE(memory.code_changed());
}

TEST_F(CodeChange, InvalidateAllReportsOnlyPagesThatDiffer) {
  memory.enable_icache(true);
  for (const uint32_t address : {kOcram, kOcram + 0x1000, kFlash}) {
    decode(address);
    execute(address, address + 31);
  }
  dma_store(kOcram + 0x1000, 1);
  op(CacheOp::icache_all, 0);
  EXPECT_THAT(changed(), ElementsAre(kOcramPage + 1));
}

TEST_F(CodeChange, EvictionOfAStaleLineReports) {
  memory.enable_icache(true);
  decode(kOcram);
  execute(kOcram, kOcram + 31);
  dma_store(kOcram, 0x2222);
  // Lines 16 KB apart share a set of 2 ways.
  for (uint32_t i = 1; i < 100 && !memory.code_changed(); ++i) {
    execute(kOcram + 16384 * (i % 30), kOcram + 16384 * (i % 30) + 31);
  }
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
  EXPECT_EQ(fetch(kOcram), 0x2222);
}

TEST_F(CodeChange, SwitchingTheICacheReportsWhereCopyAndMemoryDiffer) {
  memory.enable_icache(true);
  for (const uint32_t address : {kOcram, kOcram + 0x1000}) {
    decode(address);
    execute(address, address + 31);
  }
  dma_store(kOcram, 0x2222);
  memory.enable_icache(false);
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
  EXPECT_EQ(decode(kOcram), 0x2222);
  memory.enable_icache(true);  // the old copy is still valid
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
  EXPECT_EQ(fetch(kOcram), 0);
}

TEST_F(CodeChange, WatchedTcmPageIsNotWrittenDirectly) {
  for (const uint32_t base : {0x00000000u, kDtcm + 0x3000}) {
    const FastPage* const fast = memory.fast_page(base + 4, true);
    ASSERT_NE(fast, nullptr);
    EXPECT_NE(fast->read, nullptr);
    EXPECT_NE(fast->write, nullptr);
    const uint32_t before = memory.pages_changed();
    decode(base);
    EXPECT_NE(memory.pages_changed(), before);
    EXPECT_EQ(fast->write, nullptr);
    EXPECT_EQ(memory.fast_page(base + 4, true)->write, nullptr);
    EXPECT_EQ(memory.fast_page(base + 4, false)->write, nullptr);
    store(base + 2, 0x4770, 2);
    EXPECT_THAT(changed(), ElementsAre(base / kPageBytes));
    EXPECT_NE(memory.fast_page(base + 4, true)->write, nullptr);
  }
}

TEST_F(CodeChange, FetchChecksPermissionAndMemory) {
  TestMpu mpu;
  mpu.add(kOcram + 0x1020, 32, no_access());
  MemoryAttributes never_execute;
  never_execute.executable = false;
  mpu.add(kOcram + 0x2000, 0x1000, never_execute);
  mpu.regions.push_back({kOcram + 0x3000, 0x1000, write_back(), no_access()});
  memory.set_attributes_source(&mpu);
  uint16_t out = 0;
  EXPECT_EQ(memory.fetch(kOcram + 0x101E, true, &out), AccessFault::none);
  EXPECT_EQ(memory.fetch(kOcram + 0x1020, true, &out), AccessFault::mpu_execute);
  EXPECT_EQ(memory.fetch(kOcram + 0x1040, true, &out), AccessFault::none);
  EXPECT_EQ(memory.fetch(kOcram + 0x2000, true, &out), AccessFault::mpu_execute);
  EXPECT_EQ(memory.fetch(kOcram + 0x3000, true, &out), AccessFault::none);
  EXPECT_EQ(memory.fetch(kOcram + 0x3000, false, &out), AccessFault::mpu_execute);
  EXPECT_EQ(memory.fetch(0x40000000, true, &out), AccessFault::mpu_execute);  // Device: XN
  EXPECT_EQ(memory.fetch(0xE000E000, true, &out), AccessFault::mpu_execute);
  EXPECT_EQ(memory.fetch(0x10000000, true, &out), AccessFault::bus);
  EXPECT_EQ(memory.fetch(0x00090000, true, &out), AccessFault::bus);
  memory.set_attributes_source(nullptr);
}

TEST_F(CodeChange, MpuChangeThatForbidsExecutionReportsThePageAndNoOther) {
  TestMpu mpu;
  memory.set_attributes_source(&mpu);
  forget_changes();
  decode(kOcram);
  decode(kOcram + 0x1000);
  MemoryAttributes never_execute = write_back();
  never_execute.executable = false;
  mpu.add(kOcram, 0x1000, never_execute);
  memory.attributes_changed();
  EXPECT_THAT(changed(), ElementsAre(kOcramPage));
  mpu.add(kDtcm, 32, no_access());  // a stack guard: no code page is affected
  memory.attributes_changed();
  EXPECT_THAT(changed(), IsEmpty());
  memory.set_attributes_source(nullptr);
}

TEST_F(CodeChange, StackGuardMoveAsksAboutItsPagesOnly) {
  TestMpu mpu;
  mpu.add(kDtcm, 32, no_access());
  memory.set_attributes_source(&mpu);
  forget_changes();
  for (uint32_t i = 0; i < 8; ++i) load(kDtcm + i * kPageBytes + 64);
  mpu.regions[0].base = kDtcm + kPageBytes;
  memory.attributes_changed_in(kDtcm, kDtcm + 31);
  memory.attributes_changed_in(kDtcm + kPageBytes, kDtcm + kPageBytes + 31);
  mpu.questions = 0;
  for (uint32_t i = 2; i < 8; ++i) load(kDtcm + i * kPageBytes + 64);
  EXPECT_EQ(mpu.questions, 0u);
  EXPECT_EQ(load_fault(kDtcm), AccessFault::none);
  EXPECT_EQ(load_fault(kDtcm + kPageBytes), AccessFault::mpu_data);
  EXPECT_EQ(load_fault(kDtcm + kPageBytes + 32), AccessFault::none);
  memory.set_attributes_source(nullptr);
}

TEST_F(CodeChange, FlexramChangeReportsEverything) {
  decode(0);
  memory.set_flexram(0x00200007, 0xAAAAAAAB);
  bool everything = false;
  EXPECT_TRUE(memory.code_changed());
  memory.take_changed_code_pages(&everything);
  EXPECT_TRUE(everything);
  EXPECT_FALSE(memory.code_changed());
}

TEST_F(CodeChange, DebuggerWriteReportsAlsoWhatTheICacheHolds) {
  memory.enable_icache(true);
  decode(kFlash);
  execute(kFlash, kFlash + 31);
  const uint8_t breakpoint[2] = {0x00, 0xBE};
  ASSERT_TRUE(memory.debug_write(kFlash, breakpoint, 2));
  EXPECT_THAT(changed(), ElementsAre(kFlashPage));
  EXPECT_EQ(fetch(kFlash), 0xBE00);
}

TEST_F(CodeChange, TcmExecutesWithoutStall) {
  memory.enable_icache(true);
  EXPECT_EQ(execute(0x100, 0x11F), 0u);
  EXPECT_EQ(execute(kDtcm, kDtcm + 31), 0u);
  EXPECT_EQ(memory.counts().icache.misses, 0u);
}

}  // namespace
}  // namespace millrace::board
