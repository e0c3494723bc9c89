// SPDX-License-Identifier: Apache-2.0
// The Cortex-M7 with its constants in DTCM, as Teensyduino and the rt1062 variant itcm have them.
// Where constants are read from flash through the data cache, src/portable/ is ten times faster.
#include "millrace/link/crc32c.h"

namespace millrace::link {

uint32_t crc32c_bulk(const uint8_t* data, size_t size, uint32_t crc) {
  return crc32c_wide(data, size, crc);
}

}  // namespace millrace::link
