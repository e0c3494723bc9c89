// SPDX-License-Identifier: Apache-2.0
#include "millrace/board/boot_rom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "image/boot_header.h"
#include "image/testing/boot_image.h"

namespace millrace::board {
namespace {

using testing::bootable_flash;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kBootDataAt;
using testing::kCodeAt;
using testing::kFlash;
using testing::kIvtAt;
using testing::put16;
using testing::put32;
using ::testing::StartsWith;

constexpr uint32_t kTableAt = 0x1800;

Image image_at(uint32_t address, std::vector<uint8_t> bytes) {
  Image image;
  image.path = "a.bin";
  image.kind = Image::Kind::binary;
  image.segments.push_back({address, std::move(bytes)});
  return image;
}

BootPlan plan_of(const std::vector<uint8_t>& flash, const BootOptions& options = {}) {
  return plan_boot(image_at(kFlash, flash), options);
}

BootPlan plan_with(size_t offset, uint32_t value) {
  std::vector<uint8_t> flash = bootable_flash();
  put32(&flash, offset, value);
  return plan_of(flash);
}

std::vector<uint8_t> flash_with_table(uint32_t sp, uint32_t pc) {
  std::vector<uint8_t> flash = bootable_flash();
  put32(&flash, kIvtAt + 4, kFlash + kTableAt);
  put32(&flash, kTableAt, sp);
  put32(&flash, kTableAt + 4, pc);
  return flash;
}

TEST(BootRom, OddEntryIsJumpedTo) {
  const BootPlan plan = plan_of(bootable_flash());
  EXPECT_EQ(plan.error, "");
  EXPECT_EQ(plan.start, StartKind::code);
  EXPECT_EQ(plan.pc, kFlash + kCodeAt);
  EXPECT_EQ(plan.vtor, 0x00200000u);
  EXPECT_FALSE(plan.copies_to_ram);
  EXPECT_THAT(plan.notes, IsEmpty());
  EXPECT_THAT(plan.unloadable, IsEmpty());
  BootOptions options;
  options.rom_stack = 0x20201000;
  options.rom_vtor = 0x00210000;
  EXPECT_EQ(plan_of(bootable_flash(), options).sp, 0x20201000u);
  EXPECT_EQ(plan_of(bootable_flash(), options).vtor, 0x00210000u);
}

TEST(BootRom, EvenEntryIsAVectorTable) {
  const std::vector<uint8_t> flash = flash_with_table(0x20020000, kFlash + kCodeAt + 1);
  BootPlan plan = plan_of(flash);
  EXPECT_EQ(plan.error, "");
  EXPECT_EQ(plan.start, StartKind::vector_table);
  EXPECT_EQ(plan.pc, kFlash + kCodeAt);
  EXPECT_EQ(plan.sp, 0x20020000u);
  EXPECT_EQ(plan.vtor, kFlash + kTableAt);
  BootOptions options;
  options.vtor_follows_table = false;
  plan = plan_of(flash, options);
  EXPECT_EQ(plan.vtor, 0x00200000u);
}

TEST(BootRom, ReportsTheFieldsOfTheHeader) {
  const BootPlan plan = plan_of(bootable_flash());
  ASSERT_TRUE(plan.flexspi && plan.ivt && plan.boot_data);
  EXPECT_EQ(plan.flexspi->version, 0x56010000u);
  EXPECT_EQ(plan.flexspi->read_sample_clock, 1);
  EXPECT_EQ(plan.flexspi->cs_hold_sck, 1);
  EXPECT_EQ(plan.flexspi->cs_setup_sck, 2);
  EXPECT_EQ(plan.flexspi->device_type, 1);
  EXPECT_EQ(plan.flexspi->pads, 4);
  EXPECT_EQ(plan.flexspi->serial_clock, 6);
  EXPECT_EQ(plan.flexspi->serial_clock_khz, 100000u);
  EXPECT_EQ(plan.flexspi->flash_a1_bytes, 8u << 20);
  EXPECT_EQ(plan.flexspi->page_bytes, 256u);
  EXPECT_EQ(plan.flexspi->sector_bytes, 4096u);
  // 8 command bits on 1 pad, 24 address bits on 4, 8 mode bits on 4, 4 dummies: 8 + 6 + 2 + 4.
  EXPECT_EQ(plan.flexspi->read_command_sck, 20u);
  EXPECT_EQ(plan.flexspi->read_data_pads, 4u);
  EXPECT_EQ(plan.ivt->header, 0x432000D1u);
  EXPECT_EQ(plan.ivt->entry, kFlash + kCodeAt + 1);
  EXPECT_EQ(plan.ivt->self, 0x60001000u);
  EXPECT_EQ(plan.boot_data->start, 0x60000000u);
  EXPECT_EQ(plan.boot_data->length, 0x2000u);
}

TEST(BootRom, ReadSequenceCountsDoubleDataRateAndStops) {
  std::vector<uint8_t> flash = bootable_flash();
  // Command A0h and 24 address bits with both edges on 8 pads (opcodes 21h, 22h), 6 dummies (2Ch),
  // read (29h): 8 / 16 -> 1, 24 / 16 -> 2, 6.
  put32(&flash, 0x80, 0x8B18'87A0);
  put32(&flash, 0x84, 0xA704'B306);
  BootPlan plan = plan_of(flash);
  EXPECT_EQ(plan.flexspi->read_command_sck, 9u);
  EXPECT_EQ(plan.flexspi->read_data_pads, 8u);
  put32(&flash, 0x84, 0);  // STOP before any read
  plan = plan_of(flash);
  EXPECT_EQ(plan.flexspi->read_data_pads, 0u);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("look-up table reads nothing")));
}

TEST(BootRom, SerialClockCodesOfTheRt1060) {
  const uint32_t mhz[] = {0, 30, 50, 60, 75, 80, 100, 120, 133, 166, 0};
  for (uint8_t code = 0; code < std::size(mhz); ++code) {
    EXPECT_EQ(serial_clock_khz(code), mhz[code] * 1000) << unsigned{code};
  }
  EXPECT_EQ(serial_clock_khz(255), 0u);
}

TEST(BootRom, MissingConfigurationBlockSaysWhatIsThere) {
  EXPECT_THAT(plan_with(0, 0x20010000).error,
              StartsWith("a.bin: no boot header: expected the FlexSPI configuration block's tag "
                         "0x42464346 at 0x60000000, found 0x20010000 ("));
  const BootPlan plan = plan_boot(image_at(0x60040000, {1, 2, 3, 4}));
  EXPECT_THAT(plan.error, HasSubstr("at 0x60000000, the image has nothing there"));
  EXPECT_EQ(plan.start, StartKind::none);
  EXPECT_FALSE(plan.flexspi);
}

TEST(BootRom, ImageVectorTableHeaderRules) {
  for (const uint32_t good : {0x402000D1u, 0x412000D1u, 0x432000D1u}) {
    EXPECT_EQ(plan_with(kIvtAt, good).error, "");
  }
  for (const uint32_t bad : {0x442000D1u, 0x3F2000D1u, 0x430020D1u, 0x432000D2u, 0xFFFFFFFFu}) {
    const BootPlan plan = plan_with(kIvtAt, bad);
    EXPECT_THAT(plan.error, HasSubstr("expected its header 0x432000D1")) << bad;
    EXPECT_TRUE(plan.flexspi);  // what was found before is still told
  }
  std::vector<uint8_t> cut = bootable_flash();
  cut.resize(kIvtAt + 31);
  EXPECT_THAT(plan_of(cut).error, HasSubstr("the image vector table at 0x60001000 is cut short"));
  EXPECT_THAT(plan_with(kIvtAt + 0x14, 0x60002000).error,
              HasSubstr("the image vector table at 0x60001000 says that it is at 0x60002000"));
}

TEST(BootRom, BootDataMustFitTheTable) {
  EXPECT_THAT(plan_with(kIvtAt + 0x10, 0x60700000).error,
              HasSubstr("puts the boot data at 0x60700000, where the image has nothing"));
  EXPECT_THAT(plan_with(kBootDataAt, 0x60002000).error,
              HasSubstr("begin the image at 0x60002000, its vector table at 0x60000000"));
  EXPECT_THAT(plan_with(kBootDataAt + 8, 1).error, HasSubstr("ask for a plugin"));
  EXPECT_THAT(plan_with(kBootDataAt + 4, 0x04000000).notes,
              ElementsAre(HasSubstr("speak of 67108864 bytes; the flash has 8388608")));
}

TEST(BootRom, EntryMustBeWhereAProgramIs) {
  EXPECT_THAT(plan_with(kIvtAt + 4, 0x80000001).error,
              HasSubstr("the entry of the image vector table is 0x80000001, where no program can"));
  EXPECT_THAT(plan_with(kIvtAt + 4, 0x60004001).error, HasSubstr("where the image has nothing"));
  EXPECT_THAT(plan_with(kIvtAt + 4, 0x70000001).error, HasSubstr("where no program can run"));
  EXPECT_THAT(plan_with(kIvtAt + 4, 0x60004000).error,
              HasSubstr("is even, a vector table, but the image has nothing there"));
}

TEST(BootRom, StackPointerMustBeInRam) {
  const uint32_t code = kFlash + kCodeAt + 1;
  for (const uint32_t good : {0x00080000u, 0x20080000u, 0x20000004u, 0x20280000u}) {
    EXPECT_EQ(plan_of(flash_with_table(good, code)).error, "") << good;
  }
  for (const uint32_t bad : {0u, 0x20000000u, 0x20080004u, 0x60001000u, 0x70000400u, 0xFFFFFFFFu}) {
    EXPECT_THAT(plan_of(flash_with_table(bad, code)).error, HasSubstr("which is in no RAM")) << bad;
  }
}

TEST(BootRom, ResetVectorMustBeAThumbAddressInTheImage) {
  EXPECT_THAT(plan_of(flash_with_table(0x20020000, kFlash + kCodeAt)).error,
              HasSubstr("has the reset vector 0x60001400, which is even"));
  EXPECT_THAT(
      plan_of(flash_with_table(0x20020000, 0x60100001)).error,
      HasSubstr("the reset vector of the table at 0x60001800 is 0x60100001, where the image "
                "has nothing"));
}

TEST(BootRom, NotesTellWhatIsNotLikeATeensy) {
  EXPECT_THAT(plan_with(0x50, 0x00200000).notes,
              ElementsAre(HasSubstr("2097152 bytes of flash; a Teensy 4.1 has 8388608")));
  EXPECT_THAT(plan_with(0x44, 0x000F0401).notes, ElementsAre(HasSubstr("clock code 15")));
  EXPECT_THAT(plan_with(kIvtAt + 0x0C, 0x60001030).notes,
              ElementsAre("the device configuration data at 0x60001030 are not carried out (they "
                          "have no header D2 there)"));
}

// Linked for OCRAM, stored in flash: the ROM copies it.
TEST(BootRom, ImageLinkedForRamIsCopied) {
  constexpr uint32_t kStart = 0x20208000;
  std::vector<uint8_t> flash = bootable_flash();
  put32(&flash, kIvtAt + 4, kStart + static_cast<uint32_t>(kCodeAt) + 1);
  put32(&flash, kIvtAt + 0x10, kStart + static_cast<uint32_t>(kBootDataAt));
  put32(&flash, kIvtAt + 0x14, kStart + static_cast<uint32_t>(kIvtAt));
  put32(&flash, kBootDataAt, kStart);
  BootPlan plan = plan_of(flash);
  EXPECT_EQ(plan.error, "");
  EXPECT_TRUE(plan.copies_to_ram);
  EXPECT_EQ(plan.boot_data->start, kStart);
  EXPECT_EQ(plan.pc, kStart + kCodeAt);
  // OCRAM has 768 KB at boot: 0x202C0000 - 0x20208000 = 0xB8000.
  put32(&flash, kBootDataAt + 4, 0xB8000);
  EXPECT_EQ(plan_of(flash).error, "");
  put32(&flash, kBootDataAt + 4, 0xB8001);
  EXPECT_THAT(plan_of(flash).error, HasSubstr("753665 bytes copied to 0x20208000, beyond"));
}

TEST(BootRom, WhatDoesNotFitIsTold) {
  BootPlan plan = plan_of(bootable_flash(0x800001));
  EXPECT_EQ(
      plan.error,
      "a.bin: 8388609 bytes at 0x60000000 would not load: they end 1 bytes behind the 8388608 "
      "bytes of flash (make the image smaller)");
  EXPECT_EQ(plan.start, StartKind::none);
  EXPECT_TRUE(plan.ivt);
  EXPECT_EQ(plan_of(bootable_flash(0x800000)).error, "");
  Image image = image_at(kFlash, bootable_flash());
  image.segments.push_back({0x70000000, {1}});
  image.segments.push_back({0x80000000, {1, 2}});
  plan = plan_boot(image);
  EXPECT_THAT(plan.unloadable, ElementsAre(HasSubstr("PSRAM answers only after"),
                                           HasSubstr("2 bytes at 0x80000000 would not load: the "
                                                     "board has no memory there")));
}

TEST(BootRom, RamBesideFlashIsLoadedWithANote) {
  Image image = image_at(0x20200000, {1, 2, 3});
  image.segments.push_back({kFlash, bootable_flash()});
  const BootPlan plan = plan_boot(image);
  EXPECT_EQ(plan.error, "");
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("3 bytes at 0x20200000 lie in RAM")));
}

