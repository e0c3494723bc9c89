// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/outputs.h"
#include "cli/posix/udp_target.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/values.h"
#include "millrace/udp/device_counters.h"
#include "millrace/udp/payload.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;
using link::EchoCounter;
using link::EchoCounters;

namespace {

constexpr int64_t kPatienceNs = 2'000'000'000, kSliceNs = 100'000'000;

struct Options {
  UdpTarget target;
  uint64_t seconds = 0;
  OutputOptions outputs;
};

Result<EchoCounters> read(udp::DatagramPort& port) {
  const std::optional<EchoCounters> found = udp::read_counters(port, kPatienceNs);
  if (found) return *found;
  if (std::optional<Error> trouble = port.trouble()) return *trouble;
  return Error{ErrorCode::not_found,
               fmt::format("{}: tells no counters on port {} (the echo firmware of this project "
                           "does; is a firewall in between?)",
                           printable(port.info().name), link::kEchoCountersPort)};
}

// The seconds it took: fewer if the user ended it, or the device went away.
double wait(udp::DatagramPort& port, uint64_t seconds) {
  const int64_t start = port.clock().now_ns();
  const int64_t end = start + static_cast<int64_t>(seconds) * 1'000'000'000;
  while (port.clock().now_ns() < end && !interrupted() && !port.trouble()) {
    port.receive(std::min(end, port.clock().now_ns() + kSliceNs), [](const udp::Arrival&) {});
  }
  return static_cast<double>(port.clock().now_ns() - start) / 1e9;
}

std::string frames_line(const EchoCounters& c, const char* name, EchoCounter frames,
                        EchoCounter transfers) {
  if (c[transfers] == 0) return "";
  return fmt::format("{:<28}{:>12.2f}\n", name,
                     static_cast<double>(c[frames]) / static_cast<double>(c[transfers]));
}

std::string text_of(const EchoCounters& c, double seconds) {
  std::string out;
  size_t zero = 0;
  for (size_t i = 0; i < link::kEchoCounters; ++i) {
    const auto counter = static_cast<EchoCounter>(i);
    if (c.values[i] == 0) {
      ++zero;
      continue;
    }
    out += fmt::format("{:<28}{:>12}", link::name_of(counter), grouped(c.values[i]));
    if (seconds > 0 && udp::is_sum(counter)) {
      out += fmt::format(" {:>12.1f}/s", static_cast<double>(c.values[i]) / seconds);
    }
    out += '\n';
  }
  out += frames_line(c, "frames a transfer from host", EchoCounter::frames_received,
                     EchoCounter::rx_transfers);
  out += frames_line(c, "frames a transfer to host", EchoCounter::frames_sent,
                     EchoCounter::tx_transfers);
  return out + fmt::format("{} are 0\n", plural(zero, "counter"));
}

int run(Options& options, const Invocation& invocation) {
  if (const Status sense = options.target.check(); !sense) return fail(sense.error());
  if (const Status writable = check_outputs(options.outputs); !writable) {
    return fail_output(writable.error());
  }
  catch_interrupt();
  options.target.socket.probe_ms = 0;  // its echo is not asked for
  const Result<std::unique_ptr<udp::DatagramPort>> port = options.target.open(udp::kLeastPayload);
  std::FILE* const out = report_file(options.outputs);
  const auto end = [out](const Error& error) {
    if (!interrupted()) return fail(error);  // or else Ctrl-C may be what hindered it
    print(out, "{}", interrupted_before("the counters were read"));
    return int{kInterrupted};
  };
  if (!port) return end(port.error());
  Result<EchoCounters> counters = read(**port);
  if (!counters) return end(counters.error());
  double seconds = 0;
  if (options.seconds != 0) {
    seconds = wait(**port, options.seconds);
    const Result<EchoCounters> after = read(**port);
    if (!after) return end(after.error());
    counters = udp::difference(*after, *counters);
  }
  print(out, "{}", text_of(*counters, seconds));
  const bool is_cut = options.seconds != 0 && interrupted();
  if (is_cut) print(out, "interrupted after {:.3f} s\n", seconds);
  Json document = result_document("udp counters", invocation);
  document["target"] = options.target.name;
  document["seconds"] = seconds;
  document["counters"] = Json::object();
  for (size_t i = 0; i < link::kEchoCounters; ++i) {
    document["counters"][link::name_of(static_cast<EchoCounter>(i))] = counters->values[i];
  }
  int code = is_cut ? kInterrupted : kOk;
  if (const Status finished = (*port)->finish(); !finished)
    code = worse(code, fail(finished.error()));
  const Status written = write_outputs(options.outputs, document);
  return written ? code : worse(code, fail_output(written.error()));
}

}  // namespace

void add_udp_counters(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "counters", "What an echo device has counted: requests, replies, drops and where, buffers",
      "Examples:\n"
      "  millrace udp counters 192.168.7.1                since it started\n"
      "  millrace udp counters 192.168.7.1 --seconds 10   within 10 s, and a second\n"
      "The echo firmware of this project tells them on UDP port 4243 (spec/echo_counters.md says\n"
      "what each counts). Exit code 3 if the target cannot be reached or tells none.");
  options->target.add_to(command);
  command.option("--seconds", "S", "What it counts within S seconds; 0: since its start (0)",
                 ValueKind::text, number_into(&options->seconds, Scale::count, 0, 1'000'000));
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return run(*options, program.invocation); });
}

}  // namespace millrace::cli
