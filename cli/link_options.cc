// SPDX-License-Identifier: Apache-2.0
#include "cli/link_options.h"

#include "cli/exit_code.h"
#include "cli/pc_endpoint.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Protocol;

const char* const kPortHelp =
    "Port: a path or COMn, usb:VID:PID (hex), serial:NUMBER, or pc: for a device on this machine "
    "(pc:?FAULTS damages its stream), or board:IMAGE for firmware on the virtual board (not on "
    "Windows)";

namespace {

constexpr uint64_t kHourMs = 3600000;

// keep, on, off.
void add_line_option(Command& command, const std::string& name, const std::string& help,
                     std::optional<bool>* target) {
  command.choice(name, help, {"keep", "on", "off"}, [target](const std::string& value) {
    *target = value == "keep" ? std::nullopt : std::optional<bool>(value == "on");
  });
}

}  // namespace

void add_link_options(Command& command, LinkOptions* options) {
  host::RunSettings& s = options->settings;
  command.positional("PORT", kPortHelp, ValueKind::port, true, &options->port);
  command.option("--seed", "N", "Seed of the stream, decimal or 0x hex (42)", ValueKind::text,
                 number_into(&s.seed, Scale::count, 0, UINT32_MAX));
  command.option("--timeout-ms", "MS", "Longest silence before a run is given up (2000)",
                 ValueKind::text, number_into(&s.timeout_ms, Scale::count, 1, kHourMs));
  command.choice("--protocol",
                 "auto asks the device and falls back to classic (the published harness's) (auto)",
                 {"auto", "classic", "extended"}, [&s](const std::string& value) {
                   s.protocol = value == "classic"    ? Protocol::classic
                                : value == "extended" ? Protocol::extended
                                                      : Protocol::automatic;
                 });
  command.option("--read-size", "BYTES",
                 "Largest read; the frame size gives one read a frame; K, M = 1,024, 1,048,576 "
                 "(64K)",
                 ValueKind::text, number_into(&s.read_size, Scale::bytes, 1, kMaxFrameBytes));
  command.option("--counters-ms", "MS",
                 "Ask the device for its counters during a run, every MS; 0: at its end only (0)",
                 ValueKind::text, number_into(&s.counters_interval_ms, Scale::count, 0, kHourMs));
  command.flag("--discard-mode",
               "Let the device throw away what it cannot send, as sketches that ignore the result "
               "of write do",
               &s.discard_mode);
  command.option("--discard-after-ms", "MS",
                 "In discard mode: time without progress before it throws away (120)",
                 ValueKind::text, number_into(&s.discard_after_ms, Scale::count, 1, kHourMs));
  command.flag("--stop-on-error", "End a run at its first fault", &s.stop_on_error);
  add_line_option(command, "--dtr", "DTR while the port is open; keep: as the system leaves it",
                  &s.open.dtr);
  add_line_option(command, "--rts", "RTS, likewise", &s.open.rts);
  command.option("--follow-ms", "MS",
                 "How long to wait for a device that went away, under any name; 0: not at all "
                 "(3000)",
                 ValueKind::text, number_into(&s.follow_replug_ms, Scale::count, 0, kHourMs));
}

std::unique_ptr<host::Endpoint> begin_measurement(const LinkOptions& options, int* code) {
  if (const host::Status writable = check_outputs(options.outputs); !writable) {
    *code = fail_output(writable.error());
    return nullptr;
  }
  host::Result<std::unique_ptr<host::Endpoint>> endpoint =
      host::make_endpoint(options.port, endpoint_schemes());
  if (!endpoint) {
    *code = fail(endpoint.error());
    return nullptr;
  }
  return std::move(*endpoint);
}

int end_measurement(host::Endpoint& endpoint, const host::Status& written, int code) {
  if (!written) code = worse(code, fail_output(written.error()));
  const host::Status finished = endpoint.finish();
  return finished ? code : worse(code, fail_output(finished.error()));
}

}  // namespace millrace::cli