TEST(BootRom, RamImageStartsThroughItsVectorTable) {
  std::vector<uint8_t> bytes(0x200);
  put32(&bytes, 0, 0x20020000);
  put32(&bytes, 4, 0x00000101);
  BootPlan plan = plan_boot(image_at(0, bytes));
  EXPECT_EQ(plan.error, "");
  EXPECT_EQ(plan.start, StartKind::ram_vector_table);
  EXPECT_EQ(plan.pc, 0x100u);
  EXPECT_EQ(plan.sp, 0x20020000u);
  EXPECT_EQ(plan.vtor, 0u);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("as a debugger would")));
  // An ELF whose table is not first: found by its entry.
  std::vector<uint8_t> moved(0x400);
  std::copy(bytes.begin(), bytes.end(), moved.begin() + 0x180);
  put32(&moved, 0x184, 0x20200011);
  Image image = image_at(0x20200000, moved);
  image.kind = Image::Kind::elf;
  EXPECT_THAT(plan_boot(image).error, HasSubstr("no vector table"));
  image.entry = 0x20200010;
  EXPECT_EQ(plan_boot(image).vtor, 0x20200180u);
  // The entry decides between two tables.
  put32(&image.segments[0].bytes, 0, 0x20010000);
  put32(&image.segments[0].bytes, 4, 0x20200021);
  EXPECT_EQ(plan_boot(image).vtor, 0x20200180u);
  image.entry = 0;
  EXPECT_EQ(plan_boot(image).vtor, 0x20200000u);
  put32(&bytes, 0, 0);
  EXPECT_THAT(plan_boot(image_at(0, bytes)).error, HasSubstr("nothing of it is in flash"));
  EXPECT_THAT(plan_boot(Image()).error, HasSubstr("holds nothing to load"));
  EXPECT_THAT(plan_boot(image_at(0, std::vector<uint8_t>(0x20001))).unloadable,
              ElementsAre(HasSubstr("131072 bytes of ITCM at boot")));
}

TEST(BootRom, EveryTruncationAndBitFlipIsAPlanOrASentence) {
  const std::vector<uint8_t> whole = flash_with_table(0x20020000, kFlash + kCodeAt + 1);
  for (size_t size = 1; size < whole.size(); size += size < 0x1F0 || size >= 0xFF0 ? 1 : 32) {
    const BootPlan plan = plan_of({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    ASSERT_EQ(plan.error.empty(), plan.start != StartKind::none) << size;
    if (size <= kTableAt + 7) {
      ASSERT_FALSE(plan.error.empty()) << size;
    }
  }
  Image image = image_at(kFlash, whole);
  std::vector<uint8_t>& bytes = image.segments[0].bytes;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ 1u << bit % 8);
    const BootPlan plan = plan_boot(image);
    ASSERT_EQ(plan.error.empty(), plan.start != StartKind::none) << bit;
    ASSERT_EQ(plan.error.find('\n'), std::string::npos) << bit;
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ 1u << bit % 8);
  }
}

}  // namespace
}  // namespace millrace::board
