// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace millrace::cli {

void add_serial(Command parent, const Program& program) {
  Command serial = parent.add_command(
      "serial", "Measure a USB serial (CDC-ACM) link, every byte verified",
      "Examples:\n"
      "  millrace serial bench /dev/ttyACM0   one run\n"
      "  millrace serial sweep /dev/ttyACM0   frame sizes x acknowledgements, a table\n"
      "  millrace serial soak /dev/ttyACM0    long runs, bursts, boundary sizes, replugs\n"
      "The board runs the Stream example of firmware/ports/teensyduino, or the published\n"
      "harness's sketch.");
  add_serial_bench(serial, program);
  add_serial_sweep(serial, program);
  add_serial_soak(serial, program);
}

}  // namespace millrace::cli
