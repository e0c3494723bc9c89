// SPDX-License-Identifier: Apache-2.0
// The bytes behind the caches and where they are in the address space (IMXRT1060RM chapter 2):
//
//   0x00000000  ITCM, up to 512 KB of FlexRAM banks
//   0x00200000  boot ROM, 128 KB (empty: the board's boot stand-in may put something there)
//   0x20000000  DTCM, up to 512 KB of FlexRAM banks
//   0x20200000  OCRAM2, 512 KB
//   0x20280000  OCRAM, up to 512 KB of FlexRAM banks
//   0x60000000  flash, 8 MB behind FlexSPI1
//   0x70000000  PSRAM, 0, 8 or 16 MB behind FlexSPI2
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/snapshot.h"

namespace millrace::board {

enum class Memory : uint8_t { none, itcm, dtcm, rom, ocram, flash, psram, device, ppb };
constexpr size_t index_of(Memory memory) { return static_cast<size_t>(memory); }

inline constexpr uint32_t kFlashBase = 0x60000000;
inline constexpr uint32_t kFlashBytes = 8u << 20;
inline constexpr uint32_t kPsramBase = 0x70000000;
inline constexpr uint32_t kFlexramBanks = 16;
inline constexpr uint32_t kFlexramBankBytes = 32768;
inline constexpr uint32_t kFlexramBytes = kFlexramBanks * kFlexramBankBytes;
inline constexpr uint32_t kOcram2Bytes = 512u << 10;
// What the fuses give when GPR16.FLEXRAM_BANK_CFG_SEL is 0: 128 KB ITCM, 128 KB DTCM, 256 KB OCRAM.
inline constexpr uint32_t kFlexramFuses = 0x55AFFA55;

class PhysicalMemory {
 public:
  explicit PhysicalMemory(uint32_t psram_bytes);

  struct Place {
    uint8_t* host = nullptr;  // contiguous to the end of the 4 KB page
    Memory memory = Memory::none;
  };
  // Flash that was never programmed is one page of 0xFF, so that a board costs no 8 MB.
  Place find(uint32_t address);
  // The same for somebody who writes; what find() gave for the page is then void.
  Place find_to_write(uint32_t address);

  // A bank keeps its bytes whatever it is used as. The banks of one kind are strung together in the
  // order of their numbers. GPR16 bit 2: 0 takes kFlexramFuses instead of `gpr17`; bits 0 and 1
  // enable the ITCM and the DTCM.
  void set_flexram(uint32_t gpr16, uint32_t gpr17);
  uint32_t itcm_bytes() const { return itcm_.count * kFlexramBankBytes; }
  uint32_t dtcm_bytes() const { return dtcm_.count * kFlexramBankBytes; }
  uint32_t flexram_ocram_bytes() const { return ocram_.count * kFlexramBankBytes; }

  void snapshot(Snapshot& s);

 private:
  struct Banks {
    uint32_t count = 0;
    std::array<uint8_t, kFlexramBanks> number{};
  };
  Place in_banks(const Banks& banks, uint32_t offset, Memory memory);

  // Zeroed by the operating system on first use: a test's board touches a small part of it.
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };
  struct Bytes {
    std::unique_ptr<uint8_t, Free> data;
    uint32_t size = 0;
  };
  static Bytes zeroed(uint32_t size);

  Bytes flexram_, ocram2_, rom_, flash_, psram_;
  std::vector<bool> flash_programmed_;  // by page
  std::vector<uint8_t> erased_page_;
  Banks itcm_, dtcm_, ocram_;
  uint32_t gpr16_ = 0;
  uint32_t gpr17_ = 0;
};

}  // namespace millrace::board
