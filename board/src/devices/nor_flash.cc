// SPDX-License-Identifier: Apache-2.0
// While the chip is busy it answers status reads alone; reads of the array by the AHB bus go past
// this model and give the new content at once.
#include "devices/nor_flash.h"

#include <algorithm>
#include <array>

namespace millrace::board {
namespace {

constexpr uint32_t kPage = 256;
constexpr uint8_t kBusy = 1, kWel = 2;

void fill(std::span<uint8_t> out, std::span<const uint8_t> pattern) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = pattern[i % pattern.size()];
}

}  // namespace

NorFlash::NorFlash(SerialStore store, uint64_t unique_id)
    : store_(std::move(store)), unique_id_(unique_id) {}

void NorFlash::reset() {
  write_enabled_ = powered_down_ = reset_enabled_ = false;
  busy_until_ = 0;
}

uint8_t NorFlash::status1(Cycles now) const {
  return static_cast<uint8_t>(status1_ | (now < busy_until_ ? kBusy : 0) |
                              (write_enabled_ ? kWel : 0));
}

void NorFlash::start_busy(uint64_t us, Cycles now, uint64_t core_hz) {
  busy_until_ = now + us * core_hz / 1'000'000;
  write_enabled_ = false;
}

void NorFlash::read_array(const SerialTransfer& t) const {
  uint32_t address = t.address % store_.size;
  for (size_t done = 0; done < t.read.size();) {  // wraps at the end of the chip
    const uint32_t part =
        std::min(static_cast<uint32_t>(t.read.size() - done), store_.size - address);
    store_.read(address, t.read.data() + done, part);
    done += part;
    address = 0;
  }
}

// Only the last 256 bytes count, and they wrap within the page (data sheet, page program).
void NorFlash::program(const SerialTransfer& t) {
  const uint32_t address = t.address % store_.size;
  const uint32_t page = address & ~(kPage - 1);
  std::array<uint8_t, kPage> bytes;
  store_.read(page, bytes.data(), kPage);
  const size_t skipped = t.sent.size() > kPage ? t.sent.size() - kPage : 0;
  for (size_t i = skipped; i < t.sent.size(); ++i) bytes[(address + i) % kPage] &= t.sent[i];
  store_.write(page, bytes.data(), kPage);
}

void NorFlash::erase(uint32_t address, uint32_t size) {
  std::array<uint8_t, 4096> erased;
  erased.fill(0xFF);
  const uint32_t first = address % store_.size & ~(size - 1);
  for (uint32_t at = first; at < first + size; at += 4096) store_.write(at, erased.data(), 4096);
}

bool NorFlash::transfer(const SerialTransfer& t, Cycles now, uint64_t core_hz) {
  const bool busy = now < busy_until_;
  const bool reset_enabled = reset_enabled_;
  reset_enabled_ = false;
  if (t.command_pads != 1) return true;  // not understood: SPI only
  const uint8_t status[] = {status1(now)};
  switch (t.command) {  // what a busy chip understands
    case 0x05:
      fill(t.read, status);
      return true;
    case 0x35:
      fill(t.read, {&status2_, 1});
      return true;
    case 0x15:
      fill(t.read, {&status3_, 1});
      return true;
    default:
      break;
  }
  if (busy) return true;
  if (powered_down_ && t.command != 0xAB) return true;
  const bool write = write_enabled_;
  switch (t.command) {
    case 0x06:
      write_enabled_ = true;
      return true;
    case 0x04:
      write_enabled_ = false;
      return true;
    case 0x50:  // write enable for volatile status: both kinds are one here
      write_enabled_ = true;
      return true;
    case 0x01:
    case 0x31:
    case 0x11:
      if (!write || t.sent.empty()) return true;
      if (t.command == 0x01) {
        status1_ = t.sent[0] & 0xFC;
        if (t.sent.size() > 1) status2_ = t.sent[1] & 0x7B;
      } else {
        (t.command == 0x31 ? status2_ : status3_) = t.sent[0];
      }
      start_busy(kStatusUs, now, core_hz);
      return true;
    case 0x9F: {
      const uint8_t id[] = {kJedecId >> 16, kJedecId >> 8 & 0xFF, kJedecId & 0xFF};
      fill(t.read, id);
      return true;
    }
    case 0x90: {
      const uint8_t id[] = {0xEF, 0x16};
      fill(t.read, id);
      return true;
    }
    case 0xAB: {
      powered_down_ = false;
      const uint8_t id[] = {0x16};
      fill(t.read, id);
      return true;
    }
    case 0xB9:
      powered_down_ = true;
      return true;
    case 0x4B: {
      std::array<uint8_t, 8> id;
      for (unsigned i = 0; i < 8; ++i) id[i] = static_cast<uint8_t>(unique_id_ >> (56 - 8 * i));
      fill(t.read, id);
      return true;
    }
    case 0x03:
    case 0x0B:
    case 0x3B:
    case 0x6B:
    case 0xBB:
    case 0xEB:
      if (t.has_address) read_array(t);
      return true;
    case 0x02:
    case 0x32:
      if (!write || !t.has_address || t.sent.empty()) return true;
      program(t);
      start_busy(kProgramUs, now, core_hz);
      return true;
    case 0x20:
    case 0x52:
    case 0xD8: {
      if (!write || !t.has_address) return true;
      const bool sector = t.command == 0x20;
      erase(t.address, sector ? 4096 : t.command == 0x52 ? 32768 : 65536);
      start_busy(sector ? kSectorUs : t.command == 0x52 ? kHalfBlockUs : kBlockUs, now, core_hz);
      return true;
    }
    case 0xC7:
    case 0x60:
      if (!write) return true;
      erase(0, store_.size);
      start_busy(kChipUs, now, core_hz);
      return true;
    case 0x66:
      reset_enabled_ = true;
      return true;
    case 0x99:
      if (reset_enabled) reset();
      return true;
    case 0xFF:  // ends continuous read mode, which is not entered here
    case 0x00:
      return true;
    default:
      return false;
  }
}

void NorFlash::snapshot(Snapshot& s) {
  s.field("write_enabled", write_enabled_);
  s.field("powered_down", powered_down_);
  s.field("reset_enabled", reset_enabled_);
  s.field("busy_until", busy_until_);
  s.field("status1", status1_);
  s.field("status2", status2_);
  s.field("status3", status3_);
}

}  // namespace millrace::board
