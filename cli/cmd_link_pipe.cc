// SPDX-License-Identifier: Apache-2.0
// stdin to stream 0 of the device, its stream 0 to stdout. A thread waits for stdin, since that can
// only be read with waiting; it is left behind when the program ends.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/link_report.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/standard_files.h"
#include "cli/standard_input.h"
#include "cli/values.h"

namespace millrace::cli {

using host::LinkItem;
using host::LinkItemKind;
using host::LinkSession;
using host::Result;
using host::Status;

namespace {

constexpr size_t kBlock = 65536;
constexpr int64_t kWaitNs = 2'000'000;

struct Options {
  LinkPort link;
  bool statistics = false;
};

struct Input {
  std::mutex mutex;
  std::condition_variable room;
  std::vector<uint8_t> bytes;
  bool ended = false;
  std::optional<host::Error> error;  // why it ended before its end
};

void read_input(const std::shared_ptr<Input>& input) {
  std::vector<uint8_t> block(kBlock);
  while (true) {
    const Result<size_t> got = read_standard_input(block.data(), block.size());
    std::unique_lock<std::mutex> lock(input->mutex);
    if (!got || *got == 0) {
      if (!got) input->error = got.error();
      input->ended = true;
      return;
    }
    input->room.wait(lock, [&] { return input->bytes.size() < 4 * kBlock; });
    input->bytes.insert(input->bytes.end(), block.begin(),
                        block.begin() + static_cast<std::ptrdiff_t>(*got));
  }
}

// True: stdin has ended and all of it is in the session, END included. The device is not told of an
// end that is none.
Result<bool> feed(LinkSession& session, Input& input) {
  const std::lock_guard<std::mutex> lock(input.mutex);
  if (!input.bytes.empty()) {
    const size_t taken = session.write(0, input.bytes);
    input.bytes.erase(input.bytes.begin(),
                      input.bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    input.room.notify_one();
  }
  if (!input.ended || !input.bytes.empty()) return false;
  if (input.error) return *input.error;
  return session.end(0);
}

Status carry(LinkSession& session, const std::string& port) {
  const auto input = std::make_shared<Input>();
  std::thread(read_input, input).detach();
  bool fed = false;
  while (true) {
    if (!fed) {
      const Result<bool> all = feed(session, *input);
      if (!all) return all.error();
      fed = *all;
    }
    if (Status status = session.wait(session.clock().now_ns() + kWaitNs); !status) return status;
    while (true) {
      const LinkItem item = session.peek(0);
      if (item.kind == LinkItemKind::nothing) break;
      if (item.kind == LinkItemKind::data) {
        write_text(stdout, std::string(item.data.begin(), item.data.end()));
      } else if (item.kind == LinkItemKind::gap) {
        print(stderr, "millrace: {}: gap of {} at offset {} (samples {} to {})\n", port,
              plural(item.gap_bytes, "byte"), grouped(item.offset), grouped(item.first_unit),
              grouped(item.last_unit));
      } else {
        session.consume(0, 0);
        return {};
      }
      if (stdout_error() != 0) return {};  // main says so
      session.consume(0, item.data.size());
    }
  }
}

int run(const Options& options) {
  Result<std::unique_ptr<host::Endpoint>> endpoint =
      host::make_endpoint(options.link.port, endpoint_schemes());
  if (!endpoint) return fail(endpoint.error());
  host::LinkSettings settings = options.link.settings;
  catch_interrupt();
  settings.stop = &interrupted();
  Result<std::unique_ptr<LinkSession>> session = LinkSession::open(**endpoint, settings);
  if (!session) return fail(session.error());
  make_stdout_binary();
  const Status status = carry(**session, options.link.port);
  const host::LinkStatistics s = (*session)->statistics();
  (*session)->close(true);
  if (options.statistics) {
    LinkRun run;
    run.direction = "in";
    run.statistics = s;
    run.bytes = s.received_bytes;
    print(stderr, "{}", link_report(run));
  }
  if (!status) return fail(status.error());
  return s.gaps > 0 ? kFailed : kOk;
}

}  // namespace

void add_link_pipe(Command parent, const Program&) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "pipe", "stdin to the device, the device to stdout, both whole",
      "Examples:\n"
      "  millrace link pipe /dev/ttyACM0 < commands > answers\n"
      "  echo hello | millrace link pipe pc:link       this device returns what it gets\n"
      "Ends with the device's stream. Exit code 1 if the device reported lost bytes (a gap).");
  add_link_port(command, &options->link);
  command.flag("--stats", "Print statistics on stderr at the end", &options->statistics);
  command.action([options] { return run(*options); });
}

}  // namespace millrace::cli
