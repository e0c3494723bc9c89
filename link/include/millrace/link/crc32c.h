// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78, initial value and final XOR 0xFFFFFFFF;
// RFC 3720 appendix B.4). `crc` is the value of the bytes before these; 0 at the start.
// The small one: 64 bytes of table, for control messages.
uint32_t crc32c(const uint8_t* data, size_t size, uint32_t crc = 0);

// The same value, for streams: the processor's CRC instruction where it has one (asked at run
// time), else crc32c_sliced().
uint32_t crc32c_bulk(const uint8_t* data, size_t size, uint32_t crc = 0);

// The same value, eight bytes a step from 8 KB of tables; what a Cortex-M7 uses.
uint32_t crc32c_sliced(const uint8_t* data, size_t size, uint32_t crc = 0);

}  // namespace millrace::link
