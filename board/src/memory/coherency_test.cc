// SPDX-License-Identifier: Apache-2.0
// Who sees which bytes: the core through its caches, DMA masters behind them. Expected values
// follow from the Armv7-M definitions of the maintenance operations (DDI 0403E B2.2.6).
#include "memory/testing/test_memory.h"

namespace millrace::board {
namespace {

using CacheOp = MemorySystem::CacheOp;

struct Coherency : ::testing::Test, TestMemory {
  Coherency() {
    memory.enable_dcache(true);
    memory.enable_icache(true);
  }
  // The value for *SW operations on the line of `address`, tried on every way.
  void by_set_way(CacheOp operation, uint32_t address) {
    for (uint32_t way = 0; way < 4; ++way) {
      op(operation, (way << 30) | (address & 0x1FE0));
    }
  }
};

TEST_F(Coherency, DmaSeesMemoryBehindADirtyLine) {
  dma_store(kOcram, 1);
  store(kOcram, 2);
  EXPECT_EQ(load(kOcram), 2u);
  EXPECT_EQ(dma_load(kOcram), 1u);
}

TEST_F(Coherency, CoreSeesTheStaleLineAfterADmaWrite) {
  dma_store(kOcram, 1);
  EXPECT_EQ(load(kOcram), 1u);
  dma_store(kOcram, 2);
  EXPECT_EQ(load(kOcram), 1u);
  EXPECT_EQ(load(kOcram + 32), 0u);  // the next line is its own
}

TEST_F(Coherency, CleanByAddressWritesBackAndKeepsTheLine) {
  store(kOcram + 4, 0x1234);
  op(CacheOp::dcache_clean_line, kOcram + 28);  // any address in the line
  EXPECT_EQ(dma_load(kOcram + 4), 0x1234u);
  dma_store(kOcram + 4, 9);
  EXPECT_EQ(load(kOcram + 4), 0x1234u);
}

TEST_F(Coherency, CleanWritesAWholeLineOnceOnly) {
  store(kOcram, 1);
  op(CacheOp::dcache_clean_line, kOcram);
  dma_store(kOcram, 7);
  op(CacheOp::dcache_clean_line, kOcram);  // clean already: must not overwrite the 7
  EXPECT_EQ(dma_load(kOcram), 7u);
  EXPECT_EQ(memory.counts().dcache.writebacks, 1u);
}

TEST_F(Coherency, InvalidateByAddressLosesADirtyLine) {
  dma_store(kOcram, 1);
  store(kOcram, 2);
  op(CacheOp::dcache_invalidate_line, kOcram);
  EXPECT_EQ(load(kOcram), 1u);
  EXPECT_EQ(memory.counts().dcache.writebacks, 0u);
}

TEST_F(Coherency, CleanAndInvalidateByAddressDoesBoth) {
  store(kOcram, 2);
  op(CacheOp::dcache_clean_invalidate_line, kOcram);
  EXPECT_EQ(dma_load(kOcram), 2u);
  dma_store(kOcram, 3);
  EXPECT_EQ(load(kOcram), 3u);
}

TEST_F(Coherency, OperationOnAnotherLineHasNoEffect) {
  store(kOcram, 2);
  for (const CacheOp operation : {CacheOp::dcache_clean_line, CacheOp::dcache_invalidate_line,
                                  CacheOp::dcache_clean_invalidate_line}) {
    op(operation, kOcram + 32);
    op(operation, kOcram + 8192);  // the same set, another tag
  }
  EXPECT_EQ(dma_load(kOcram), 0u);
  EXPECT_EQ(load(kOcram), 2u);
}

TEST_F(Coherency, SetWayOperationsReachTheLineInItsSet) {
  const uint32_t address = kOcram + 0x1240;
  store(address, 2);
  by_set_way(CacheOp::dcache_clean_set_way, address + 32);  // the wrong set
  EXPECT_EQ(dma_load(address), 0u);
  by_set_way(CacheOp::dcache_clean_set_way, address);
  EXPECT_EQ(dma_load(address), 2u);
  dma_store(address, 3);
  EXPECT_EQ(load(address), 2u);

  store(address, 4);
  by_set_way(CacheOp::dcache_invalidate_set_way, address);
  EXPECT_EQ(load(address), 3u);

  store(address, 5);
  by_set_way(CacheOp::dcache_clean_invalidate_set_way, address);
  EXPECT_EQ(dma_load(address), 5u);
  dma_store(address, 6);
  EXPECT_EQ(load(address), 6u);
}

TEST_F(Coherency, SetWayLoopOfCmsisCleansEverything) {
  // CCSIDR 0xF01FE019: 256 sets, 4 ways; SET at bit 5, WAY at bit 30 (core_cm7.h).
  for (uint32_t i = 0; i < 32768; i += 4) store(kOcram + i, i + 1);
  for (uint32_t set = 0; set < 256; ++set) {
    for (uint32_t way = 0; way < 4; ++way) {
      op(CacheOp::dcache_clean_invalidate_set_way, (set << 5) | (way << 30));
    }
  }
  for (uint32_t i = 0; i < 32768; i += 4) ASSERT_EQ(dma_load(kOcram + i), i + 1);
  dma_store(kOcram, 77);
  EXPECT_EQ(load(kOcram), 77u);
}

TEST_F(Coherency, DisabledCacheIsNotLookedUpAndKeepsItsData) {
  dma_store(kOcram, 1);
  store(kOcram, 2);
  memory.enable_dcache(false);
  EXPECT_EQ(load(kOcram), 1u);  // from memory
  store(kOcram + 64, 5);
  EXPECT_EQ(dma_load(kOcram + 64), 5u);
  memory.enable_dcache(true);
  EXPECT_EQ(load(kOcram), 2u);  // the line is still there, and dirty
  memory.enable_dcache(false);
  op(CacheOp::dcache_clean_line, kOcram);  // works while the cache is off
  EXPECT_EQ(dma_load(kOcram), 2u);
}

TEST_F(Coherency, EvictionWritesDirtyLinesBack) {
  // Five lines of one set in four ways: one is written back, whichever it is.
  for (uint32_t i = 0; i < 5; ++i) store(kOcram + i * 8192, 100 + i);
  unsigned in_memory = 0;
  for (uint32_t i = 0; i < 5; ++i) in_memory += dma_load(kOcram + i * 8192) == 100 + i ? 1 : 0;
  EXPECT_EQ(in_memory, 1u);
  EXPECT_EQ(memory.counts().dcache.evictions, 1u);
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(load(kOcram + i * 8192), 100 + i);
}

TEST_F(Coherency, WriteThroughReachesMemoryAndTheCachedCopy) {
  TestMpu mpu;
  mpu.add(kOcram, 4096, write_through());
  memory.set_attributes_source(&mpu);
  EXPECT_EQ(load(kOcram), 0u);
  store(kOcram, 8);
  EXPECT_EQ(dma_load(kOcram), 8u);
  EXPECT_EQ(load(kOcram), 8u);
  const uint64_t misses = memory.counts().dcache.misses;
  store(kOcram + 64, 9);  // a miss does not allocate
  EXPECT_EQ(dma_load(kOcram + 64), 9u);
  dma_store(kOcram + 64, 10);
  EXPECT_EQ(load(kOcram + 64), 10u);
  EXPECT_EQ(memory.counts().dcache.misses, misses + 2);
  memory.set_attributes_source(nullptr);
}

TEST_F(Coherency, WriteBackWithoutAllocateWritesPastTheCacheOnAMiss) {
  TestMpu mpu;
  mpu.add(kOcram, 4096, write_back_no_allocate());
  memory.set_attributes_source(&mpu);
  store(kOcram, 8);
  EXPECT_EQ(dma_load(kOcram), 8u);
  load(kOcram);
  store(kOcram, 9);
  EXPECT_EQ(dma_load(kOcram), 8u);
  memory.set_attributes_source(nullptr);
}

TEST_F(Coherency, UncachedRegionIsSeenByAll) {
  TestMpu mpu;
  mpu.add(kOcram, 4096, normal_uncached());
  memory.set_attributes_source(&mpu);
  store(kOcram, 8);
  EXPECT_EQ(dma_load(kOcram), 8u);
  dma_store(kOcram, 9);
  EXPECT_EQ(load(kOcram), 9u);
  EXPECT_EQ(memory.counts().dcache.hits + memory.counts().dcache.misses, 0u);
  memory.set_attributes_source(nullptr);
}

TEST_F(Coherency, TcmIsNeverCached) {
  for (const uint32_t base : {0x00000100u, kDtcm}) {
    store(base, 8);
    EXPECT_EQ(stall, 0u);
    EXPECT_EQ(dma_load(base), 8u);
    dma_store(base, 9);
    EXPECT_EQ(load(base), 9u);
  }
}

TEST_F(Coherency, DebuggerSeesAndChangesWhatTheCoreSees) {
  store(kOcram, 2);
  std::array<uint8_t, 4> bytes{};
  ASSERT_TRUE(memory.debug_read(kOcram, bytes.data(), 4));
  EXPECT_EQ(bytes[0], 2);
  EXPECT_EQ(dma_load(kOcram), 0u);
  bytes[0] = 3;
  const MemoryCounts before = memory.counts();
  ASSERT_TRUE(memory.debug_write(kOcram, bytes.data(), 4));
  EXPECT_EQ(load(kOcram), 3u);
  EXPECT_EQ(dma_load(kOcram), 3u);
  EXPECT_EQ(memory.counts().dcache.misses, before.dcache.misses);
  ASSERT_TRUE(memory.debug_write(kFlash + 10, bytes.data(), 4));  // the loader
  EXPECT_EQ(load(kFlash + 10, 1), 3u);
  EXPECT_FALSE(memory.debug_read(0x50000000, bytes.data(), 4));
  EXPECT_FALSE(memory.debug_write(0xFFFFFFFE, bytes.data(), 4));
}

TEST(CacheOptions, CacheThatIsSwitchedOffByOptionStaysOff) {
  MemoryOptions options;
  options.dcache = false;
  options.icache = false;
  TestMemory t(options);
  t.memory.enable_dcache(true);
  t.memory.enable_icache(true);
  t.store(kOcram, 4);
  EXPECT_EQ(t.dma_load(kOcram), 4u);
  t.execute(kFlash, kFlash + 3);
  t.execute(kFlash, kFlash + 3);
  EXPECT_EQ(t.memory.counts().icache.hits + t.memory.counts().icache.misses, 0u);
}

TEST(CacheOptions, FunctionalModeHasNoCachesNoStallsAndFastPagesEverywhere) {
  MemoryOptions options;
  options.timing = false;
  TestMemory t(options);
  t.memory.enable_dcache(true);
  t.store(kOcram, 4);
  EXPECT_EQ(t.dma_load(kOcram), 4u);
  t.dma_store(kOcram, 5);
  EXPECT_EQ(t.load(kOcram), 5u);
  EXPECT_EQ(t.now, 1002u);
  const FastPage* const ocram = t.memory.fast_page(kOcram, true);
  ASSERT_NE(ocram, nullptr);
  EXPECT_EQ(ocram->read[0], 5);
  EXPECT_NE(ocram->write, nullptr);
  const FastPage* const flash = t.memory.fast_page(kFlash, true);
  ASSERT_NE(flash, nullptr);
  EXPECT_EQ(flash->read[0], 0xFF);
  EXPECT_EQ(flash->write, nullptr);
  t.memory.watch_code_page(kOcram);
  EXPECT_EQ(ocram->write, nullptr);
}

}  // namespace
}  // namespace millrace::board
