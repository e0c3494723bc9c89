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
// time), else one of the next two, as the build chose (link/CMakeLists.txt).
uint32_t crc32c_bulk(const uint8_t* data, size_t size, uint32_t crc = 0);

// The same value from 8 KB of tables: 2.9 cycles a byte on a Cortex-M7, wherever they stand.
uint32_t crc32c_sliced(const uint8_t* data, size_t size, uint32_t crc = 0);

// The same value from 24 KB of tables: 1.9 cycles a byte if they are in DTCM, 20 or more if they
// are in flash and share the data cache with what is sent.
uint32_t crc32c_wide(const uint8_t* data, size_t size, uint32_t crc = 0);

}  // namespace millrace::link
