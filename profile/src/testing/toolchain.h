// SPDX-License-Identifier: Apache-2.0
// Programs compiled, assembled and linked while a test runs, with Debian's gcc-arm-none-eabi.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "millrace/profile/elf_index.h"

namespace millrace::profile::testing {

// ITCM at 0 and code in flash, as on a Teensy 4.1; functions named in `fast` go to ITCM.
inline std::string script(const std::string& fast) {
  return "MEMORY { ITCM : ORIGIN = 0, LENGTH = 128K  DTCM : ORIGIN = 0x20000000, LENGTH = 128K\n"
         " FLASH : ORIGIN = 0x60000000, LENGTH = 1M }\n"
         "ENTRY(main)\nSECTIONS {\n"
         " .itcm : { " +
         fast +
         " } > ITCM AT > FLASH\n"
         " .text : { *(.text .text.*) } > FLASH\n"
         " .rodata : { *(.rodata .rodata.*) } > FLASH\n"
         " .data : { *(.data .data.*) } > DTCM AT > FLASH\n"
         " .bss (NOLOAD) : { *(.bss .bss.* COMMON) } > DTCM\n"
         " /DISCARD/ : { *(.ARM.exidx*) *(.ARM.extab*) } }\n";
}

class Toolchain {
 public:
  static constexpr const char* kFlags =
      "-mcpu=cortex-m7 -mthumb -O2 -g -ffunction-sections -fdata-sections -ffreestanding ";

  Toolchain() {
    std::string name = std::filesystem::temp_directory_path() / "millrace-profile-XXXXXX";
    folder_ = ::mkdtemp(name.data()) == nullptr ? std::string() : name;
  }
  ~Toolchain() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Toolchain(const Toolchain&) = delete;
  Toolchain& operator=(const Toolchain&) = delete;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
  }
  // In the folder; fails the test if the command does.
  void run(const std::string& command) const {
    const std::string all = "cd " + folder_ + " && " + command + " >log 2>&1";
    const int status = std::system(all.c_str());
    std::ifstream log(path("log"));
    ASSERT_EQ(status, 0) << command << "\n" << log.rdbuf();
  }
  // Compiles NAME.c, .cc or .S to NAME.o.
  void compile(const std::string& file, const std::string& flags = kFlags) const {
    const std::string stem = file.substr(0, file.rfind('.'));
    run("arm-none-eabi-gcc " + flags + " -c " + file + " -o " + stem + ".o");
  }
  void link(const std::string& objects, const std::string& fast,
            const std::string& flags = "-Wl,--gc-sections") const {
    write("link.ld", script(fast));
    run("arm-none-eabi-gcc -mcpu=cortex-m7 -mthumb -nostdlib -Wl,--no-warn-rwx-segments -T link.ld "
        "-Wl,-Map=map " +
        flags + " " + objects + " -o out.elf");
  }
  ElfIndex index(bool with_map = false) const {
    ElfIndex out;
    const Failure failure = ElfIndex::read(path("out.elf"), {with_map ? path("map") : ""}, &out);
    EXPECT_FALSE(failure) << (failure ? failure->message : "");
    return out;
  }

 private:
  std::string folder_;
};

inline const Function* find(const ElfIndex& index, const std::string& name) {
  const uint32_t number = index.function_named(name);
  return number == kNone ? nullptr : &index.functions()[number];
}

}  // namespace millrace::profile::testing
