// SPDX-License-Identifier: Apache-2.0
#include "board/unknown_registers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace millrace::board {
namespace {

struct Slot {
  uint32_t base;
  std::string_view name;
};

// IMXRT1060RM chapter 2, AIPS-1 to AIPS-5 memory maps.
constexpr auto kSlots = std::to_array<Slot>({
    {0x4007C000, "AIPSTZ1"},
    {0x40080000, "DCDC"},
    {0x40084000, "PIT"},
    {0x40094000, "ACMP"},
    {0x400A4000, "IOMUXC_SNVS_GPR"},
    {0x400A8000, "IOMUXC_SNVS"},
    {0x400AC000, "IOMUXC_GPR"},
    {0x400B0000, "FLEXRAM"},
    {0x400B4000, "EWM"},
    {0x400B8000, "WDOG1"},
    {0x400BC000, "RTWDOG"},
    {0x400C0000, "GPIO5"},
    {0x400C4000, "ADC1"},
    {0x400C8000, "ADC2"},
    {0x400CC000, "TRNG"},
    {0x400D0000, "WDOG2"},
    {0x400D4000, "SNVS"},
    {0x400D8000, "CCM_ANALOG"},
    {0x400DC000, "USBPHY_CONTROL"},
    {0x400E0000, "TSC"},
    {0x400E8000, "DMA"},
    {0x400EC000, "DMAMUX"},
    {0x400F0000, "CSU"},
    {0x400F4000, "GPC"},
    {0x400F8000, "SRC"},
    {0x400FC000, "CCM"},
    {0x4017C000, "AIPSTZ2"},
    {0x40184000, "LPUART1"},
    {0x40188000, "LPUART2"},
    {0x4018C000, "LPUART3"},
    {0x40190000, "LPUART4"},
    {0x40194000, "LPUART5"},
    {0x40198000, "LPUART6"},
    {0x4019C000, "LPUART7"},
    {0x401A0000, "LPUART8"},
    {0x401AC000, "FLEXIO1"},
    {0x401B0000, "FLEXIO2"},
    {0x401B8000, "GPIO1"},
    {0x401BC000, "GPIO2"},
    {0x401C0000, "GPIO3"},
    {0x401C4000, "GPIO4"},
    {0x401D0000, "CAN1"},
    {0x401D4000, "CAN2"},
    {0x401D8000, "CAN3"},
    {0x401DC000, "TMR1"},
    {0x401E0000, "TMR2"},
    {0x401E4000, "TMR3"},
    {0x401E8000, "TMR4"},
    {0x401EC000, "GPT1"},
    {0x401F0000, "GPT2"},
    {0x401F4000, "OCOTP"},
    {0x401F8000, "IOMUXC"},
    {0x401FC000, "KPP"},
    {0x4027C000, "AIPSTZ3"},
    {0x402A4000, "FLEXSPI2"},
    {0x402A8000, "FLEXSPI"},
    {0x402B4000, "PXP"},
    {0x402B8000, "LCDIF"},
    {0x402BC000, "CSI"},
    {0x402C0000, "USDHC1"},
    {0x402C4000, "USDHC2"},
    {0x402D4000, "ENET2"},
    {0x402D8000, "ENET"},
    {0x402E0000, "USB"},
    {0x402F0000, "SEMC"},
    {0x402FC000, "DCP"},
    {0x4037C000, "AIPSTZ4"},
    {0x40380000, "SPDIF"},
    {0x40384000, "SAI1"},
    {0x40388000, "SAI2"},
    {0x4038C000, "SAI3"},
    {0x40394000, "LPSPI1"},
    {0x40398000, "LPSPI2"},
    {0x4039C000, "LPSPI3"},
    {0x403A0000, "LPSPI4"},
    {0x403B0000, "ADC_ETC"},
    {0x403B4000, "AOI1"},
    {0x403B8000, "AOI2"},
    {0x403BC000, "XBARA1"},
    {0x403C0000, "XBARB2"},
    {0x403C4000, "XBARB3"},
    {0x403C8000, "ENC1"},
    {0x403CC000, "ENC2"},
    {0x403D0000, "ENC3"},
    {0x403D4000, "ENC4"},
    {0x403DC000, "PWM1"},
    {0x403E0000, "PWM2"},
    {0x403E4000, "PWM3"},
    {0x403E8000, "PWM4"},
    {0x403EC000, "BEE"},
    {0x403F0000, "LPI2C1"},
    {0x403F4000, "LPI2C2"},
    {0x403F8000, "LPI2C3"},
    {0x403FC000, "LPI2C4"},
    {0x42000000, "GPIO6"},
    {0x42004000, "GPIO7"},
    {0x42008000, "GPIO8"},
    {0x4200C000, "GPIO9"},
    {0x42020000, "FLEXIO3"},
});

constexpr uint32_t kSlotBytes = 0x4000;

}  // namespace

std::string peripheral_register_name(uint32_t address) {
  // The two USB PHYs have 4 KB each in one slot.
  if ((address & ~0xFFFu) == 0x400D9000) return fmt::format("USBPHY1+0x{:03X}", address & 0xFFF);
  if ((address & ~0xFFFu) == 0x400DA000) return fmt::format("USBPHY2+0x{:03X}", address & 0xFFF);
  const uint32_t base = address & ~(kSlotBytes - 1);
  const auto slot =
      std::find_if(kSlots.begin(), kSlots.end(), [base](const Slot& s) { return s.base == base; });
  if (slot == kSlots.end()) return fmt::format("0x{:08X}", address);
  return fmt::format("{}+0x{:03X}", slot->name, address - base);
}

void UnknownRegisters::count(uint32_t address, bool is_write, uint32_t pc) {
  auto found = entries_.find(address);
  if (found == entries_.end()) {
    if (entries_.size() >= kMax) {
      ++unlisted_;
      return;
    }
    found = entries_.emplace(address, Entry{.first_pc = pc}).first;
  }
  ++(is_write ? found->second.writes : found->second.reads);
}

std::vector<UnknownRegister> UnknownRegisters::list() const {
  std::vector<UnknownRegister> out;
  for (const auto& [address, entry] : entries_) {
    out.push_back(
        {peripheral_register_name(address), address, entry.reads, entry.writes, entry.first_pc});
  }
  return out;
}

void UnknownRegisters::snapshot(Snapshot& s) {
  uint64_t count = entries_.size();
  s.field("unknown_registers", count);
  s.field("unlisted", unlisted_);
  if (s.restoring()) {
    entries_.clear();
    if (count > kMax) return s.fail("unknown_registers", "are more than this board keeps");
    for (uint64_t i = 0; i < count && s.ok(); ++i) {
      uint32_t address = 0;
      Entry entry;
      s.field("address", address);
      s.field("reads", entry.reads);
      s.field("writes", entry.writes);
      s.field("first_pc", entry.first_pc);
      if (s.ok()) entries_[address] = entry;
    }
    return;
  }
  for (auto& [address, entry] : entries_) {
    uint32_t key = address;
    s.field("address", key);
    s.field("reads", entry.reads);
    s.field("writes", entry.writes);
    s.field("first_pc", entry.first_pc);
  }
}

}  // namespace millrace::board
