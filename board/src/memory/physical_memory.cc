// SPDX-License-Identifier: Apache-2.0
#include "memory/physical_memory.h"

#include <cstring>

namespace millrace::board {
namespace {

constexpr uint32_t kRomBytes = 128u << 10;
constexpr uint32_t kCleanPage = 4096;
constexpr uint32_t kResetGpr16 = 0x00200003;  // both TCMs enabled, banks by the fuses

}  // namespace

PhysicalMemory::PhysicalMemory(uint32_t psram_bytes)
    : flexram_(zeroed(kFlexramBanks * kFlexramBankBytes)),
      ocram2_(zeroed(kOcram2Bytes)),
      rom_(zeroed(kRomBytes)),
      flash_(zeroed(kFlashBytes)),
      psram_(zeroed(psram_bytes)),
      flash_programmed_(kFlashBytes / kCleanPage),
      erased_page_(kCleanPage, 0xFF) {
  set_flexram(kResetGpr16, 0);
}

PhysicalMemory::Bytes PhysicalMemory::zeroed(uint32_t size) {
  Bytes bytes;
  if (size != 0) bytes.data.reset(static_cast<uint8_t*>(std::calloc(size, 1)));
  if (bytes.data != nullptr) bytes.size = size;
  return bytes;
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
  const uint32_t start = banks.number[index] * kFlexramBankBytes;
  return {flexram_.data.get() + start + offset % kFlexramBankBytes, memory};
}

PhysicalMemory::Place PhysicalMemory::find(uint32_t address) {
  const auto in = [address](const Bytes& bytes, uint32_t base, Memory memory) -> Place {
    const uint32_t offset = address - base;
    if (offset >= bytes.size) return {};
    return {bytes.data.get() + offset, memory};
  };
  switch (address >> 28) {
    case 0x0:
      if (address < 0x00080000) return in_banks(itcm_, address, Memory::itcm);
      return in(rom_, 0x00200000, Memory::rom);
    case 0x2:
      if (address < 0x20200000) return in_banks(dtcm_, address - 0x20000000, Memory::dtcm);
      if (address < 0x20280000) return in(ocram2_, 0x20200000, Memory::ocram);
      return in_banks(ocram_, address - 0x20280000, Memory::ocram);
    case 0x6: {
      const Place place = in(flash_, kFlashBase, Memory::flash);
      if (place.host == nullptr || flash_programmed_[(address - kFlashBase) / kCleanPage])
        return place;
      return {&erased_page_[address % kCleanPage], Memory::flash};
    }
    case 0x7:
      return in(psram_, kPsramBase, Memory::psram);
    default:
      return {};
  }
}

PhysicalMemory::Place PhysicalMemory::find_to_write(uint32_t address) {
  const uint32_t offset = address - kFlashBase;
  if (offset < flash_.size && !flash_programmed_[offset / kCleanPage]) {
    flash_programmed_[offset / kCleanPage] = true;
    std::memset(flash_.data.get() + offset / kCleanPage * kCleanPage, 0xFF, kCleanPage);
  }
  return find(address);
}

void PhysicalMemory::snapshot(Snapshot& s) {
  s.memory("flexram", flexram_.data.get(), flexram_.size);
  s.memory("ocram2", ocram2_.data.get(), ocram2_.size);
  s.memory("rom", rom_.data.get(), rom_.size);
  for (uint32_t page = 0; page < flash_programmed_.size(); ++page) {
    bool programmed = flash_programmed_[page];
    s.field("flash page", programmed);
    flash_programmed_[page] = programmed;
    if (programmed) s.memory("flash", flash_.data.get() + page * kCleanPage, kCleanPage);
  }
  s.memory("psram", psram_.data.get(), psram_.size);
  s.field("gpr16", gpr16_);
  s.field("gpr17", gpr17_);
  if (s.restoring()) set_flexram(gpr16_, gpr17_);
}

}  // namespace millrace::board
