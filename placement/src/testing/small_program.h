// SPDX-License-Identifier: Apache-2.0
// A whole program of a few hundred bytes, made without a toolchain: for fuzz targets, whose inputs
// are what is said about a program. A Teensy's addresses; start-up that calls a copy and main, work
// with a clone and with static helpers of one name in two files, code in ITCM with a veneer, and
// data of each kind. Each function is 16 bytes: push, a call, a constant, pop.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/link/bytes.h"

namespace millrace::placement::testing {

inline constexpr uint32_t kFlash = 0x60000000, kItcm = 0x20, kRodata = 0x60001000,
                          kData = 0x20000000, kBss = 0x20200000;
inline constexpr uint32_t kFirstFunction = kFlash + 64;  // behind the vector table

class SmallProgram {
 public:
  std::vector<uint8_t> elf() {
    for (const uint32_t word : {0x20010000u, flash(0) | 1, flash(6) | 1, flash(6) | 1}) {
      put(&text_, word);
    }
    text_.resize(64);
    //                   name, calls, a constant of it
    code(&text_, flash(0), flash(1), flash(2) | 1);  // reset_handler: copy_words, main
    code(&text_, flash(1), flash(6), kItcm);         // copy_words
    code(&text_, flash(2), flash(3), kRodata);       // main: work
    code(&text_, flash(3), flash(5), kData);         // work: helper
    code(&text_, flash(4), flash(5), kBss);          // work.part.0
    code(&text_, flash(5), flash(7), 0x402A8018);    // helper of a.c
    code(&text_, flash(6), flash(7), itcm(1) | 1);   // some_isr
    code(&text_, flash(7), flash(7), 7);             // helper of b.c
    code(&itcm_, itcm(0), itcm(2), 0x402A8018);      // fast_one: by the veneer
    code(&itcm_, itcm(1), itcm(0), kBss + 32);       // fast_two
    put(&itcm_, 0xF000F8DF);                         // the veneer: ldr.w pc, [pc]
    put(&itcm_, flash(4) | 1);
    rodata_.assign(64, 3);
    data_.assign(32, 1);
    symbols();
    return file();
  }

  static constexpr uint32_t flash(uint32_t n) { return kFirstFunction + n * 16; }
  static constexpr uint32_t itcm(uint32_t n) { return kItcm + n * 16; }

 private:
  struct Header {
    const char* name;
    uint32_t type, flags, address, bytes, offset, link, info, entry;
  };

  static void put(std::vector<uint8_t>* to, uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) to->push_back(static_cast<uint8_t>(word >> shift));
  }

  // BL (v7-M A7.7.18): of what is at most 16 MB away.
  static void code(std::vector<uint8_t>* to, uint32_t at, uint32_t callee, uint32_t constant) {
    const uint32_t distance = callee - (at + 2 + 4);
    const uint32_t high = 0xF000 | (distance >> 31 & 1) << 10 | (distance >> 12 & 0x3FF);
    const auto bit = [&](uint32_t n) { return ((distance >> n & 1) ^ (distance >> 31 & 1)) ^ 1; };
    const uint32_t low = 0xD000 | bit(23) << 13 | bit(22) << 11 | (distance >> 1 & 0x7FF);
    put(to, high << 16 | 0xB500);  // push {lr}; bl
    put(to, 0x48010000 | low);     // ...; ldr r0, [pc, #4]
    put(to, 0xBF00BD00);           // pop {pc}; nop
    put(to, constant);
  }

  void symbol(std::string_view name, uint32_t address, uint32_t size, uint32_t info,
              uint32_t section) {
    put(&symtab_, static_cast<uint32_t>(strtab_.size()));
    put(&symtab_, address);
    put(&symtab_, size);
    put(&symtab_, info | section << 16);
    strtab_.insert(strtab_.end(), name.begin(), name.end());
    strtab_.push_back(0);
  }

