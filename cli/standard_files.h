// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace millrace::cli {

// Occupies those of descriptors 0, 1 and 2 that the caller has closed. Otherwise the next file that
// is opened, perhaps the port, takes the number, and reports are written into it. Writing to an
// occupied stdout or stderr fails as before. Call first in main().
void occupy_standard_files();

// A limit on file sizes (`ulimit -f`) is from now on an error of the write that meets it, as a full
// disk is, and no signal that ends the program.
void make_file_limits_errors();

// Bytes written to stdout from now on stay as they are; Windows else makes two of each line end.
void make_stdout_binary();

}  // namespace millrace::cli
