// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/values.h"
#include "firmware/ports/pc/pty_device.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace {

struct Options {
  firmware::PtyDeviceOptions device;
  std::optional<uint32_t> seed;
};

int run(const Options& options) {
  firmware::PtyDeviceOptions device = options.device;
  if (options.seed) device.faults.classic_seed = *options.seed;
  catch_interrupt();
  const firmware::PtyDeviceResult made = firmware::PtyDevice::create(device);
  if (made.device == nullptr) return fail(Error{ErrorCode::io, "device pc: " + made.error});
  std::string path = made.device->path();
  write_now(stdout, path + '\n');
  while (!interrupted()) {
    if (stdout_error() != 0) return kFailed;  // nobody can learn where the device is; main says so
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::string now = made.device->path();
    if (now == path || now.empty()) continue;
    path = now;
    write_now(stdout, path + '\n');
  }
  return kOk;
}

}  // namespace

void add_device(Command parent, const Program&) {
  const auto options = std::make_shared<Options>();
  Command device = parent.add_command("device", "Run a measuring device on this machine",
                                      "Example:\n"
                                      "  millrace device pc");
  Command pc = device.add_command(
      "pc", "The measuring device behind a PTY, for any program; runs until Ctrl-C",
      "The first line of output is the PTY's path; after an unplug its new path follows.\n"
      "Ctrl-C is its normal end: exit code 0.\n"
      "Faults, as in pc:?FAULTS, KEY=VALUE joined by &; several values are separated by commas;\n"
      "offsets and lengths in bytes of the IN stream. drop, dup, flip, insert and stall take\n"
      "@OFFSET+EVERY: at OFFSET, and again every EVERY bytes.\n"
      "  drop=LEN@OFFSET      dup=LEN@OFFSET       flip=BITS@OFFSET     insert=TEXT@OFFSET\n"
      "  stale=LINES@OFFSET:LAG                    stall=MS@OFFSET      split=BYTES\n"
      "  unplug=MS@OFFSET     reset=MS@OFFSET      reset_silent=@OFFSET rate=BYTES_PER_S\n"
      "  cooked, mangle=icrnl|igncr|ixon|istrip    mute, garbage, classic\n"
      "  seed=N, discard=MS   of classic streams: their seed; data not taken for MS is thrown "
      "away,\n"
      "                       as `serial --discard-mode` asks it of extended ones\n"
      "Examples:\n"
      "  millrace device pc --link /tmp/device\n"
      "  millrace device pc --faults 'drop=1536@4194304&insert=AT@100000'\n"
      "  millrace device pc --faults 'pc:?stall=200@1048576'");
  pc.text("--link", "PATH", "Keep a symbolic link at PATH to the present PTY", ValueKind::file,
          &options->device.link_path);
  pc.option("--faults", "QUERY", "Damage the stream, see below", ValueKind::text,
            [options](const std::string& text) {
              if (speaks_link(text)) options->device.link = true;
              const Result<std::string> query = fault_query(text);
              if (!query) return Status(query.error());
              firmware::ParsedFaultPlan plan = firmware::parse_fault_plan(*query);
              if (!plan.error.empty()) return Status(Error{ErrorCode::usage, plan.error});
              options->device.faults = std::move(plan.plan);
              return Status();
            });
  pc.option("--seed", "N", "Seed of classic streams, decimal or 0x hex (42)", ValueKind::text,
            [options](const std::string& text) {
              uint32_t seed = 0;
              Status status = number_into(&seed, Scale::count, 0, UINT32_MAX)(text);
              if (status) options->seed = seed;
              return status;
            });
  pc.choice("--protocol", "measure: as `serial` needs it; link: as `link` does (measure)",
            {"measure", "link"},
            [options](const std::string& value) { options->device.link = value == "link"; });
  pc.action([options] { return run(*options); });
}

}  // namespace millrace::cli
