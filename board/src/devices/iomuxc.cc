// SPDX-License-Identifier: Apache-2.0
#include "devices/iomuxc.h"

#include <array>
#include <cstddef>

namespace millrace::board {

namespace {

// Registers of one kind in a row.
struct Run {
  uint32_t first;
  uint32_t last;
  std::string_view name;
  uint32_t reset;
  uint32_t writable;
};

// SW_MUX_CTL_PAD: MUX_MODE and SION; where a pad has fewer than 16 modes MODE has 3 bits.
// SW_PAD_CTL_PAD: SRE, DSE, SPEED, ODE, PKE, PUE, PUS, HYS.
// SELECT_INPUT: DAISY, 1 to 3 bits; 3 are kept of all.
constexpr uint32_t kMux3 = 0x17;
constexpr uint32_t kMux4 = 0x1F;
constexpr uint32_t kPad = 0x0001F8F9;
constexpr uint32_t kDaisy = 0x7;

constexpr Run kPads[] = {
    {0x014, 0x034, "MUX", 0x5, kMux3},         {0x038, 0x054, "MUX", 0x5, kMux4},
    {0x058, 0x068, "MUX", 0x5, kMux3},         {0x06C, 0x0B4, "MUX", 0x5, kMux4},
    {0x0B8, 0x0C8, "MUX", 0x5, kMux3},         {0x0CC, 0x0DC, "MUX", 0x0, kMux3},
    {0x0E0, 0x0E8, "MUX", 0x0, kMux4},         {0x0EC, 0x0F0, "MUX", 0x5, kMux3},
    {0x0F4, 0x1EC, "MUX", 0x5, kMux4},         {0x1F0, 0x200, "MUX", 0x5, kMux3},
    {0x204, 0x26C, "PAD", 0x10B0, kPad},       {0x270, 0x270, "PAD", 0x30B0, kPad},
    {0x274, 0x2B8, "PAD", 0x10B0, kPad},       {0x2BC, 0x2C0, "PAD", 0x30B0, kPad},
    {0x2C4, 0x2C8, "PAD", 0x70A0, kPad},       {0x2CC, 0x2CC, "PAD", 0xB0A0, kPad},
    {0x2D0, 0x2D0, "PAD", 0x70A0, kPad},       {0x2D4, 0x2D4, "PAD", 0x90B1, kPad},
    {0x2D8, 0x2D8, "PAD", 0x70A0, kPad},       {0x2DC, 0x3F0, "PAD", 0x10B0, kPad},
    {0x3F4, 0x658, "SELECT_INPUT", 0, kDaisy}, {0x65C, 0x65C, "MUX", 0x0, 0x10},
    {0x660, 0x68C, "MUX", 0x5, kMux3},         {0x690, 0x690, "MUX", 0x0, 0x10},
    {0x694, 0x6AC, "MUX", 0x5, kMux3},         {0x6B0, 0x6B0, "MUX", 0x0, 0x10},
    {0x6B4, 0x708, "PAD", 0x10B0, kPad},       {0x70C, 0x78C, "SELECT_INPUT", 0, kDaisy},
};

constexpr size_t kPadRegisters = (0x78C - 0x014) / 4 + 1;

constexpr std::array<RegisterSpec, kPadRegisters> pad_table() {
  std::array<RegisterSpec, kPadRegisters> table{};
  size_t i = 0;
  for (const Run& run : kPads) {
    for (uint32_t offset = run.first; offset <= run.last; offset += 4) {
      table[i++] = {offset, run.name, run.reset, run.writable};
    }
  }
  return table;
}

constexpr std::array<RegisterSpec, kPadRegisters> kPadTable = pad_table();
static_assert(kPadTable.back().offset == 0x78C);

constexpr uint32_t kGpr4 = 0x10;
constexpr uint32_t kGpr7 = 0x1C;
constexpr uint32_t kGpr13 = 0x34;
constexpr uint32_t kGpr14 = 0x38;
constexpr uint32_t kGpr16 = 0x40;
constexpr uint32_t kGpr17 = 0x44;
constexpr uint32_t kGpr26 = 0x68;
constexpr uint32_t kGpr29 = 0x74;

constexpr uint32_t kCanFdStop = 1u << 4;  // GPR13: request; the acknowledge is 16 bits above

constexpr RegisterSpec kGprTable[] = {
    {0x04, "GPR1", 0x00000000, 0x80FEEFFF},
    {0x08, "GPR2", 0x00000000, 0xF7FF707F},
    {0x0C, "GPR3", 0x0000F0F0, 0x80008F1F},
    {0x10, "GPR4", 0x00000000, 0x0000FFFF},
    {0x14, "GPR5", 0x00000000, 0x378000C0},
    {0x18, "GPR6", 0x00000000},
    {0x1C, "GPR7", 0x00000000, 0x0000FFFF},
    {0x20, "GPR8", 0x00000000},
    {0x28, "GPR10", 0x00000007, 0xFF17FF17},
    {0x2C, "GPR11", 0x00000000, 0x00000FFF},
    {0x30, "GPR12", 0x00000000, 0x0000007F},
    {0x34, "GPR13", 0x00000000, 0x00002093},
    {0x38, "GPR14", 0x00000000, 0x00FF0FFF},
    {0x40, "GPR16", 0x00200003, 0xFFFFFF87},  // CM7_INIT_VTOR, FlexRAM
    {0x44, "GPR17", 0x00000000},
    {0x48, "GPR18", 0x00000000, 0xFFFFFFF9},
    {0x4C, "GPR19", 0x00000000, 0xFFFFFFF9},
    {0x50, "GPR20", 0x00000000, 0xFFFFFFF9},
    {0x54, "GPR21", 0x00000000, 0xFFFFFFF9},
    {0x58, "GPR22", 0x00000000, 0xFFFFFFF9},
    {0x5C, "GPR23", 0x00000000, 0xFFFFFFF9},
    {0x60, "GPR24", 0x00000000, 0xFFFFFFF9},
    {0x64, "GPR25", 0x00000000, 0xFFFFFFF9},
    {0x68, "GPR26", 0x00000000},
    {0x6C, "GPR27", 0x00000000},
    {0x70, "GPR28", 0x00000000},
    {0x74, "GPR29", 0x00000000},
    {0x78, "GPR30", 0x00000000, 0xFFFFF000},
    {0x7C, "GPR31", 0x00000000, 0xFFFFF000},
    {0x80, "GPR32", 0x00000000, 0xFFFFF000},
    {0x84, "GPR33", 0x00000007, 0x00FF00FF},
    {0x88, "GPR34", 0x00000000, 0x000001FF},
};

constexpr RegisterSpec kSnvsTable[] = {
    {0x00, "MUX_WAKEUP", 0x5, 0x17},
    {0x04, "MUX_PMIC_ON_REQ", 0x0, 0x17},
    {0x08, "MUX_PMIC_STBY_REQ", 0x0, 0x17},
    {0x0C, "PAD_TEST_MODE", 0x000030A0, 0x0001F839},
    {0x10, "PAD_POR_B", 0x0001B0A0, 0x0001F839},
    {0x14, "PAD_ONOFF", 0x0001B0A0, 0x0001F839},
    {0x18, "PAD_WAKEUP", 0x0001B0A0, 0x0001F839},
    {0x1C, "PAD_PMIC_ON_REQ", 0x0000B8A0, 0x0001F839},
    {0x20, "PAD_PMIC_STBY_REQ", 0x0000A0A0, 0x0001F839},
};

// GPR3 19: DCDC_STS_DC_OK. The converter is always in regulation here (dcdc.h).
constexpr RegisterSpec kSnvsGprTable[] = {{0x0C, "GPR3", 0x00080000, 0x0000000F}};

}  // namespace

Iomuxc::Iomuxc(DeviceHost& host) : registers_(kPadTable, 4, *this, host) {}

uint32_t Iomuxc::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void Iomuxc::write(uint32_t offset, unsigned size, uint32_t value, Cycles) {
  registers_.write(offset, size, value);
}

IomuxcGpr::IomuxcGpr(DeviceHost& host) : host_(host), registers_(kGprTable, 4, *this, host) {}

void IomuxcGpr::reset() {
  registers_.reset();
  if (flexram_) flexram_(registers_[kGpr16], registers_[kGpr17]);
  for (unsigned pair = 0; gpio_select_ && pair < 4; ++pair) {
    gpio_select_(pair, registers_[kGpr26 + 4 * pair], host_.events().now());
  }
}

uint32_t IomuxcGpr::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void IomuxcGpr::write(uint32_t offset, unsigned size, uint32_t value, Cycles now) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  switch (change.offset) {
    case kGpr4:  // stop requests are acknowledged at once
    case kGpr7:
      registers_[change.offset] = (change.after & 0xFFFF) * 0x00010001;
      break;
    case kGpr13:
      registers_[kGpr13] = (change.after & 0xFFFF) | (change.after & kCanFdStop) << 16;
      break;
    case kGpr14:
    case kGpr16:
    case kGpr17:
      if (flexram_) flexram_(registers_[kGpr16], registers_[kGpr17]);
      break;
    default:
      if (change.offset >= kGpr26 && change.offset <= kGpr29 && change.before != change.after &&
          gpio_select_) {
        gpio_select_((change.offset - kGpr26) / 4, change.after, now);
      }
  }
}

uint32_t IomuxcGpr::initial_vtor() const { return registers_[kGpr16] & ~0x7Fu; }

IomuxcSnvs::IomuxcSnvs(DeviceHost& host) : registers_(kSnvsTable, 4, *this, host) {}

uint32_t IomuxcSnvs::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void IomuxcSnvs::write(uint32_t offset, unsigned size, uint32_t value, Cycles) {
  registers_.write(offset, size, value);
}

IomuxcSnvsGpr::IomuxcSnvsGpr(DeviceHost& host) : registers_(kSnvsGprTable, 4, *this, host) {}

uint32_t IomuxcSnvsGpr::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void IomuxcSnvsGpr::write(uint32_t offset, unsigned size, uint32_t value, Cycles) {
  registers_.write(offset, size, value);
}

}  // namespace millrace::board