  void symbols() {
    constexpr uint32_t kFile = 4, kLocalFunction = 2, kFunction = 0x12, kObject = 0x11;
    constexpr uint32_t kAbsolute = 0xFFF1;
    strtab_.push_back(0);
    symbol("", 0, 0, 0, 0);
    symbol("a.c", 0, 0, kFile, kAbsolute);
    symbol("helper", flash(5) | 1, 16, kLocalFunction, 1);
    symbol("work.part.0", flash(4) | 1, 16, kLocalFunction, 1);
    symbol("b.c", 0, 0, kFile, kAbsolute);
    symbol("helper", flash(7) | 1, 16, kLocalFunction, 1);
    symbol("__work.part.0_veneer", itcm(2) | 1, 8, kLocalFunction, 2);
    symbol("reset_handler", flash(0) | 1, 16, kFunction, 1);
    symbol("copy_words", flash(1) | 1, 16, kFunction, 1);
    symbol("main", flash(2) | 1, 16, kFunction, 1);
    symbol("work", flash(3) | 1, 16, kFunction, 1);
    symbol("some_isr", flash(6) | 1, 16, kFunction, 1);
    symbol("fast_one", itcm(0) | 1, 16, kFunction, 2);
    symbol("_Z8fast_twov", itcm(1) | 1, 16, kFunction, 2);
    symbol("table", kRodata, 40, kObject, 3);
    symbol("names", kRodata + 40, 24, kObject, 3);
    symbol("counter", kData, 4, kObject, 4);
    symbol("rx_buffer", kBss, 64, kObject, 5);
    symbol("state", kBss + 64, 32, kObject, 5);
  }

  std::vector<uint8_t> file() {
    constexpr uint32_t kBits = 1, kSymtab = 2, kStrtab = 3, kNoBits = 8;
    constexpr uint32_t kWrite = 1, kAlloc = 2, kExecute = 4;
    std::vector<uint8_t> out(52);
    const auto append = [&](const std::vector<uint8_t>& bytes) {
      out.resize((out.size() + 3) / 4 * 4);
      const auto at = static_cast<uint32_t>(out.size());
      out.insert(out.end(), bytes.begin(), bytes.end());
      return at;
    };
    const auto size = [](const std::vector<uint8_t>& bytes) {
      return static_cast<uint32_t>(bytes.size());
    };
    std::vector<Header> headers = {
        {"", 0, 0, 0, 0, 0, 0, 0, 0},
        {".text", kBits, kAlloc | kExecute, kFlash, size(text_), append(text_), 0, 0, 0},
        {".itcm", kBits, kAlloc | kExecute, kItcm, size(itcm_), append(itcm_), 0, 0, 0},
        {".rodata", kBits, kAlloc, kRodata, size(rodata_), append(rodata_), 0, 0, 0},
        {".data", kBits, kAlloc | kWrite, kData, size(data_), append(data_), 0, 0, 0},
        {".bss", kNoBits, kAlloc | kWrite, kBss, 96, 52, 0, 0, 0},
        {".symtab", kSymtab, 0, 0, size(symtab_), append(symtab_), 7, 7, 16},
        {".strtab", kStrtab, 0, 0, size(strtab_), append(strtab_), 0, 0, 0},
    };
    std::vector<uint8_t> names;
    std::vector<uint32_t> name_at;
    for (const Header& one : headers) {
      name_at.push_back(size(names));
      names.insert(names.end(), one.name, one.name + std::string_view(one.name).size() + 1);
    }
    const uint32_t names_at = append(names), table = append({});
    name_at.push_back(0);
    headers.push_back({"", kStrtab, 0, 0, size(names), names_at, 0, 0, 0});
    for (size_t i = 0; i < headers.size(); ++i) {
      const Header& one = headers[i];
      for (const uint32_t word : {name_at[i], one.type, one.flags, one.address, one.offset,
                                  one.bytes, one.link, one.info, 4u, one.entry}) {
        put(&out, word);
      }
    }
    const uint8_t magic[] = {0x7F, 'E', 'L', 'F', 1, 1, 1};
    std::copy(std::begin(magic), std::end(magic), out.begin());
    link::store_le16(&out[16], 2);   // ET_EXEC
    link::store_le16(&out[18], 40);  // EM_ARM
    link::store_le32(&out[20], 1);
    link::store_le32(&out[24], flash(0) | 1);
    link::store_le32(&out[32], table);
    link::store_le16(&out[40], 52);
    link::store_le16(&out[46], 40);
    link::store_le16(&out[48], static_cast<uint16_t>(headers.size()));
    link::store_le16(&out[50], static_cast<uint16_t>(headers.size() - 1));
    return out;
  }

  std::vector<uint8_t> text_, itcm_, rodata_, data_, symtab_, strtab_;
};

}  // namespace millrace::placement::testing
