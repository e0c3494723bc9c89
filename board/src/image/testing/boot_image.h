// SPDX-License-Identifier: Apache-2.0
// The first bytes of flash of a program that boots, with the fields of the Teensy core's header.
#pragma once

#include <cstdint>
#include <vector>

#include "image/testing/elf_builder.h"

namespace millrace::board::testing {

inline constexpr uint32_t kFlash = 0x60000000;
inline constexpr size_t kConfigAt = 0, kIvtAt = 0x1000, kBootDataAt = 0x1020, kCodeAt = 0x1400;

// `length` bytes of flash; the entry is the Thumb address of kCodeAt.
inline std::vector<uint8_t> bootable_flash(size_t length = 0x2000) {
  std::vector<uint8_t> flash(length, 0xFF);
  for (size_t i = 0; i < 512; ++i) flash[i] = 0;
  put32(&flash, 0x00, 0x42464346);  // tag
  put32(&flash, 0x04, 0x56010000);  // version
  put32(&flash, 0x0C, 0x00020101);  // sample clock 1, hold 1, setup 2
  put32(&flash, 0x44, 0x01060401);  // serial NOR, 4 pads, clock code 6
  put32(&flash, 0x50, 0x00800000);  // 8 MB
  put32(&flash, 0x80, 0x0A1804EB);  // command EBh on 1 pad, 24 address bits on 4
  put32(&flash, 0x84, 0x32041EFF);  // 8 mode bits on 4 pads, 4 dummies
  put32(&flash, 0x88, 0x00002601);  // read on 4 pads
  put32(&flash, 0x1C0, 256);
  put32(&flash, 0x1C4, 4096);
  put32(&flash, kIvtAt, 0x432000D1);
  put32(&flash, kIvtAt + 0x04, kFlash + static_cast<uint32_t>(kCodeAt) + 1);
  put32(&flash, kIvtAt + 0x08, 0);
  put32(&flash, kIvtAt + 0x0C, 0);
  put32(&flash, kIvtAt + 0x10, kFlash + static_cast<uint32_t>(kBootDataAt));
  put32(&flash, kIvtAt + 0x14, kFlash + static_cast<uint32_t>(kIvtAt));
  put32(&flash, kIvtAt + 0x18, 0);
  put32(&flash, kIvtAt + 0x1C, 0);
  put32(&flash, kBootDataAt, kFlash);
  put32(&flash, kBootDataAt + 4, static_cast<uint32_t>(length));
  put32(&flash, kBootDataAt + 8, 0);
  put16(&flash, kCodeAt, 0xE7FE);  // b .
  return flash;
}

}  // namespace millrace::board::testing
