// SPDX-License-Identifier: Apache-2.0
// A flash image for tests: boot header, a vector table at 0x60002000, code behind it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "core/bytes.h"
#include "millrace/board/image.h"

namespace millrace::board::testing {

class FlashImage {
 public:
  static constexpr uint32_t kBase = 0x60000000;
  static constexpr uint32_t kVectors = 0x60002000;
  static constexpr uint32_t kCode = 0x60002100;
  static constexpr uint32_t kStack = 0x20240000;  // OCRAM

  // Every vector is kCode until vector() says otherwise.
  explicit FlashImage(std::initializer_list<uint16_t> code) : bytes_(0x4000) {
    word(0x60000000, 0x42464346);  // FCFB
    word(0x60000004, 0x56010000);
    bytes_[0x44] = 1;              // serial NOR
    bytes_[0x45] = 4;              // pads
    bytes_[0x46] = 6;              // 100 MHz
    word(0x60000050, 0x800000);    // A1 size
    word(0x60000080, 0x0A1804EB);  // read: EB, 24-bit address on 4 pads
    word(0x60000084, 0x26043206);  // dummy, read on 4 pads
    word(0x60001000, 0x432000D1);
    word(0x60001004, kVectors);
    word(0x60001010, 0x60001020);
    word(0x60001014, 0x60001000);
    word(0x60001020, kBase);
    word(0x60001024, 0x4000);
    word(kVectors, kStack);
    for (unsigned i = 1; i < 16; ++i) vector(i, kCode);
    halfwords(kCode, code);
  }
  void vector(unsigned exception, uint32_t address) { word(kVectors + 4 * exception, address | 1); }
  void word(uint32_t address, uint32_t value) { store_le(&bytes_[address - kBase], 4, value); }
  void halfwords(uint32_t address, std::initializer_list<uint16_t> code) {
    for (const uint16_t half : code) {
      store_le(&bytes_[address - kBase], 2, half);
      address += 2;
    }
  }
  Image image() const {
    Image image;
    image.path = "test.hex";
    image.kind = Image::Kind::hex;
    image.segments.push_back({kBase, bytes_});
    return image;
  }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace millrace::board::testing
