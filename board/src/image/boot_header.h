// SPDX-License-Identifier: Apache-2.0
// The bytes of the boot header (IMXRT1060RM 9.6.3, 9.7.1).
#pragma once

#include <cstdint>
#include <span>

#include "millrace/board/boot_rom.h"

namespace millrace::board {

inline constexpr uint32_t kConfigTag = 0x42464346;  // "FCFB" in memory
inline constexpr size_t kConfigBytes = 512;
inline constexpr uint32_t kIvtOffset = 0x1000;
inline constexpr size_t kIvtBytes = 32;
inline constexpr size_t kBootDataBytes = 12;

// REQUIRES: kConfigBytes, kIvtBytes, kBootDataBytes.
FlexspiConfig decode_config(std::span<const uint8_t> bytes);
ImageVectorTable decode_ivt(std::span<const uint8_t> bytes);
BootData decode_boot_data(std::span<const uint8_t> bytes);

// Tag D1, length 32 big-endian, version 4x with x = 0 to 3.
bool is_ivt_header(uint32_t header);

// kHz of a serialClkFreq code of the RT1060 (9.6.3.1); 0: not listed.
uint32_t serial_clock_khz(uint8_t code);

}  // namespace millrace::board
