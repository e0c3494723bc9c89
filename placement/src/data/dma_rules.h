// SPDX-License-Identifier: Apache-2.0
// What must not move without being asked: data that a DMA master may use, stacks, heaps, and what
// the source put into a section of its own.
#pragma once

#include <string>
#include <string_view>

#include "millrace/placement/place_data.h"

namespace millrace::placement {

// An address at which devices have registers (v7-M B3.1): a function that makes one drives a
// device.
inline bool is_device_address(uint32_t address) {
  return address >= 0x4000'0000 && address < 0x6000'0000;
}
inline constexpr uint32_t kBufferAlign = 32;  // a cache line: what buffers of DMA are aligned to

// Sections that toolkits give to buffers of DMA, or memory that is not cached for their sake.
bool is_dma_section(std::string_view section);
// A word of the name says it: dma, dqh, dtd, qh, descriptors of a ring, or rx and tx with a buffer.
bool is_dma_name(std::string_view name);
bool is_stack_or_heap(std::string_view section, std::string_view name);
// Compilers choose it, or an attribute that only says where: moving it changes nothing else.
bool is_ordinary_section(std::string_view section);
// Of Teensyduino, for an object in that section: DMAMEM, PROGMEM, EXTMEM; else nullptr.
const char* teensy_attribute(std::string_view section);

}  // namespace millrace::placement
