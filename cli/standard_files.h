// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::cli {

// Occupies those of descriptors 0, 1 and 2 that the caller has closed. Otherwise the next file that
// is opened, perhaps the port, takes the number, and reports are written into it. Writing to an
// occupied stdout or stderr fails as before. Call first in main().
void occupy_standard_files();

}  // namespace millrace::cli
