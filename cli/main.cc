// SPDX-License-Identifier: Apache-2.0
// millrace: the table of its commands.
#include <fmt/chrono.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <system_error>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/print.h"
#include "cli/stack.h"
#include "cli/standard_files.h"

namespace {

using namespace millrace::cli;

constexpr void (*kCommands[])(Command, const Program&) = {
    add_ports,      add_doctor, add_serial,  add_link,    add_udp,
    add_turnaround, add_device, add_board,   add_profile, add_memory,
    add_place,      add_check,  add_predict, add_tune,    add_completion,
};

const char* const kHelp =
    "How fast and how reliable a USB link to a microcontroller is, and why it is not faster.";

const char* const kExamples =
    "Examples:\n"
    "  millrace ports                      the serial ports of this machine\n"
    "  millrace doctor /dev/ttyACM0        what would spoil a measurement\n"
    "  millrace serial bench /dev/ttyACM0  one run, every byte verified\n"
    "  millrace serial sweep pc:           a table, with no hardware\n"
    "  millrace udp bench 192.168.7.1      echoes a second of a USB network device\n"
    "  millrace turnaround usb.pcapng      how long a device takes to answer, from a capture\n"
    "  millrace profile fw.elf pcs.bin     where the time of a sampled program goes\n"
    "MB/s are 10^6 bytes a second.\n"
    "Exit codes: 0 ok, 1 the measured thing failed, 2 usage, 3 device gone or not to be opened,\n"
    "130 interrupted.";

int finish(int code) {
  const int number = stdout_error();
  if (number == 0) return code;
  print(stderr, "millrace: write stdout: {} (choose another place for the output)\n",
        std::strerror(number));
  return code == kOk ? kFailed : code;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_files();
  make_file_limits_errors();
  // What the standard library throws where the system has no thread or memory left for this
  // program. Every handle on the way here has closed itself.
  try {
    take_stack();
    CommandLine line("millrace", kHelp, kExamples, "millrace " MILLRACE_VERSION);
    Program program;
    program.line = &line;
    program.invocation.arguments.assign(argv, argv + argc);
    program.invocation.started_at =
        fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    for (const auto add : kCommands) add(line.root(), program);
    return finish(line.run(argc, argv));
  } catch (const std::system_error& error) {
    print(
        stderr,
        "millrace: no thread can be made: {} (end other programs, or allow more with `ulimit -u`, "
        "`ulimit -v`)\n",
        error.what());
  } catch (const std::bad_alloc&) {
    print(stderr, "millrace: out of memory (end other programs, or allow more with `ulimit -v`)\n");
  }
  return finish(kFailed);
}
