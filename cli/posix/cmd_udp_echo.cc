// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <chrono>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/values.h"
#include "millrace/udp/echo_server.h"

namespace millrace::cli {

using host::Result;
using host::Status;

namespace {

struct Options {
  std::string address = "0.0.0.0";
  uint16_t port = 4242;
  uint64_t seconds = 0;
  OutputOptions outputs;
};

int run(const Options& options, const Invocation& invocation) {
  if (const Status writable = check_outputs(options.outputs); !writable) {
    return fail_output(writable.error());
  }
  Result<std::unique_ptr<udp::EchoServer>> server =
      udp::open_echo_server(options.address, options.port);
  if (!server) return fail(server.error());
  catch_interrupt();
  std::FILE* const out = report_file(options.outputs);
  write_now(out, fmt::format("echoes at {} port {}\n", (*server)->address(), (*server)->port()));
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(options.seconds);
  const Status ran = (*server)->run(
      [&] { return !interrupted() && (options.seconds == 0 || Clock::now() < end); });
  const udp::EchoCounts& c = (*server)->counts();
  print(out, "{} received, {} sent back", grouped(c.received), grouped(c.replied));
  if (c.refused != 0) print(out, ", {} not taken by the system", grouped(c.refused));
  if (c.ignored != 0) print(out, ", {} ignored (from port 7)", grouped(c.ignored));
  if (c.overflow != 0) print(out, ", {} lost in the socket's buffer", grouped(c.overflow));
  print(out, "\n");
  Json document = result_document("udp echo", invocation);
  document["address"] = (*server)->address();
  document["port"] = (*server)->port();
  document["counts"] = {{"received", c.received},
                        {"replied", c.replied},
                        {"refused", c.refused},
                        {"ignored", c.ignored},
                        {"overflow", c.overflow}};
  int code = ran ? kOk : fail(ran.error());
  const Status written = write_outputs(options.outputs, document);
  return written ? code : worse(code, fail_output(written.error()));
}

}  // namespace

void add_udp_echo(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "echo", "Send every UDP datagram back to where it came from, until Ctrl-C",
      "Examples:\n"
      "  millrace udp echo\n"
      "  millrace udp echo --address 127.0.0.1 --port 0 --seconds 10\n"
      "Prints the port, and at the end how many came. Datagrams from port 7 are not answered: two\n"
      "echo servers would never end. Exit code 0 after Ctrl-C.");
  command.text("--address", "ADDRESS", "Of this machine, IPv4 or IPv6 (0.0.0.0: all)",
               ValueKind::text, &options->address);
  command.option("--port", "N", "UDP port; 0: any that is free (4242)", ValueKind::text,
                 number_into(&options->port, Scale::count, 0, 65535));
  command.option("--seconds", "S", "End after S seconds; 0: never (0)", ValueKind::text,
                 number_into(&options->seconds, Scale::count, 0, 1'000'000));
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
