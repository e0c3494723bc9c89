// SPDX-License-Identifier: Apache-2.0
// qemu-system-arm -M mps2-an500, the other Cortex-M7 of the differential tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::board::diff {

// Runs the image (from address 0, with vector table) in `folder` and reads the words of the file
// dump.bin that it writes by semihosting. False: there is none; said on stderr.
bool run_on_qemu(const std::vector<uint8_t>& image, const std::string& folder,
                 std::vector<uint32_t>* records);

}  // namespace millrace::board::diff
