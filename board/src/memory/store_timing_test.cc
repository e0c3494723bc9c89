// SPDX-License-Identifier: Apache-2.0
// Store buffer, line-fill buffers, read-allocate mode and OCRAM timing. The numbers follow from the
// parameters set here, by the arithmetic in the comments.
#include "memory/testing/test_memory.h"

namespace millrace::board {
namespace {

// OCRAM: line first beat 24, further 4 each (line 36); read 26; write 8; peripheral write 6.
struct Stores : ::testing::Test, TestMemory {
  void uncached() { memory.enable_dcache(false); }
};

TEST(StoreBuffer, FourEntriesThenItStalls) {
  StoreBuffer buffer;
  // One store a cycle to different words, each taking 8: entry n is done at 2 + 8 (n + 1).
  for (uint32_t n = 0; n < 4; ++n) {
    const StoreBuffer::Slot slot = buffer.reserve(0x100 * n, true, n);
    EXPECT_EQ(slot.stall, 0u);
    EXPECT_EQ(slot.start, 2 + 8 * n);
    buffer.finish(slot.start + 8);
  }
  const StoreBuffer::Slot fifth = buffer.reserve(0x1000, true, 4);
  EXPECT_EQ(fifth.stall, 6u);  // until the first is done at 10
  EXPECT_EQ(fifth.start, 34u);
  buffer.finish(42);
  EXPECT_EQ(buffer.busy_until(), 42u);
}

TEST(StoreBuffer, MergesIntoTheNewestWaitingEntryOfNormalMemory) {
  StoreBuffer buffer;
  EXPECT_FALSE(buffer.reserve(0x100, true, 10).merged);
  buffer.finish(20);
  EXPECT_TRUE(buffer.reserve(0x104, true, 11).merged);   // same 8 bytes, its turn is at 12
  EXPECT_FALSE(buffer.reserve(0x108, true, 11).merged);  // the next 8 bytes
  buffer.finish(30);
  EXPECT_FALSE(buffer.reserve(0x100, true, 11).merged);  // not the newest any more
  buffer.finish(40);
  EXPECT_FALSE(buffer.reserve(0x100, true, 30).merged);  // being drained already
  buffer.reset();
  buffer.reserve(0x100, false, 10);
  buffer.finish(20);
  EXPECT_FALSE(buffer.reserve(0x100, false, 11).merged);
  EXPECT_FALSE(buffer.reserve(0x100, true, 11).merged);
}

TEST_F(Stores, UncachedWordsMergeInPairsAndStreamABurst) {
  uncached();
  // A word a cycle: 8-byte entries. The first takes 8 from 1002, the others of the line 4 each.
  for (uint32_t i = 0; i < 8; ++i) store(kOcram + 4 * i, i);
  EXPECT_EQ(now, 1008u);
  EXPECT_EQ(memory.drain_stores(now), 1002 + 8 + 3 * 4 - 1008u);
}

TEST_F(Stores, DsbWaitsUntilTheBufferIsEmpty) {
  uncached();
  store(kOcram, 1);
  EXPECT_EQ(stall, 0u);
  EXPECT_EQ(memory.drain_stores(now), 1002 + 8 - 1001u);
  EXPECT_EQ(memory.drain_stores(1010), 0u);
  EXPECT_EQ(memory.counts().store_buffer_stalls, 9u);
}

TEST_F(Stores, ScatteredStoresStallWhenTheBufferIsFull) {
  uncached();
  for (uint32_t i = 0; i < 100; ++i) store(kOcram + 64 * i, i);
  // In the steady state one store each 8 cycles: the 100th entry drains at 1002 + 800, and 4 of
  // them are still in the buffer when the last store is accepted.
  EXPECT_EQ(now + memory.drain_stores(now), 1002 + 800u);
  EXPECT_EQ(now, 1002 + 96 * 8 + 1u);
}

TEST_F(Stores, DeviceStoresDoNotMergeAndDrainBeforeADeviceLoad) {
  struct Nothing final : Device {
    std::string_view name() const override { return "NOTHING"; }
    uint32_t read(uint32_t, unsigned, Cycles) override { return 0; }
    void write(uint32_t, unsigned, uint32_t, Cycles) override {}
    void reset() override {}
  } device;
  memory.attach(device, 0x40184000, 0x4000);
  memory.attach(device, 0x42000000, 0x4000);
  store(0x40184000, 1);
  store(0x40184000, 1);  // the same register: two accesses of 6 cycles, from 1002
  EXPECT_EQ(now, 1002u);
  load(0x40184000);
  EXPECT_EQ(stall, 12 + 28u);
  EXPECT_EQ(memory.counts().peripheral_stalls, 40u);
  now = 5000;
  load(0x42000000);  // GPIO6: on the fast bus
  EXPECT_EQ(stall, 8u);
}

TEST_F(Stores, OcramLineFillAndUncachedRead) {
  load(kOcram);
  EXPECT_EQ(stall, 26u);
  memory.enable_dcache(true);
  now = 2000;
  load(kOcram + 8);
  EXPECT_EQ(stall, 24u);
  load(kOcram + 16);  // its beat comes 4 later; one cycle has passed
  EXPECT_EQ(stall, 3u);
  load(kOcram);  // the last of the wrap, at 2036
  EXPECT_EQ(now, 2037u);
  load(kOcram + 24);
  EXPECT_EQ(stall, 0u);
  EXPECT_EQ(memory.counts().dcache_stalls[static_cast<size_t>(Memory::ocram)], 24 + 3 + 7u);
}

TEST_F(Stores, StoreMissDoesNotStallUntilBothFillBuffersAreBusy) {
  memory.enable_dcache(true);
  store(kOcram, 1);  // enters the buffer at 1000, its fill starts at 1002
  store(kOcram + 64, 2);
  EXPECT_EQ(now, 1002u);
  EXPECT_EQ(memory.counts().dcache.misses, 2u);
  load(kOcram + 4);  // beat 0 of the first fill: 1002 + 24
  EXPECT_EQ(stall, 24u);
}

TEST_F(Stores, LoadMissWaitsForAFillBuffer) {
  memory.enable_dcache(true);
  // Fills at 1002 and, behind it on the bus (16 a line), 1018: done at 1038 and 1054.
  store(kOcram, 1);
  store(kOcram + 64, 2);
  load(kOcram + 128);  // at 1002: a buffer at 1038, the bus is free, first beat 24 later
  EXPECT_EQ(stall, 36 + 24u);
}

TEST_F(Stores, ThreeFullLinesStartReadAllocateMode) {
  memory.enable_dcache(true);
  const auto fill_line = [&](uint32_t line) {
    for (uint32_t i = 0; i < 32; i += 4) store(kOcram + 32 * line + i, line);
  };
  fill_line(0);
  fill_line(1);
  EXPECT_FALSE(memory.read_allocate_mode());
  fill_line(2);
  EXPECT_TRUE(memory.read_allocate_mode());
  fill_line(3);
  EXPECT_EQ(dma_load(kOcram + 96), 3u);  // past the cache
  EXPECT_EQ(dma_load(kOcram + 64), 0u);  // still in it
  EXPECT_TRUE(memory.read_allocate_mode());
  // A line left partly written ends it: the store after it allocates.
  store(kOcram + 128, 4);
  EXPECT_EQ(dma_load(kOcram + 128), 4u);
  store(kOcram + 256, 5);
  EXPECT_FALSE(memory.read_allocate_mode());
  EXPECT_EQ(dma_load(kOcram + 256), 0u);
}

TEST_F(Stores, LoadOfTheLineBeingWrittenEndsReadAllocateMode) {
  memory.enable_dcache(true);
  for (uint32_t i = 0; i < 128; i += 4) store(kOcram + i, i);
  ASSERT_TRUE(memory.read_allocate_mode());
  load(kOcram + 0x1000);  // another line: no matter
  EXPECT_TRUE(memory.read_allocate_mode());
  EXPECT_EQ(load(kOcram + 100), 100u);
  EXPECT_FALSE(memory.read_allocate_mode());
}

TEST_F(Stores, PartlyWrittenLineBreaksTheRow) {
  memory.enable_dcache(true);
  for (uint32_t line = 0; line < 2; ++line) {
    for (uint32_t i = 0; i < 32; i += 4) store(kOcram + 32 * line + i, 1);
  }
  store(kOcram + 0x1000, 1);
  idle(1000);
  for (uint32_t line = 2; line < 4; ++line) {
    for (uint32_t i = 0; i < 32; i += 4) store(kOcram + 32 * line + i, 1);
  }
  EXPECT_FALSE(memory.read_allocate_mode());
}

TEST_F(Stores, SlowWritersDoNotStartIt) {
  memory.enable_dcache(true);
  for (uint32_t i = 0; i < 1024; i += 4) {
    store(kOcram + i, i);
    idle(20);  // the fill is complete before the line is
  }
  EXPECT_FALSE(memory.read_allocate_mode());
}

TEST_F(Stores, ReadAllocateModeCanBeDisabled) {
  memory.enable_dcache(true);
  memory.disable_read_allocate(true);
  for (uint32_t i = 0; i < 1024; i += 4) store(kOcram + i, i);
  EXPECT_FALSE(memory.read_allocate_mode());
  EXPECT_EQ(dma_load(kOcram + 512), 0u);
}

TEST_F(Stores, DirtyEvictionsOccupyTheBus) {
  memory.enable_dcache(true);
  memory.disable_read_allocate(true);
  for (uint32_t i = 0; i < 0x8000; i += 32) store(kOcram + i, 1);
  idle(1000);
  // Clean by address: 1 cycle each, and from the second on wait for the line before: 8 + 3 * 4.
  EXPECT_EQ(memory.cache_op(MemorySystem::CacheOp::dcache_clean_line, kOcram, 100000), 1u);
  EXPECT_EQ(memory.cache_op(MemorySystem::CacheOp::dcache_clean_line, kOcram + 32, 100001), 21u);
  EXPECT_EQ(memory.cache_op(MemorySystem::CacheOp::dcache_clean_line, kOcram + 32, 200000), 1u);
}

TEST_F(Stores, ParametersOfAProfileTakeEffect) {
  Timing changed;
  ASSERT_EQ(apply_profile("ocram_read = 40\nocram_write = 20", &changed), "");
  TestMemory t({}, changed);
  t.load(kOcram);
  EXPECT_EQ(t.stall, 40u);
  t.store(kOcram, 1);
  EXPECT_EQ(t.memory.drain_stores(t.now), 2 + 20 - 1u);
}

}  // namespace
}  // namespace millrace::board
