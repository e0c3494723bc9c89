// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace millrace::cli {

void add_link(Command parent, const Program& program) {
  Command link = parent.add_command(
      "link", "Carry data over USB serial without losing a byte (spec/link_protocol.md)",
      "Examples:\n"
      "  millrace link bench pc:link            goodput, with no hardware\n"
      "  millrace link receive /dev/ttyACM0 -o samples.bin\n"
      "  millrace link send /dev/ttyACM0 firmware.bin\n"
      "  millrace link pipe /dev/ttyACM0 < commands > answers\n"
      "The board runs the Link example of firmware/ports/teensyduino, or firmware of your own "
      "with\n"
      "the same library; pc:link is such a device on this machine (pc:link?FAULTS damages it).");
  add_link_bench(link, program);
  add_link_receive(link, program);
  add_link_send(link, program);
  add_link_pipe(link, program);
}

}  // namespace millrace::cli
