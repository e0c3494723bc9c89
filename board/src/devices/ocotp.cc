// SPDX-License-Identifier: Apache-2.0
#include "devices/ocotp.h"

#include <cstddef>
#include <iterator>
#include <tuple>

namespace millrace::board {

namespace {

constexpr uint32_t kCtrl = 0x00;
constexpr uint32_t kData = 0x20;
constexpr uint32_t kReadCtrl = 0x30;
constexpr uint32_t kReadFuseData = 0x40;

constexpr uint32_t kAddress = 0x3F;
constexpr uint32_t kReloadShadows = 1u << 10;
constexpr uint32_t kUnlock = 0x3E77u << 16;
constexpr uint32_t kUnlockMask = 0xFFFFu << 16;

constexpr RegisterSpec kRegisters[] = {
    {0x00, "CTRL", 0x00000000, 0xFFFF1E3F, RegisterKind::set_clr_tog},
    {0x10, "TIMING", 0x0C0D9755, 0x0FFFFFFF},
    {0x20, "DATA", 0x00000000},
    {0x30, "READ_CTRL", 0x00000000, 0x00000001},
    {0x40, "READ_FUSE_DATA", 0x00000000},
    {0x50, "SW_STICKY", 0x00000000, 0x0000001F},
    {0x60, "SCS", 0x00000000, 0xFFFFFFFF, RegisterKind::set_clr_tog},
    {0x100, "TIMING2", 0x01C30092, 0x003F0FFF},
};

constexpr size_t kWords = std::tuple_size_v<Fuses>;

constexpr uint32_t shadow_offset(size_t word) {
  return static_cast<uint32_t>((word < 48 ? 0x400 : 0x500) + 0x10 * word);
}

constexpr std::array<RegisterSpec, std::size(kRegisters) + kWords> full_table() {
  std::array<RegisterSpec, std::size(kRegisters) + kWords> table{};
  size_t i = 0;
  for (const RegisterSpec& spec : kRegisters) table[i++] = spec;
  for (size_t word = 0; word < kWords; ++word) table[i++] = {shadow_offset(word), "SHADOW"};
  return table;
}

constexpr auto kTable = full_table();

// Fuse words (IMXRT1060RM, fusemap).
constexpr size_t kCfg0 = 1, kCfg1 = 2, kCfg5 = 6, kAna1 = 14, kMac0 = 34, kMac1 = 35;

}  // namespace

Fuses make_fuses(const FuseOptions& options) {
  Fuses fuses{};
  fuses[kCfg0] = static_cast<uint32_t>(options.unique_id);
  fuses[kCfg1] = static_cast<uint32_t>(options.unique_id >> 32);
  fuses[kCfg5] = options.configuration;
  fuses[kAna1] = options.temperature_calibration;
  fuses[kMac0] = 0xE5000000 | (options.serial & 0xFFFFFF);
  fuses[kMac1] = 0x000004E9;
  return fuses;
}

Ocotp::Ocotp(DeviceHost& host, const Fuses& fuses)
    : registers_(kTable, 4, *this, host), fuses_(fuses) {
  load_shadows();
}

void Ocotp::reset() {
  registers_.reset();
  load_shadows();
}

void Ocotp::load_shadows() {
  for (size_t word = 0; word < kWords; ++word) registers_[shadow_offset(word)] = fuses_[word];
}

uint32_t Ocotp::read(uint32_t offset, unsigned size, Cycles) {
  return registers_.read(offset, size);
}

void Ocotp::write(uint32_t offset, unsigned size, uint32_t value, Cycles) {
  const RegisterChange change = registers_.write(offset, size, value);
  if (!change.known) return;
  const size_t word = registers_[kCtrl] & kAddress;
  switch (change.offset) {
    case kCtrl:
      if ((change.after & kReloadShadows) != 0) {
        load_shadows();
        registers_[kCtrl] &= ~kReloadShadows;
      }
      break;
    case kData:  // blows the fuses of the 1 bits, if unlocked for this one write
      if ((registers_[kCtrl] & kUnlockMask) == kUnlock) fuses_[word] |= change.after;
      registers_[kCtrl] &= ~kUnlockMask;
      break;
    case kReadCtrl:
      if ((change.after & 1) != 0) registers_[kReadFuseData] = fuses_[word];
      registers_[kReadCtrl] = 0;
      break;
    default:
      break;
  }
}

void Ocotp::snapshot(Snapshot& s) {
  registers_.snapshot(s);
  s.field("fuses", fuses_);
}

}  // namespace millrace::board
