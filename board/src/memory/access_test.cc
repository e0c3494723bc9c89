// SPDX-License-Identifier: Apache-2.0
// Loads and stores: alignment, faults, attributes, FlexRAM, devices, DMA.
#include "memory/testing/test_memory.h"

namespace millrace::board {
namespace {

// Remembers accesses; reads give the offset and, in the upper half, how many reads there were.
class TestDevice final : public Device {
 public:
  std::string_view name() const override { return "TEST"; }
  uint32_t read(uint32_t offset, unsigned size, Cycles now) override {
    last = {offset, size, 0, now};
    return offset | (++reads << 16);
  }
  void write(uint32_t offset, unsigned size, uint32_t value, Cycles now) override {
    ++writes;
    last = {offset, size, value, now};
  }
  void reset() override {}
  struct Access {
    uint32_t offset;
    unsigned size;
    uint32_t value;
    Cycles now;
  };
  Access last{};
  uint32_t reads = 0, writes = 0;
};

struct Memories : ::testing::Test, TestMemory {
  Memories() : TestMemory({.psram_bytes = 8u << 20}) {}
};

TEST_F(Memories, EachOneKeepsItsBytesAndEndsWhereItShould) {
  struct Range {
    uint32_t base, size;
  };
  // The split of the fuses: ITCM 128 KB, DTCM 128 KB, OCRAM 256 KB, besides OCRAM2 512 KB.
  for (const Range range : {Range{0, 0x20000}, Range{kDtcm, 0x20000}, Range{kOcram, 0x80000},
                            Range{0x20280000, 0x40000}, Range{kPsram, 0x800000}}) {
    store(range.base, range.base + 1);
    store(range.base + range.size - 4, 0x55AA0000 + (range.base >> 24));
    EXPECT_EQ(load(range.base), range.base + 1);
    EXPECT_EQ(load(range.base + range.size - 4), 0x55AA0000 + (range.base >> 24));
    if (range.base == kOcram) continue;  // FlexRAM's follows
    EXPECT_EQ(load_fault(range.base + range.size), AccessFault::bus);
    EXPECT_EQ(store_fault(range.base + range.size), AccessFault::bus);
  }
  EXPECT_EQ(load(kFlash), 0xFFFFFFFFu);
  EXPECT_EQ(load(kFlash + 0x7FFFFC), 0xFFFFFFFFu);
  EXPECT_EQ(load_fault(kFlash + 0x800000), AccessFault::bus);
  EXPECT_EQ(store_fault(kFlash), AccessFault::bus);
  EXPECT_EQ(load(0x0020001C), 0u);  // boot ROM
  EXPECT_EQ(store_fault(0x00200000), AccessFault::bus);
  for (const uint32_t nowhere : {0x10000000u, 0x30000000u, 0x40000000u, 0x80000000u, 0xA0000000u,
                                 0xE0000000u, 0xFFFFFFFCu}) {
    EXPECT_EQ(load_fault(nowhere), AccessFault::bus) << std::hex << nowhere;
    EXPECT_EQ(store_fault(nowhere), AccessFault::bus) << std::hex << nowhere;
  }
}

TEST(MemoriesWithout, PsramIsNotThere) {
  TestMemory t;
  EXPECT_EQ(t.load_fault(kPsram), AccessFault::bus);
  MemoryOptions options;
  options.psram_bytes = 16u << 20;
  TestMemory with(options);
  with.store(kPsram + (16u << 20) - 4, 5);
  EXPECT_EQ(with.load(kPsram + (16u << 20) - 4), 5u);
}

TEST_F(Memories, UnalignedAccessesAreThoseOfTheBytes) {
  for (const bool cached : {false, true}) {
    memory.enable_dcache(cached);
    for (const uint32_t base : {kDtcm, kOcram, kPsram}) {
      // Around a beat, a line and a page.
      for (const uint32_t around : {8u, 32u, 4096u}) {
        const uint32_t from = base + around - 8;
        for (uint32_t i = 0; i < 16; ++i) store(from + i, 0x10 + i, 1);
        for (uint32_t i = 0; i < 12; ++i) {
          EXPECT_EQ(load(from + i, 4), 0x10101010 + 0x03020100 + i * 0x01010101u);
          EXPECT_EQ(load(from + i, 2), 0x1010 + 0x0100 + i * 0x0101u);
        }
        for (uint32_t i = 4; i < 9; ++i) {
          store(from + i, 0xA1B2C3D4, 4);
          EXPECT_EQ(load(from + i, 1), 0xD4u);
          EXPECT_EQ(load(from + i + 1, 1), 0xC3u);
          EXPECT_EQ(load(from + i + 2, 1), 0xB2u);
          EXPECT_EQ(load(from + i + 3, 1), 0xA1u);
          store(from + i, 0xEEFF, 2);
          EXPECT_EQ(load(from + i, 4), 0xA1B2EEFFu);
        }
      }
    }
  }
}

TEST_F(Memories, UnalignedAccessAcrossTheEndOfAMemoryFaultsAndWritesNothing) {
  store(kDtcm + 0x1FFFC, 0x11223344);
  EXPECT_EQ(load_fault(kDtcm + 0x1FFFE), AccessFault::bus);
  EXPECT_EQ(store_fault(kDtcm + 0x1FFFE), AccessFault::bus);
  EXPECT_EQ(load(kDtcm + 0x1FFFC), 0x11223344u);
  EXPECT_EQ(load_fault(0xFFFFFFFE), AccessFault::unaligned);  // Device type
}

TEST_F(Memories, UnalignedAccessIntoAForbiddenRegionFaultsAndWritesNothing) {
  TestMpu mpu;
  mpu.add(kDtcm + 0x40, 32, no_access());
  mpu.add(kOcram + 0x1000, 0x1000, device_memory());
  memory.set_attributes_source(&mpu);
  store(kDtcm + 0x3C, 0x11223344);
  EXPECT_EQ(load_fault(kDtcm + 0x3E), AccessFault::mpu_data);
  EXPECT_EQ(store_fault(kDtcm + 0x3E), AccessFault::mpu_data);
  EXPECT_EQ(load(kDtcm + 0x3C), 0x11223344u);
  EXPECT_EQ(load_fault(kDtcm + 0x5F, 2), AccessFault::mpu_data);
  // Into Device memory: an alignment fault, whichever half is it.
  EXPECT_EQ(load_fault(kOcram + 0x0FFE), AccessFault::unaligned);
  EXPECT_EQ(store_fault(kOcram + 0x0FFE), AccessFault::unaligned);
  EXPECT_EQ(load_fault(kOcram + 0x1002), AccessFault::unaligned);
  EXPECT_EQ(load_fault(kOcram + 0x1002, 2), AccessFault::none);
  memory.set_attributes_source(nullptr);
}

TEST_F(Memories, PermissionsAreByPrivilegeAndDirection) {
  TestMpu mpu;
  MemoryAttributes read_only;
  read_only.writable = false;
  mpu.regions.push_back({kDtcm, 0x1000, read_only, no_access()});
  memory.set_attributes_source(&mpu);
  EXPECT_EQ(load_fault(kDtcm), AccessFault::none);
  EXPECT_EQ(store_fault(kDtcm), AccessFault::mpu_data);
  EXPECT_EQ(load_fault(kDtcm, 4, false), AccessFault::mpu_data);
  const FastPage* const fast = memory.fast_page(kDtcm, true);
  ASSERT_NE(fast, nullptr);
  EXPECT_EQ(fast->write, nullptr);
  EXPECT_EQ(memory.fast_page(kDtcm, false), nullptr);
  EXPECT_NE(memory.fast_page(kDtcm + 0x1000, false), nullptr);
  EXPECT_EQ(memory.fast_page(kOcram, true), nullptr);
  mpu.regions[0].privileged = MemoryAttributes();
  memory.attributes_changed();
  EXPECT_EQ(store_fault(kDtcm), AccessFault::none);
  // The MPU comes before the bus: no permission where there is nothing either.
  mpu.add(0x10000000, 0x1000, no_access());
  memory.attributes_changed();
  EXPECT_EQ(load_fault(0x10000000), AccessFault::mpu_data);
  memory.set_attributes_source(nullptr);
}

TEST_F(Memories, MixedPageHasNoFastPageAndStillWorks) {
  TestMpu mpu;
  mpu.add(kDtcm + 0x800, 32, no_access());
  memory.set_attributes_source(&mpu);
  EXPECT_EQ(memory.fast_page(kDtcm, true), nullptr);
  store(kDtcm + 0x7FC, 1);
  store(kDtcm + 0x820, 2);
  EXPECT_EQ(load(kDtcm + 0x7FC), 1u);
  EXPECT_EQ(load(kDtcm + 0x820), 2u);
  EXPECT_EQ(load_fault(kDtcm + 0x800), AccessFault::mpu_data);
  EXPECT_EQ(load_fault(kDtcm + 0x81F, 1), AccessFault::mpu_data);
  const unsigned before = mpu.questions;
  for (int i = 0; i < 100; ++i) load(kDtcm + 0x7FC);
  EXPECT_EQ(mpu.questions, before);  // remembered by line
  memory.set_attributes_source(nullptr);
}

TEST_F(Memories, MoreMixedPagesThanAreRememberedStillWork) {
  TestMpu mpu;
  for (uint32_t page = 0; page < 100; ++page) mpu.add(kOcram + page * 4096, 32, no_access());
  memory.set_attributes_source(&mpu);
  for (int round = 0; round < 2; ++round) {
    for (uint32_t page = 0; page < 100; ++page) {
      EXPECT_EQ(load_fault(kOcram + page * 4096 + 28), AccessFault::mpu_data);
      EXPECT_EQ(load_fault(kOcram + page * 4096 + 32), AccessFault::none);
    }
  }
  memory.set_attributes_source(nullptr);
}

TEST_F(Memories, FlexramBanksTakeEffectAtOnceAndKeepTheirBytes) {
  // Fuses 0x55AFFA55, from bank 0: O O O O D D I I  I I D D O O O O.
  store(0x00000000, 0x600D0006);           // ITCM bank 0 of 4 = bank 6
  store(0x20000000, 0x600D0004);           // DTCM: bank 4
  store(0x20010000, 0x600D000A);           // DTCM bank 2 of 4 = bank 10
  store(0x20280000 + 0x8000, 0x600D0001);  // OCRAM: bank 1
  // Teensy: bank 0 ITCM, all others DTCM.
  memory.set_flexram(0x00200007, 0xAAAAAAAB);
  EXPECT_EQ(load(kDtcm + 0x8000 * 5), 0x600D0006u);  // bank n is DTCM bank n - 1
  EXPECT_EQ(load(kDtcm + 0x8000 * 3), 0x600D0004u);
  EXPECT_EQ(load(kDtcm + 0x8000 * 9), 0x600D000Au);
  EXPECT_EQ(load(kDtcm), 0x600D0001u);
  store(kDtcm + 0x8000 * 15 - 4, 7);  // the stack
  EXPECT_EQ(load(kDtcm + 0x8000 * 15 - 4), 7u);
  EXPECT_EQ(load_fault(kDtcm + 0x8000 * 15), AccessFault::bus);
  EXPECT_EQ(load_fault(0x8000), AccessFault::bus);
  EXPECT_EQ(load_fault(0x20280000), AccessFault::bus);
  EXPECT_EQ(load_fault(kOcram), AccessFault::none);
  // Off, and back.
  memory.set_flexram(0x00200007, 0);
  EXPECT_EQ(load_fault(kDtcm), AccessFault::bus);
  EXPECT_EQ(memory.fast_page(kDtcm, true), nullptr);
  memory.set_flexram(0x00200003, 0);
  EXPECT_EQ(load(0x00000000), 0x600D0006u);
  // The enables of GPR16.
  memory.set_flexram(0x00200002, 0);
  EXPECT_EQ(load_fault(0), AccessFault::bus);
  EXPECT_EQ(load_fault(kDtcm), AccessFault::none);
  memory.set_flexram(0x00200001, 0);
  EXPECT_EQ(load_fault(kDtcm), AccessFault::bus);
}

TEST_F(Memories, FastPagesFollowTheBanks) {
  const FastPage* const before = memory.fast_page(kDtcm, true);
  ASSERT_NE(before, nullptr);
  const uint8_t* const host = before->read;
  const uint32_t changes = memory.pages_changed();
  memory.set_flexram(0x00200007, 0xAAAAAAAB);
  EXPECT_NE(memory.pages_changed(), changes);
  EXPECT_EQ(memory.fast_page(kDtcm, true), before);  // the pointer is valid for good
  EXPECT_NE(memory.fast_page(kDtcm, true)->read, host);
}

TEST_F(Memories, DevicesSeeOffsetSizeAndWhenTheAccessArrives) {
  TestDevice device, other;
  memory.attach(device, 0x40184000, 0x4000);
  memory.attach(other, 0x40188000, 0x200);
  EXPECT_EQ(load(0x40184010), 0x00010010u);
  EXPECT_EQ(stall, 28u);  // peripheral_read
  EXPECT_EQ(device.last.now, 1000 + 28u);
  EXPECT_EQ(load(0x40184012, 2), 0x00020012u);
  EXPECT_EQ(device.last.size, 2u);
  store(0x40184FFF, 0xAB, 1);
  EXPECT_EQ(device.last.offset, 0xFFFu);
  EXPECT_EQ(device.last.value, 0xABu);
  EXPECT_EQ(load(0x401881FC), 0x000101FCu);
  EXPECT_EQ(other.last.offset, 0x1FCu);
  EXPECT_EQ(load_fault(0x40188200), AccessFault::bus);
  EXPECT_EQ(load_fault(0x40183FFC), AccessFault::bus);
  EXPECT_EQ(load_fault(0x40184001), AccessFault::unaligned);
  EXPECT_EQ(store_fault(0x40184001, 2), AccessFault::unaligned);
  EXPECT_EQ(device.writes, 1u);
}

TEST_F(Memories, PpbIsPrivilegedCheapAndNotTheMpus) {
  TestDevice system;
  memory.attach(system, 0xE0000000, 0x100000);
  TestMpu mpu;
  mpu.add(0xE0000000, 0x100000, no_access());
  memory.set_attributes_source(&mpu);
  load(0xE0001004);
  EXPECT_EQ(stall, 1u);
  store(0xE000ED08, 5);
  EXPECT_EQ(stall, 1u);
  EXPECT_EQ(load_fault(0xE0001004, 4, false), AccessFault::bus);
  EXPECT_EQ(store_fault(0xE000E100, 4, false), AccessFault::bus);
  EXPECT_EQ(store_fault(0xE0000000, 4, false), AccessFault::none);  // ITM stimulus
  memory.set_attributes_source(nullptr);
}

TEST_F(Memories, DmaReachesTcmOcramPsramAndDevicesButNotThePpb) {
  TestDevice device;
  memory.attach(device, 0x400C4000, 0x4000);
  memory.attach(device, 0xE0000000, 0x100000);
  for (const uint32_t base : {0x00000000u, kDtcm, kOcram, 0x20280000u, kPsram}) {
    dma_store(base + 0xFFE, 0x01020304);  // across pages
    EXPECT_EQ(load(base + 0xFFE), 0x01020304u);
    EXPECT_EQ(dma_load(base + 0xFFE), 0x01020304u);
  }
  clock.advance(500);
  EXPECT_EQ(dma_load(0x400C4024), 0x00010024u);
  EXPECT_EQ(device.last.now, 500u);
  dma_store(0x400C4028, 9);
  EXPECT_EQ(device.last.value, 9u);
  std::array<uint8_t, 64> bytes{};
  EXPECT_FALSE(memory.dma_read(0xE0001004, bytes.data(), 4));
  EXPECT_FALSE(memory.dma_read(0x400C4001, bytes.data(), 2));
  EXPECT_FALSE(memory.dma_read(0x50000000, bytes.data(), 4));
  EXPECT_FALSE(memory.dma_write(kFlash, bytes.data(), 4));
  EXPECT_FALSE(memory.dma_write(kDtcm + 0x1FFE0, bytes.data(), 64));  // half of it is nowhere
  EXPECT_EQ(load(kDtcm + 0x1FFE0), 0u);
  EXPECT_FALSE(memory.dma_write(0xFFFFFFF0, bytes.data(), 64));
  EXPECT_TRUE(memory.dma_read(kOcram, bytes.data(), 0));
}

TEST_F(Memories, ResetTurnsTheCachesOffAndKeepsTheMemories) {
  memory.enable_dcache(true);
  store(kDtcm, 1);
  dma_store(kOcram, 2);
  load(kOcram);
  memory.reset();
  EXPECT_EQ(load(kDtcm), 1u);
  dma_store(kOcram, 3);
  EXPECT_EQ(load(kOcram), 3u);
}

}  // namespace
}  // namespace millrace::board
