// SPDX-License-Identifier: Apache-2.0
#include "image/elf_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "image/testing/elf_builder.h"
#include "millrace/board/boot_rom.h"

namespace millrace::board {
namespace {

using testing::append32;
using ::testing::ElementsAre;
using testing::ElfBuilder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::put16;
using testing::put32;

std::string error_of(const std::vector<uint8_t>& bytes) {
  Image image;
  ImageError error;
  EXPECT_FALSE(parse_image("a.elf", bytes, 0, &image, &error));
  EXPECT_TRUE(image.segments.empty() && image.symbols.empty() && image.notes.empty());
  EXPECT_FALSE(error.unreadable);
  return error.message;
}

Image parsed(const std::vector<uint8_t>& bytes) {
  Image image;
  ImageError error;
  EXPECT_TRUE(parse_image("a.elf", bytes, 0, &image, &error)) << error.message;
  return image;
}

// The shape of a Teensy core's ELF: headers at the start of DTCM, code in flash and ITCM, .data
// stored in flash, .bss.
ElfBuilder teensy_like() {
  ElfBuilder builder(0x60001000);
  builder.headers_at(0x20000000, 64)
      .section(".text.headers", 0x60000000, 0x60000000, {1, 2, 3, 4})
      .section(".text.itcm", 0x00000000, 0x60000004, {5, 6, 7, 8},
               ElfBuilder::kAlloc | ElfBuilder::kExecute)
      .section(".data", 0x20000000, 0x60000008, {9, 10})
      .zeroes(".bss", 0x20000040, 0x1200);
  return builder;
}

ElfBuilder with_symbols() {
  ElfBuilder builder = teensy_like();
  builder.symbol("", 0, 0, ElfBuilder::kSection, 1)
      .symbol("main.cpp", 0, 0, ElfBuilder::kFile, ElfBuilder::kAbsolute)
      .symbol("$t", 0, 0, ElfBuilder::kNotype, 2)
      .symbol("$d.12", 2, 0, ElfBuilder::kNotype, 2)
      .symbol("$table", 2, 0, ElfBuilder::kNotype, 2)
      .symbol("loop", 1, 2, ElfBuilder::kFunc, 2)
      .symbol("byte", 0x20000001, 1, ElfBuilder::kObject, 3)
      .symbol("_stack_size", 4096, 0, ElfBuilder::kNotype, ElfBuilder::kAbsolute)
      .symbol("rom_api", 0x00200101, 8, ElfBuilder::kFunc, ElfBuilder::kAbsolute)
      .symbol("missing", 0, 0, ElfBuilder::kNotype, ElfBuilder::kUndefined)
      .symbol("in_debug", 0, 0, ElfBuilder::kNotype, 5)
      .other(".debug_info", 1, {1, 2, 3, 4});
  return builder;
}

TEST(ElfImage, LoadsWhatSegmentsStoreAtTheirLoadAddress) {
  const Image image = parsed(teensy_like().build());
  EXPECT_EQ(image.kind, Image::Kind::elf);
  EXPECT_EQ(image.path, "a.elf");
  EXPECT_EQ(image.entry, 0x60001000u);
  ASSERT_EQ(image.segments.size(), 3u);
  EXPECT_EQ(image.segments[0].address, 0x60000000u);
  EXPECT_EQ(image.segments[1].address, 0x60000004u);
  EXPECT_EQ(image.segments[2].address, 0x60000008u);
  EXPECT_THAT(image.segments[1].bytes, ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(image.segments[2].bytes, ElementsAre(9, 10));
  EXPECT_THAT(image.symbols, IsEmpty());
  EXPECT_EQ(image.build_id, "");
}

TEST(ElfImage, SectionsSayWhereTheyRunAndWhereTheyAreStored) {
  const Image image = parsed(teensy_like().build());
  ASSERT_EQ(image.sections.size(), 4u);  // by run address
  EXPECT_EQ(image.sections[0].name, ".text.itcm");
  EXPECT_EQ(image.sections[0].run_address, 0u);
  EXPECT_EQ(image.sections[0].load_address, 0x60000004u);
  EXPECT_EQ(image.sections[0].size, 4u);
  EXPECT_TRUE(image.sections[0].is_code && image.sections[0].is_stored);
  EXPECT_EQ(image.sections[1].name, ".data");
  EXPECT_EQ(image.sections[1].load_address, 0x60000008u);
  EXPECT_FALSE(image.sections[1].is_code);
  EXPECT_EQ(image.sections[2].name, ".bss");
  EXPECT_EQ(image.sections[2].size, 0x1200u);
  EXPECT_FALSE(image.sections[2].is_stored);
  EXPECT_EQ(image.sections[3].name, ".text.headers");
}

TEST(ElfImage, SegmentOfItsOwnHeadersIsLeftOutWithANote) {
  // Five segments: 52 + 5 * 32 = 212 bytes of headers.
  EXPECT_THAT(parsed(teensy_like().build()).notes,
              ElementsAre("segment 0 at 0x20000000 holds only the ELF's own headers, 212 bytes: "
                          "left out"));
  // Without section headers the size tells.
  const Image stripped = parsed(teensy_like().without_section_headers().build());
  EXPECT_EQ(stripped.segments.size(), 3u);
  EXPECT_EQ(stripped.notes.size(), 1u);
  ASSERT_EQ(stripped.sections.size(), 5u);  // three stored, zero parts of the headers and of .bss
  EXPECT_EQ(stripped.sections[0].name, "segment 2");
  EXPECT_EQ(stripped.sections[0].load_address, 0x60000004u);
}

TEST(ElfImage, HeadersBeforeTheFirstSectionAreCutOff) {
  std::vector<uint8_t> file =
      ElfBuilder(0x101).section(".text", 0x100, 0x100, {1, 2, 3, 4}).build();
  // One segment: its section is at offset 52 + 32 = 84. Extend it down to the file's start.
  put32(&file, ElfBuilder::program(0) + 4, 0);
  put32(&file, ElfBuilder::program(0) + 8, 0x100 - 84);
  put32(&file, ElfBuilder::program(0) + 12, 0x100 - 84);
  put32(&file, ElfBuilder::program(0) + 16, 88);
  put32(&file, ElfBuilder::program(0) + 20, 88);
  const Image image = parsed(file);
  ASSERT_EQ(image.segments.size(), 1u);
  EXPECT_EQ(image.segments[0].address, 0x100u);
  EXPECT_THAT(image.segments[0].bytes, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(image.notes, ElementsAre(HasSubstr("its first 84 bytes were left out")));
}

TEST(ElfImage, SegmentInNoMemoryIsLeftOutAndRamIsKept) {
  const Image image = parsed(ElfBuilder(0x20200001)
                                 .section(".text", 0x20200000, 0x20200000, {1, 2})
                                 .section(".itcm", 0x0, 0x0, {3})
                                 .section(".fuses", 0x10000000, 0x10000000, {4, 5, 6})
                                 .build());
  ASSERT_EQ(image.segments.size(), 2u);
  EXPECT_EQ(image.segments[0].address, 0u);
  EXPECT_EQ(image.segments[1].address, 0x20200000u);
  EXPECT_THAT(image.notes, ElementsAre("segment 2, 3 bytes at 0x10000000, lies in no memory of the "
                                       "board: left out"));
}

TEST(ElfImage, SymbolsAreThoseWithAnAddressInMemory) {
  const Image image = parsed(with_symbols().build());
  ASSERT_EQ(image.symbols.size(), 4u);
  EXPECT_EQ(image.symbols[0].name, "loop");
  EXPECT_EQ(image.symbols[0].address, 0u);  // Thumb bit cleared
  EXPECT_EQ(image.symbols[0].size, 2u);
  EXPECT_TRUE(image.symbols[0].is_function);
  EXPECT_EQ(image.symbols[1].name, "$table");
  EXPECT_FALSE(image.symbols[1].is_function);
  EXPECT_EQ(image.symbols[2].name, "rom_api");
  EXPECT_EQ(image.symbols[2].address, 0x00200100u);
  EXPECT_EQ(image.symbols[3].name, "byte");
  EXPECT_EQ(image.symbols[3].address, 0x20000001u);  // an object may be at an odd address
}

TEST(ElfImage, BuildIdIsFoundAmongOtherNotes) {
  std::vector<uint8_t> notes;
  append32(&notes, 5);  // name "abcd\0" padded to 8, 1 byte padded to 4
  append32(&notes, 1);
  append32(&notes, 3);
  append32(&notes, 0x64636261);
  append32(&notes, 0);
  append32(&notes, 0x77);
  append32(&notes, 4);  // name "GNU\0", 3 bytes, type 3
  append32(&notes, 3);
  append32(&notes, 3);
  append32(&notes, 0x00554E47);
  append32(&notes, 0x00EF0A01);
  EXPECT_EQ(parsed(teensy_like().other(".note.gnu.build-id", 7, notes).build()).build_id, "010aef");
  put32(&notes, 28, 4000);  // longer than the section
  EXPECT_EQ(parsed(teensy_like().other(".note.gnu.build-id", 7, notes).build()).build_id, "");
}

TEST(ElfImage, OtherKindsOfElfAreRefusedWithTheOffset) {
  const std::vector<uint8_t> good = teensy_like().build();
  const auto with_byte = [&good](size_t offset, uint8_t value) {
    std::vector<uint8_t> file = good;
    file[offset] = value;
    return error_of(file);
  };
  EXPECT_EQ(
      with_byte(18, 3),
      "a.elf at offset 0x12: an ELF file for x86 (give the firmware's ELF for the Teensy 4.1: "
      "32-bit ARM)");
  std::vector<uint8_t> linux_program = good;
  linux_program[4] = 2;
  linux_program[18] = 62;
  EXPECT_THAT(error_of(linux_program), HasSubstr("at offset 0x4: a 64-bit ELF file for x86-64"));
  EXPECT_THAT(with_byte(18, 243), HasSubstr("RISC-V"));
  EXPECT_THAT(with_byte(5, 2), HasSubstr("at offset 0x5: a big-endian ELF file"));
  EXPECT_THAT(with_byte(5, 0), HasSubstr("byte order 0"));
  EXPECT_THAT(with_byte(4, 7), HasSubstr("class 7"));
  EXPECT_THAT(with_byte(16, 1), HasSubstr("at offset 0x10: an object file"));
  EXPECT_THAT(with_byte(16, 3), HasSubstr("position-independent"));
  EXPECT_THAT(with_byte(16, 4), HasSubstr("a core dump"));
  EXPECT_THAT(with_byte(44, 0), HasSubstr("no program headers"));
  EXPECT_THAT(with_byte(42, 56), HasSubstr("program headers of 56 bytes, not 32"));
  EXPECT_THAT(with_byte(46, 64), HasSubstr("section headers of 64 bytes, not 40"));
}

TEST(ElfImage, SegmentsThatCannotBeAreRefused) {
  const std::vector<uint8_t> good = teensy_like().build();
  const auto with_word = [&good](uint32_t offset, uint32_t value) {
    std::vector<uint8_t> file = good;
    put32(&file, offset, value);
    return error_of(file);
  };
  const uint32_t itcm = ElfBuilder::program(2);  // at 0x74
  EXPECT_THAT(with_word(itcm + 4, 0xFFFFFFFF),
              HasSubstr("at offset 0x74: segment 2 takes 4 bytes from offset 0xFFFFFFFF, beyond"));
  EXPECT_THAT(with_word(itcm + 16, 0xFFFFFFFF), HasSubstr("segment 2 takes 4294967295 bytes"));
  EXPECT_THAT(with_word(itcm + 20, 3), HasSubstr("segment 2 stores 4 bytes for 3 of memory"));
  EXPECT_THAT(with_word(itcm + 12, 0xFFFFFFFD), HasSubstr("beyond the 32-bit address space"));
  EXPECT_THAT(with_word(28, 0xFFFFFFF0), HasSubstr("5 program headers reach beyond the file's"));
  EXPECT_THAT(with_word(32, 0xFFFFFFF0), HasSubstr("6 section headers reach beyond the file's"));
  EXPECT_EQ(with_word(itcm + 12, 0x60000003),
            "a.elf: segments 1 and 2 both store the byte at 0x60000003 (give each section its own "
            "load address)");
}

TEST(ElfImage, SegmentMayEndWithTheAddressSpace) {
  const Image image = parsed(ElfBuilder(0x60000001)
                                 .section(".text", 0x60000000, 0x60000000, {1, 2})
                                 .section(".last", 0xFFFFFFFC, 0xFFFFFFFC, {1, 2, 3, 4})
                                 .build());
  EXPECT_EQ(image.segments.size(), 1u);
  EXPECT_THAT(image.notes, ElementsAre(HasSubstr("4 bytes at 0xFFFFFFFC")));
}

TEST(ElfImage, NothingToLoadIsRefused) {
  EXPECT_THAT(error_of(ElfBuilder(0).zeroes(".bss", 0x20000000, 4).build()),
              HasSubstr("nothing in it is loaded"));
}

TEST(ElfImage, SmallFileCannotAskForMuchMemory) {
  // 500 segments, each of the same megabyte of the file.
  ElfBuilder builder(0);
  builder.section(".text", 0x60000000, 0x60000000, std::vector<uint8_t>(1 << 20));
  for (uint32_t i = 1; i < 500; ++i) builder.zeroes(".bss", 0x60000000, 4);
  std::vector<uint8_t> file = builder.build();
  for (uint32_t i = 1; i < 500; ++i) {
    put32(&file, ElfBuilder::program(i) + 4, load_le(&file[ElfBuilder::program(0) + 4], 4));
    put32(&file, ElfBuilder::program(i) + 16, 1 << 20);
    put32(&file, ElfBuilder::program(i) + 20, 1 << 20);
  }
  EXPECT_THAT(error_of(file), HasSubstr("segments of 524288000 bytes in all, more than 64 MB"));
  // 1,000 symbols whose names are the same 100,000 bytes: 100 MB.
  ElfBuilder named = teensy_like();
  named.symbol(std::string(100000, 'x'), 0, 0, ElfBuilder::kFunc, 2);
  for (int i = 1; i < 1000; ++i) named.symbol("y", 0, 0, ElfBuilder::kFunc, 2);
  file = named.build();
  const uint32_t symbols = load_le(&file[ElfBuilder::section_header(file, 5) + 16], 4);
  for (uint32_t i = 0; i < 1000; ++i) put32(&file, symbols + 16 + 16 * i, 1);
  EXPECT_THAT(error_of(file), HasSubstr("the names of the symbols take more than 64 MB"));
}

TEST(ElfImage, SymbolTableThatCannotBeIsRefused) {
  std::vector<uint8_t> file = with_symbols().build();
  const uint32_t symtab = ElfBuilder::section_header(file, 6);
  ASSERT_EQ(load_le(&file[symtab + 4], 4), 2u);  // SHT_SYMTAB
  put32(&file, load_le(&file[symtab + 16], 4) + 16 * 6, 0x7FFFFFFF);
  EXPECT_THAT(error_of(file), HasSubstr("a symbol's name lies outside the string table"));
  file = with_symbols().build();
  put32(&file, symtab + 24, 1);  // sh_link: .text.headers
  EXPECT_THAT(error_of(file), HasSubstr("no valid entry size or string table"));
  file = with_symbols().build();
  put32(&file, symtab + 36, 0);
  EXPECT_THAT(error_of(file), HasSubstr("no valid entry size or string table"));
}

TEST(ElfImage, EveryTruncationIsRefused) {
  const std::vector<uint8_t> file = with_symbols().build();
  for (size_t size = 0; size < file.size(); ++size) {
    const std::string error = error_of({file.begin(), file.begin() + static_cast<ptrdiff_t>(size)});
    EXPECT_THAT(error, ::testing::StartsWith("a.elf")) << size;
    EXPECT_EQ(error.find('\n'), std::string::npos) << size;
  }
}

TEST(ElfImage, EverySingleBitFlipIsReadOrRefused) {
  const std::vector<uint8_t> file = with_symbols().build();
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::vector<uint8_t> damaged = file;
    damaged[bit / 8] = static_cast<uint8_t>(damaged[bit / 8] ^ 1u << bit % 8);
    Image image;
    ImageError error;
    if (!parse_image("a.elf", damaged, 0, &image, &error)) {
      ASSERT_FALSE(error.message.empty()) << bit;
      continue;
    }
    ASSERT_FALSE(image.segments.empty()) << bit;
    for (size_t i = 1; i < image.segments.size(); ++i) {
      const Segment& before = image.segments[i - 1];
      ASSERT_LE(before.address + before.bytes.size(), image.segments[i].address) << bit;
    }
    ASSERT_FALSE(plan_boot(image).error.empty()) << bit;  // there is no boot header in it
  }
}

}  // namespace
}  // namespace millrace::board
