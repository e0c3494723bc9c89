// SPDX-License-Identifier: Apache-2.0
#include "memory/physical_memory.h"

namespace millrace::board {
namespace {

constexpr uint32_t kOcram2Bytes = 512u << 10;
constexpr uint32_t kRomBytes = 128u << 10;
constexpr uint32_t kResetGpr16 = 0x00200003;  // both TCMs enabled, banks by the fuses

}  // namespace

PhysicalMemory::PhysicalMemory(uint32_t psram_bytes)
    : flexram_(kFlexramBanks * kFlexramBankBytes),
      ocram2_(kOcram2Bytes),
      rom_(kRomBytes),
      flash_(kFlashBytes, 0xFF),
      psram_(psram_bytes) {
  set_flexram(kResetGpr16, 0);
}

void PhysicalMemory::set_flexram(uint32_t gpr16, uint32_t gpr17) {
  gpr16_ = gpr16;
  gpr17_ = gpr17;
  const uint32_t codes = (gpr16 & 4) != 0 ? gpr17 : kFlexramFuses;
  itcm_ = dtcm_ = ocram_ = Banks();
  Banks unused;
  for (uint8_t bank = 0; bank < kFlexramBanks; ++bank) {
    const uint32_t code = (codes >> (2 * bank)) & 3;
    Banks& banks = code == 1 ? ocram_ : code == 2 ? dtcm_ : code == 3 ? itcm_ : unused;
    banks.number[banks.count++] = bank;
  }
  if ((gpr16 & 1) == 0) itcm_ = Banks();
  if ((gpr16 & 2) == 0) dtcm_ = Banks();
}

PhysicalMemory::Place PhysicalMemory::in_banks(const Banks& banks, uint32_t offset, Memory memory) {
  const uint32_t index = offset / kFlexramBankBytes;
  if (index >= banks.count) return {};
  return {&flexram_[banks.number[index] * kFlexramBankBytes + offset % kFlexramBankBytes], memory};
}

PhysicalMemory::Place PhysicalMemory::find(uint32_t address) {
  const auto in = [address](std::vector<uint8_t>& bytes, uint32_t base, Memory memory) -> Place {
    const uint32_t offset = address - base;
    if (offset >= bytes.size()) return {};
    return {&bytes[offset], memory};
  };
  switch (address >> 28) {
    case 0x0:
      if (address < 0x00080000) return in_banks(itcm_, address, Memory::itcm);
      return in(rom_, 0x00200000, Memory::rom);
    case 0x2:
      if (address < 0x20200000) return in_banks(dtcm_, address - 0x20000000, Memory::dtcm);
      if (address < 0x20280000) return in(ocram2_, 0x20200000, Memory::ocram);
      return in_banks(ocram_, address - 0x20280000, Memory::ocram);
    case 0x6:
      return in(flash_, kFlashBase, Memory::flash);
    case 0x7:
      return in(psram_, kPsramBase, Memory::psram);
    default:
      return {};
  }
}

void PhysicalMemory::snapshot(Snapshot& s) {
  s.memory("flexram", flexram_.data(), flexram_.size());
  s.memory("ocram2", ocram2_.data(), ocram2_.size());
  s.memory("rom", rom_.data(), rom_.size());
  s.memory("flash", flash_.data(), flash_.size());
  s.memory("psram", psram_.data(), psram_.size());
  s.field("gpr16", gpr16_);
  s.field("gpr17", gpr17_);
  if (s.restoring()) set_flexram(gpr16_, gpr17_);
}

}  // namespace millrace::board
