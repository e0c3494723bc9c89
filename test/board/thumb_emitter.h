// SPDX-License-Identifier: Apache-2.0
// Writes Thumb code, halfword by halfword, for the images of the differential tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace millrace::board::diff {

class ThumbEmitter {
 protected:
  uint32_t here() const { return static_cast<uint32_t>(bytes_.size()); }

  void emit(uint16_t h) {
    bytes_.push_back(static_cast<uint8_t>(h));
    bytes_.push_back(static_cast<uint8_t>(h >> 8));
  }
  void emit(uint16_t a, uint16_t b) {
    emit(a);
    emit(b);
  }
  void emit_all(std::initializer_list<uint16_t> code) {
    for (const uint16_t h : code) {
      emit(h);
    }
  }
  void patch(uint32_t address, uint16_t h) {
    bytes_[address] = static_cast<uint8_t>(h);
    bytes_[address + 1] = static_cast<uint8_t>(h >> 8);
  }
  void patch_word(uint32_t address, uint32_t w) {
    patch(address, static_cast<uint16_t>(w));
    patch(address + 2, static_cast<uint16_t>(w >> 16));
  }
  void move_half(uint16_t op, unsigned rd, uint32_t imm) {
    emit(static_cast<uint16_t>(op | ((imm >> 11) & 1) << 10 | (imm >> 12)),
         static_cast<uint16_t>(((imm >> 8) & 7) << 12 | rd << 8 | (imm & 0xFF)));
  }
  void constant(unsigned rd, uint32_t value) {
    move_half(0xF240, rd, value & 0xFFFF);
    move_half(0xF2C0, rd, value >> 16);
  }
  void branch_link(uint32_t target) {
    const uint32_t offset = target - (here() + 4);
    const uint32_t s = (offset >> 24) & 1;
    const uint32_t j1 = ((offset >> 23) & 1) ^ s ^ 1;
    const uint32_t j2 = ((offset >> 22) & 1) ^ s ^ 1;
    emit(static_cast<uint16_t>(0xF000 | s << 10 | ((offset >> 12) & 0x3FF)),
         static_cast<uint16_t>(0xD000 | j1 << 13 | j2 << 11 | ((offset >> 1) & 0x7FF)));
  }
  // Writes what stands from `records` to the address in the word at `variables` to the file
  // dump.bin by semihosting, and ends.
  void dump_and_exit(uint32_t variables, uint32_t records) {
    constant(4, variables + 64);
    const uint32_t name = variables + 128;
    constant(5, name);
    constant(6, 0x706D7564);                     // "dump"
    constant(7, 0x6E69622E);                     // ".bin"
    emit_all({0x602E, 0x606F, 0x2600, 0x60AE});  // str r6, [r5]; str r7, [r5, #4]; 0 behind it
    emit_all({0x6025, 0x2605, 0x6066, 0x2608, 0x60A6});  // {name, 5 = "wb", 8}
    emit_all({0x2001, 0x0021, 0xBEAB});                  // SYS_OPEN
    emit_all({0x6020});                                  // str r0, [r4]
    constant(5, records);
    constant(6, variables);
    emit_all({0x6836, 0x1B76, 0x6065, 0x60A6});  // ldr r6, [r6]; subs r6, r6, r5; {fd, from, size}
    emit_all({0x2005, 0x0021, 0xBEAB});          // SYS_WRITE
    constant(1, 0x20026);                        // ADP_Stopped_ApplicationExit
    emit_all({0x2018, 0xBEAB, 0xE7FE});          // SYS_EXIT
  }

  std::vector<uint8_t> bytes_;  // from address 0
};

}  // namespace millrace::board::diff
