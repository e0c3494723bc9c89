// SPDX-License-Identifier: Apache-2.0
// For processors without a CRC-32C instruction, and for a Cortex-M7 with its constants in flash.
#include "millrace/link/crc32c.h"

namespace millrace::link {

uint32_t crc32c_bulk(const uint8_t* data, size_t size, uint32_t crc) {
  return crc32c_sliced(data, size, crc);
}

}  // namespace millrace::link
