// SPDX-License-Identifier: Apache-2.0
#include "millrace/board/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "image/testing/elf_builder.h"
#include "millrace/board/memory_map.h"

namespace millrace::board {
namespace {

using ::testing::ElementsAre;
using testing::ElfBuilder;
using ::testing::HasSubstr;

class ImageFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "image_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string unreadable(const std::string& path) {
    Image image;
    ImageError error;
    EXPECT_FALSE(load_image(path, 0, &image, &error));
    EXPECT_TRUE(error.unreadable);
    return error.message;
  }

  std::filesystem::path folder_;
};

TEST_F(ImageFile, KindIsFoundFromTheContent) {
  const std::vector<uint8_t> elf =
      ElfBuilder(0x60000001).section(".text", 0x60000000, 0x60000000, {1, 2}).build();
  Image image;
  ImageError error;
  ASSERT_TRUE(load_image(write("a", {elf.begin(), elf.end()}), 0, &image, &error)) << error.message;
  EXPECT_EQ(image.kind, Image::Kind::elf);
  ASSERT_TRUE(load_image(write("b.bin", ":0100000041BE\n:00000001FF\n"), 0, &image, &error));
  EXPECT_EQ(image.kind, Image::Kind::hex);
  EXPECT_EQ(image.path, (folder_ / "b.bin").string());
  ASSERT_TRUE(load_image(write("c", ": no record"), 0, &image, &error));
  EXPECT_EQ(image.kind, Image::Kind::binary);
}

TEST_F(ImageFile, BinaryStandsAtTheStartOfFlashOrWhereItIsPut) {
  const std::string path = write("a.bin", "ab");
  Image image;
  ImageError error;
  ASSERT_TRUE(load_image(path, 0, &image, &error));
  ASSERT_EQ(image.segments.size(), 1u);
  EXPECT_EQ(image.segments[0].address, 0x60000000u);
  EXPECT_THAT(image.segments[0].bytes, ElementsAre('a', 'b'));
  ASSERT_TRUE(load_image(path, 0xFFFFFFFE, &image, &error));
  EXPECT_EQ(image.segments[0].address, 0xFFFFFFFEu);
  EXPECT_FALSE(load_image(path, 0xFFFFFFFF, &image, &error));
  EXPECT_THAT(error.message, HasSubstr("2 bytes at 0xFFFFFFFF reach beyond the address space"));
}

TEST_F(ImageFile, DamagedHexAndElfAreNotTakenForBinaries) {
  Image image;
  ImageError error;
  EXPECT_FALSE(load_image(write("a.HEX", "0100000041BE\n"), 0, &image, &error));
  EXPECT_THAT(error.message, HasSubstr("a.HEX line 1: not an Intel HEX record"));
  EXPECT_FALSE(error.unreadable);
  EXPECT_FALSE(load_image(write("a.elf", "EL"), 0, &image, &error));
  EXPECT_THAT(error.message, HasSubstr("a.elf offset 0x0: no ELF magic"));
}

// Magic numbers as file(1) knows them.
TEST_F(ImageFile, ContainersAreNamedAndNotTakenForBinaries) {
  const std::pair<std::string, std::string> files[] = {
      {"UF2\nWQ]\x9E", "a UF2 file"},
      {"DfuSe\x01", "a DfuSe file"},
      {"!<arch>\nx.o/", "a library of object files"},
      {"PK\x03\x04", "a ZIP archive"},
      {"\x1F\x8B\x08", "compressed by gzip"},
      {"\xFD"
       "7zXZ",
       "compressed by xz"},
      {"BZh91AY", "compressed by bzip2"},
      {"MZ\x90", "a program for Windows"},
      {"\xEF\xBB\xBF:00000001FF\n", "behind a byte order mark"},
      {"S00600004844521B\n", "a Motorola S-record file"},
      {"S30D60000000464346420000000084\r\n", "a Motorola S-record file"},
  };
  for (const auto& [content, says] : files) {
    const std::string path = write("a.bin", content);
    Image image;
    ImageError error;
    EXPECT_FALSE(load_image(path, 0, &image, &error)) << says;
    EXPECT_THAT(error.message, HasSubstr(says));
    EXPECT_THAT(error.message, HasSubstr("a.bin: "));
    EXPECT_THAT(error.message, HasSubstr("(give the ELF, Intel HEX or binary file"));
    // Who says where a binary stands means one.
    EXPECT_TRUE(load_image(path, 0x20200000, &image, &error)) << says;
  }
  // Data that only resembles one.
  for (const std::string content :
       {"S", "S0", "S0060000", "SS060000484", "S006000G484", "UF2", "B"}) {
    Image image;
    ImageError error;
    EXPECT_TRUE(load_image(write("a.bin", content), 0, &image, &error)) << content;
  }
}

TEST_F(ImageFile, WhatCannotBeReadIsNamedWithARemedy) {
  EXPECT_THAT(unreadable((folder_ / "none").string()), HasSubstr("there is no such file"));
  EXPECT_THAT(unreadable(write("x", "y") + "/z"), HasSubstr("there is no such file"));
  EXPECT_THAT(unreadable(folder_.string()), HasSubstr("a folder"));
  EXPECT_THAT(unreadable("/dev/zero"), HasSubstr("/dev/zero: not a regular file"));
  const std::string fifo = (folder_ / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(unreadable(fifo), HasSubstr("not a regular file"));  // and does not wait for a writer
  const std::string large = write("large", "");
  ASSERT_EQ(::truncate(large.c_str(), (64 << 20) + 1), 0);
  Image image;
  ImageError error;
  EXPECT_FALSE(load_image(large, 0, &image, &error));
  EXPECT_THAT(error.message, HasSubstr("larger than 64 MB"));
  EXPECT_FALSE(error.unreadable);  // its size is of its content, as with one that flash cannot hold
  if (::geteuid() != 0) {          // root may read everything
    const std::string closed = write("closed", "x");
    ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
    EXPECT_THAT(unreadable(closed), HasSubstr("permission denied"));
  }
}

TEST_F(ImageFile, EmptyFileIsRefused) {
  Image image;
  ImageError error;
  EXPECT_FALSE(load_image(write("a.bin", ""), 0, &image, &error));
  EXPECT_THAT(error.message, HasSubstr("a.bin: empty"));
}

TEST(MemoryMap, AreasOfTheManual) {
  EXPECT_EQ(memory_area(0)->name, "ITCM");
  EXPECT_EQ(memory_area(0x0007FFFF)->name, "ITCM");
  EXPECT_EQ(memory_area(0x00080000), nullptr);
  EXPECT_EQ(memory_area(0x20000000)->name, "DTCM");
  EXPECT_EQ(memory_area(0x20200000)->name, "OCRAM");
  EXPECT_EQ(memory_area(0x202FFFFF)->name, "OCRAM");  // OCRAM2 and all of FlexRAM
  EXPECT_EQ(memory_area(0x20300000), nullptr);
  EXPECT_EQ(memory_area(0x607FFFFF)->name, "flash");
  EXPECT_EQ(memory_area(0x60800000), nullptr);
  EXPECT_EQ(memory_area(0x70FFFFFF)->name, "PSRAM");
  // The fuses share FlexRAM's 512 KB out as 128 + 128 + 256.
  uint32_t flexram = 0;
  for (const MemoryArea& area : memory_areas()) {
    if (area.is_ram && area.bytes_at_boot > 0) flexram += area.bytes_at_boot;
  }
  EXPECT_EQ(flexram - (512u << 10), 512u << 10);
}

}  // namespace
}  // namespace millrace::board
