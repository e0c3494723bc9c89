// SPDX-License-Identifier: Apache-2.0
#include "millrace/link/crc32c.h"

#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "crc32c_lanes.h"

namespace millrace::link {

uint32_t crc32c_bulk(const uint8_t* data, size_t size, uint32_t crc) {
  if ((getauxval(AT_HWCAP) & HWCAP_CRC32) != 0) return crc32c_by_instruction(data, size, crc);
  return crc32c_sliced(data, size, crc);
}

}  // namespace millrace::link
