// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

namespace millrace::cli {

void add_udp(Command parent, const Program& program) {
  Command udp = parent.add_command(
      "udp", "Measure a UDP echo server: a USB network device, or any other",
      "Examples:\n"
      "  millrace udp bench 192.168.7.1   the published ladder: peak, lossless rate, round trips\n"
      "  millrace udp counters 192.168.7.1  what the device has counted\n"
      "  millrace udp echo --port 4242    an echo server on this machine\n"
      "  millrace udp doctor              which interface the device is, and what stands in the "
      "way\n"
      "The board runs usb_echo_ncm or usb_echo_ecm of this project, Zephyr's echo_server, or any\n"
      "other program that sends UDP datagrams back.");
  add_udp_bench(udp, program);
  add_udp_counters(udp, program);
  add_udp_echo(udp, program);
  add_udp_doctor(udp, program);
}

}  // namespace millrace::cli
