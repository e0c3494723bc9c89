// SPDX-License-Identifier: Apache-2.0
// What the boot ROM of the RT1062 makes of an image: it reads the FlexSPI configuration block and
// the image vector table from flash (IMXRT1060RM chapter 9, System Boot), and starts the program.
// Pure logic over bytes: nothing is loaded or started here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "millrace/board/image.h"

namespace millrace::board {

// FlexSPI NOR configuration block at 0x60000000 (IMXRT1060RM 9.6.3.1), what matters of it.
struct FlexspiConfig {
  uint32_t version = 0;  // 0x56010000: 'V', 1.0.0
  uint8_t read_sample_clock = 0;
  uint8_t cs_hold_sck = 0;
  uint8_t cs_setup_sck = 0;
  uint8_t device_type = 0;        // 1: serial NOR
  uint8_t pads = 0;               // 1, 2, 4 or 8
  uint8_t serial_clock = 0;       // code of the block
  uint32_t serial_clock_khz = 0;  // of that code; 0: the manual does not list it
  uint32_t flash_a1_bytes = 0;
  uint32_t page_bytes = 0;
  uint32_t sector_bytes = 0;
  std::array<uint32_t, 4> read_lut{};  // look-up table, sequence 0: how the flash is read
  uint32_t read_command_sck = 0;       // serial clocks of that sequence before the data
  uint32_t read_data_pads = 0;         // 0: the sequence reads nothing
};

// Image vector table at 0x60001000 (9.7.1).
struct ImageVectorTable {
  uint32_t header = 0;  // 0x432000D1: tag D1, length 0x0020 big-endian, version 43
  uint32_t entry = 0;
  uint32_t dcd = 0;
  uint32_t boot_data = 0;
  uint32_t self = 0;
  uint32_t csf = 0;
};

struct BootData {
  uint32_t start = 0;
  uint32_t length = 0;  // bytes
  uint32_t plugin = 0;
};

enum class StartKind : uint8_t {
  none,              // it does not start
  code,              // IVT.entry is odd: a Thumb address, jumped to (Teensy core)
  vector_table,      // IVT.entry is even: SP and PC from the vector table there (NXP SDK, Zephyr)
  ram_vector_table,  // no flash involved: as a debugger starts a program in RAM
};

// What the manual does not say, to be set where somebody knows better. The Teensy core, Zephyr and
// the NXP SDK set VTOR themselves before they need it.
struct BootOptions {
  // Reset value of IOMUXC_GPR_GPR16.CM7_INIT_VTOR, hence VTOR while the ROM runs.
  uint32_t rom_vtor = 0x00200000;
  // Stack of the ROM when it jumps to code: top of the 32 KB of OCRAM that the ROM keeps to itself.
  uint32_t rom_stack = 0x20208000;
  // VTOR at a start through a vector table: that table, or what the ROM had.
  bool vtor_follows_table = true;
};

struct BootPlan {
  std::string error;  // empty: it boots. Else one sentence: what was expected and found, remedy
  StartKind start = StartKind::none;
  uint32_t pc = 0;  // bit 0 cleared
  uint32_t sp = 0;
  uint32_t vtor = 0;
  // What was found of the header, also if the rest of it is wrong.
  std::optional<FlexspiConfig> flexspi;
  std::optional<ImageVectorTable> ivt;
  std::optional<BootData> boot_data;
  // Boot data that starts in RAM: the ROM copies boot_data->length bytes from the start of flash
  // to boot_data->start before it starts the program.
  bool copies_to_ram = false;
  std::vector<std::string> unloadable;  // what would not load and why, one sentence each
  std::vector<std::string> notes;       // what differs from a real board, one sentence each
};

// Reads `size` bytes of what is loaded; false if not all of them are.
using BootReader = std::function<bool(uint32_t address, uint8_t* out, uint32_t size)>;

// The boot from flash.
BootPlan plan_flash_boot(const BootReader& read, const BootOptions& options = {});

// Of an image: what would not load; then plan_flash_boot() if it has bytes in flash, else the
// start of a program in RAM. `error` begins with the image's path.
BootPlan plan_boot(const Image& image, const BootOptions& options = {});

}  // namespace millrace::board
