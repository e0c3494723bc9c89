// SPDX-License-Identifier: Apache-2.0
// What the boot ROM reads from the flash before our first instruction runs: the FlexSPI
// configuration block (FCB) at 0x60000000, the image vector table (IVT) at 0x60001000 and the boot
// data behind it. RM chapter "System Boot", tables "FlexSPI NOR configuration block" and "Image
// Vector Table".
//
// The flash of the Teensy 4.1 is a W25Q64JV-IQ: 8 MB, its QE bit is set in the factory, so the ROM
// need not send any configuration command. Fast Read Quad I/O, 0xEB: the command on one line, then
// 24 address bits, a mode byte (0xFF: no continuous read) and four dummy clocks on four lines.
#include <cstdint>

#include "firmware/ports/rt1062/image.h"

namespace millrace::rt1062 {
namespace {

constexpr uint32_t kFlashStart = 0x60000000;

// A FlexSPI instruction: opcode [15:10], pads [9:8] (0: one, 2: four), operand [7:0]. RM chapter
// "FlexSPI", "Look up table".
constexpr uint32_t lut(uint32_t opcode, uint32_t pads, uint32_t operand) {
  return opcode << 10 | pads << 8 | operand;
}
constexpr uint32_t lut_pair(uint32_t first, uint32_t second) { return second << 16 | first; }
constexpr uint32_t kOnePad = 0, kFourPads = 2;
constexpr uint32_t kCmdSdr = 0x01, kRaddrSdr = 0x02, kMode8Sdr = 0x07, kReadSdr = 0x09,
                   kDummySdr = 0x0c, kStop = 0x00;

struct FlexspiNorConfig {
  uint32_t tag = 0x42464346;      // "FCFB"
  uint32_t version = 0x56010000;  // 1.0.0
  uint32_t reserved_08 = 0;
  uint8_t read_sample_clk_src = 1;  // loopback from the DQS pad
  uint8_t cs_hold_time = 1;
  uint8_t cs_setup_time = 2;
  uint8_t column_address_width = 0;
  uint32_t mode_and_config_commands[12] = {};  // none
  uint32_t controller_misc_option = 0;
  uint8_t device_type = 1;      // serial NOR
  uint8_t sflash_pad_type = 4;  // quad
  uint8_t serial_clk_freq = 6;  // 100 MHz
  uint8_t lut_custom_seq_enable = 0;
  uint32_t reserved_48[2] = {};
  uint32_t sflash_a1_size = 8u << 20;
  uint32_t other_sizes_pads_timeouts[11] = {};  // no other chip; pads and times by default
  uint32_t lookup_table[64] = {
      lut_pair(lut(kCmdSdr, kOnePad, 0xeb), lut(kRaddrSdr, kFourPads, 24)),
      lut_pair(lut(kMode8Sdr, kFourPads, 0xff), lut(kDummySdr, kFourPads, 4)),
      lut_pair(lut(kReadSdr, kFourPads, 1), lut(kStop, kOnePad, 0))};
  uint32_t custom_sequences[16] = {};
  uint32_t page_size = 256;
  uint32_t sector_size = 4096;
  uint8_t ip_cmd_serial_clk_freq = 1;  // 30 MHz
  uint8_t reserved_1c9[7] = {};
  uint32_t block_size = 65536;
  uint32_t reserved_1d4[11] = {};
};
static_assert(sizeof(FlexspiNorConfig) == 512, "448 bytes of FlexSPI block, 64 of NOR block");

struct BootData {
  uint32_t start = kFlashStart;
  const uint32_t* length = &image_length;
  uint32_t plugin = 0;
};

struct ImageVectorTable {
  uint32_t header = 0x432000d1;  // tag D1, length 0x0020 big-endian, version 43
  void (*entry)() = nullptr;     // bit 0 set: Thumb code, not a vector table
  uint32_t reserved_1 = 0;
  const void* dcd = nullptr;
  const BootData* boot_data = nullptr;
  const ImageVectorTable* self = nullptr;
  const void* csf = nullptr;  // unsigned
  uint32_t reserved_2 = 0;
};
static_assert(sizeof(ImageVectorTable) == 32, "the header says 0x20");

[[gnu::section(".boot_header.fcb"), gnu::used]] const FlexspiNorConfig flexspi_nor_config{};
[[gnu::section(".boot_header.data"), gnu::used]] const BootData boot_data{};
extern const ImageVectorTable image_vector_table;
[[gnu::section(".boot_header.ivt"), gnu::used]] const ImageVectorTable image_vector_table{
    .entry = reset_handler, .boot_data = &boot_data, .self = &image_vector_table};

}  // namespace
}  // namespace millrace::rt1062
