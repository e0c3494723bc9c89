// SPDX-License-Identifier: Apache-2.0
#include "image/boot_header.h"

#include "core/bytes.h"

namespace millrace::board {
namespace {

// FlexSPI instructions (IMXRT1060RM 27.5.8): opcode 15:10, pads 9:8, operand 7:0. Bit 5 of the
// opcode: both edges of the clock.
constexpr uint32_t kStop = 0x00;
constexpr uint32_t kCommand = 0x01;
constexpr uint32_t kRowAddress = 0x02;
constexpr uint32_t kColumnAddress = 0x03;
constexpr uint32_t kMode1 = 0x04;
constexpr uint32_t kMode8 = 0x07;
constexpr uint32_t kReadValue = 0x09;
constexpr uint32_t kDummy = 0x0C;
constexpr uint32_t kDummyRwds = 0x0D;
constexpr uint32_t kJumpOnCs = 0x1F;

uint32_t header_word(std::span<const uint8_t> bytes, size_t offset) {
  return load_le(&bytes[offset], 4);
}

// Bits that the instruction shifts out; 0 for those that shift none.
uint32_t bits_of(uint32_t opcode, uint32_t operand) {
  if (opcode == kCommand) return 8;
  if (opcode == kRowAddress || opcode == kColumnAddress) return operand;
  if (opcode >= kMode1 && opcode <= kMode8) return 1u << (opcode - kMode1);
  return 0;
}

void decode_read_sequence(FlexspiConfig* config) {
  for (size_t i = 0; i < 2 * config->read_lut.size(); ++i) {
    const uint32_t instruction = config->read_lut[i / 2] >> (16 * (i % 2)) & 0xFFFF;
    const uint32_t opcode = instruction >> 10 & 0x1F;
    const uint32_t edges = (instruction >> 15) + 1;
    const uint32_t pads = 1u << (instruction >> 8 & 3);
    const uint32_t operand = instruction & 0xFF;
    if (opcode == kStop || opcode == kJumpOnCs) return;
    if (opcode == kReadValue) {
      config->read_data_pads = pads;
      return;
    }
    if (opcode == kDummy || opcode == kDummyRwds) {
      config->read_command_sck += operand;
    } else {
      const uint32_t bits_per_sck = pads * edges;
      config->read_command_sck += (bits_of(opcode, operand) + bits_per_sck - 1) / bits_per_sck;
    }
  }
}

}  // namespace

uint32_t serial_clock_khz(uint8_t code) {
  static constexpr uint32_t kMhz[] = {0, 30, 50, 60, 75, 80, 100, 120, 133, 166};
  return code < std::size(kMhz) ? kMhz[code] * 1000 : 0;
}

FlexspiConfig decode_config(std::span<const uint8_t> bytes) {
  FlexspiConfig config;
  config.version = header_word(bytes, 0x04);
  config.read_sample_clock = bytes[0x0C];
  config.cs_hold_sck = bytes[0x0D];
  config.cs_setup_sck = bytes[0x0E];
  config.device_type = bytes[0x44];
  config.pads = bytes[0x45];
  config.serial_clock = bytes[0x46];
  config.serial_clock_khz = serial_clock_khz(config.serial_clock);
  config.flash_a1_bytes = header_word(bytes, 0x50);
  for (size_t i = 0; i < config.read_lut.size(); ++i) {
    config.read_lut[i] = header_word(bytes, 0x80 + 4 * i);
  }
  config.page_bytes = header_word(bytes, 0x1C0);
  config.sector_bytes = header_word(bytes, 0x1C4);
  decode_read_sequence(&config);
  return config;
}

ImageVectorTable decode_ivt(std::span<const uint8_t> bytes) {
  return {header_word(bytes, 0x00), header_word(bytes, 0x04), header_word(bytes, 0x0C),
          header_word(bytes, 0x10), header_word(bytes, 0x14), header_word(bytes, 0x18)};
}

BootData decode_boot_data(std::span<const uint8_t> bytes) {
  return {header_word(bytes, 0), header_word(bytes, 4), header_word(bytes, 8)};
}

bool is_ivt_header(uint32_t header) {
  return (header & 0x00FFFFFF) == 0x002000D1 && header >> 24 >= 0x40 && header >> 24 <= 0x43;
}

}  // namespace millrace::board
