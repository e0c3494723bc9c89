// SPDX-License-Identifier: Apache-2.0
// send and receive. FILE.link beside a file being received holds what a later call needs to go on:
// session, boot id and how many bytes gaps have taken; the file's size says the rest. A byte is in
// the file before the device may forget it.
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/link_report.h"
#include "cli/link_text.h"
#include "cli/output_file.h"
#include "cli/outputs.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/result_json.h"
#include "cli/terminal.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::LinkItem;
using host::LinkItemKind;
using host::LinkPlace;
using host::LinkSession;
using host::Result;
using host::Status;

namespace {

constexpr int64_t kWaitNs = 100'000'000;
constexpr int64_t kVerdictNs = 2'000'000'000;
constexpr size_t kBlock = 65536;
constexpr size_t kLinesKept = 16;

struct Options {
  LinkPort link;
  OutputOptions outputs;
  std::string file;
  std::string command;
  bool resume = false;
};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file(const std::string& path, const char* mode) {
  return File(std::fopen(path.c_str(), mode), &std::fclose);
}

Error file_error(const std::string& what, const std::string& path) {
  return {ErrorCode::io,
          fmt::format("{} {}: {} (choose another place)", what, path, std::strerror(errno))};
}

struct Place {
  LinkPlace link;
  uint64_t gap_bytes = 0;
};

std::string place_path(const std::string& file) { return file + ".link"; }

Status store(const std::string& file, const Place& place) {
  return write_output(place_path(file),
                      fmt::format("millrace-link 1\nsession {}\nboot {}\ngap_bytes {}\n",
                                  place.link.session, place.link.boot_id, place.gap_bytes));
}

Result<Place> load(const std::string& file) {
  std::ifstream in(place_path(file));
  std::string magic, session, boot, gaps;
  uint32_t version = 0;
  Place place;
  if (!in) {
    return Error{ErrorCode::usage, place_path(file) +
                                       ": not there, nothing to resume (leave out "
                                       "--resume)"};
  }
  in >> magic >> version >> session >> place.link.session >> boot >> place.link.boot_id >> gaps >>
      place.gap_bytes;
  if (!in || magic != "millrace-link" || version != 1) {
    return Error{ErrorCode::usage, place_path(file) +
                                       ": not written by this program (delete it "
                                       "and leave out --resume)"};
  }
  std::ifstream data(file, std::ios::binary | std::ios::ate);
  const uint64_t size = data ? static_cast<uint64_t>(data.tellg()) : 0;
  place.link.taken[0] = size + place.gap_bytes;
  return place;
}

Result<std::unique_ptr<LinkSession>> open_session(host::Endpoint& endpoint, const Options& options,
                                                  const std::optional<LinkPlace>& resume) {
  host::LinkSettings settings = options.link.settings;
  catch_interrupt();
  settings.stop = &interrupted();
  settings.resume = resume;
  return LinkSession::open(endpoint, settings);
}

void start_command(LinkSession& session, const Options& options) {
  if (!options.command.empty()) say_line(session, options.command);
}

// Passes on what the device says. An error if it does not take the command.
Status take_text(LinkSession& session, const Options& options, DeviceLines* lines, LinkRun* run) {
  for (std::string line; lines->next(session, &line);) {
    print(stderr, "device: {}\n", host::printable(line));
    run->device_says.push_back(line);
    if (run->device_says.size() > kLinesKept) run->device_says.erase(run->device_says.begin());
    if (options.command.empty()) continue;
    if (line.rfind("error", 0) == 0) {
      return Error{ErrorCode::protocol,
                   fmt::format("{}: the device does not take the command `{}`: {}",
                               options.link.port, options.command, line)};
    }
    if (run->direction == "out" && line.rfind("wrong ", 0) == 0) {
      run->wrong_bytes = std::strtoull(line.c_str() + 6, nullptr, 10);
    }
  }
  return {};
}

Status take_stream(LinkSession& session, const Options& options, std::FILE* file, Place* place,
                   LinkRun* run) {
  ProgressBar bar;
  DeviceLines lines;
  int64_t shown_ns = 0;
  while (true) {
    if (Status status = session.wait(session.clock().now_ns() + kWaitNs); !status) return status;
    if (Status status = take_text(session, options, &lines, run); !status) return status;
    for (LinkItem item = session.peek(0); item.kind != LinkItemKind::nothing;
         item = session.peek(0)) {
      if (item.kind == LinkItemKind::end) {
        session.consume(0, 0);
        return {};
      }
      if (item.kind == LinkItemKind::gap) {
        place->gap_bytes += item.gap_bytes;
        if (Status status = store(options.file, *place); !status) return status;
        bar.clear();
        print(stderr, "millrace: {}: gap of {} at offset {} (samples {} to {})\n",
              options.link.port, plural(item.gap_bytes, "byte"), grouped(item.offset),
              grouped(item.first_unit), grouped(item.last_unit));
        session.consume(0, 0);
        continue;
      }
      if (std::fwrite(item.data.data(), 1, item.data.size(), file) != item.data.size()) {
        return file_error("write", options.file);
      }
      run->bytes += item.data.size();
      session.consume(0, item.data.size());
    }
    const int64_t now = session.clock().now_ns();
    if (now - shown_ns < kWaitNs) continue;
    shown_ns = now;
    host::RunProgress progress;
    progress.bytes = run->bytes;
    bar.show(progress);
  }
}

int finish(const Options& options, const Invocation& invocation, const char* name,
           LinkSession& session, LinkRun* run, int64_t start_ns, const Status& status) {
  run->seconds = static_cast<double>(session.clock().now_ns() - start_ns) / 1e9;
  run->statistics = session.statistics();
  if (!status) run->error = status.error().message;
  print(report_file(options.outputs), "{}", link_report(*run));
  Json document = result_document(name, invocation);
  document["port_name"] = options.link.port;
  document["failed"] = run->failed();
  document["runs"] = Json::array({to_json(*run)});
  int code = status ? kOk : fail(status.error());
  if (run->failed()) code = worse(code, kFailed);
  const Status written = write_outputs(options.outputs, document);
  return written ? code : worse(code, fail_output(written.error()));
}

int receive(const Options& options, const Invocation& invocation) {
  if (const Status s = check_outputs(options.outputs); !s) return fail_output(s.error());
  Place place;
  std::optional<LinkPlace> resume;
  if (options.resume) {
    Result<Place> loaded = load(options.file);
    if (!loaded) return fail(loaded.error());
    place = *loaded;
    resume = place.link;
  }
  Result<std::unique_ptr<host::Endpoint>> endpoint =
      host::make_endpoint(options.link.port, endpoint_schemes());
  if (!endpoint) return fail(endpoint.error());
  const File file = open_file(options.file, options.resume ? "ab" : "wb");
  if (file == nullptr) return fail(file_error("open", options.file));
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  Result<std::unique_ptr<LinkSession>> session = open_session(**endpoint, options, resume);
  if (!session) return fail(session.error());
  place.link = (*session)->place();
  if (const Status s = store(options.file, place); !s) return fail_output(s.error());
  if (!options.resume) start_command(**session, options);
  LinkRun run;
  run.direction = "in";
  run.port = (*session)->port();
  run.is_predicted = (*session)->clock().is_virtual();
  run.device_buffer_bytes = (*session)->device_buffer_bytes(0);
  const int64_t start = (*session)->clock().now_ns();
  const Status status = take_stream(**session, options, file.get(), &place, &run);
  // Interrupted, the session stays: --resume goes on. Where the device did not take the command, or
  // breaks the protocol, there is nothing to go on with.
  const bool over = status || status.error().code == ErrorCode::protocol;
  (*session)->close(over);
  if (over) std::remove(place_path(options.file).c_str());
  return finish(options, invocation, "link receive", **session, &run, start, status);
}

Status give_file(LinkSession& session, const Options& options, std::FILE* file, LinkRun* run) {
  std::vector<uint8_t> block(kBlock);
  size_t at = 0, size = 0;
  bool file_ended = false, ended = false;
  DeviceLines lines;
  // What a sink found may come behind the acknowledgement of the last byte.
  const bool is_judged = options.command.rfind("sink", 0) == 0;
  int64_t drained_ns = 0;
  while (true) {
    if (ended && session.drained(0)) {
      const int64_t now = session.clock().now_ns();
      if (drained_ns == 0) drained_ns = now;
      if (!is_judged || run->wrong_bytes || now - drained_ns > kVerdictNs) return {};
    }
    while (!file_ended || at < size) {
      if (at == size) {
        at = 0;
        size = std::fread(block.data(), 1, block.size(), file);
        file_ended = size == 0;
        continue;
      }
      const size_t taken = session.write(0, {block.data() + at, size - at});
      at += taken;
      run->bytes += taken;
      if (taken == 0) break;
    }
    if (file_ended && !ended) ended = session.end(0);
    if (Status status = session.wait(session.clock().now_ns() + 1'000'000); !status) return status;
    if (Status status = take_text(session, options, &lines, run); !status) return status;
    // What an echoing device returns is not wanted here, but must not fill its memory.
    for (LinkItem item = session.peek(0); item.kind != LinkItemKind::nothing;
         item = session.peek(0)) {
      session.consume(0, item.data.size());
    }
  }
}

int send(const Options& options, const Invocation& invocation) {
  if (const Status s = check_outputs(options.outputs); !s) return fail_output(s.error());
  const File file = open_file(options.file, "rb");
  if (file == nullptr) {
    return fail(Error{ErrorCode::usage,
                      fmt::format("open {}: {} (give a file that can be read, or - for stdin)",
                                  printable(options.file), std::strerror(errno))});
  }
  Result<std::unique_ptr<host::Endpoint>> endpoint =
      host::make_endpoint(options.link.port, endpoint_schemes());
  if (!endpoint) return fail(endpoint.error());
  Result<std::unique_ptr<LinkSession>> session = open_session(**endpoint, options, std::nullopt);
  if (!session) return fail(session.error());
  start_command(**session, options);
  LinkRun run;
  run.direction = "out";
  run.port = (*session)->port();
  run.is_predicted = (*session)->clock().is_virtual();
  const int64_t start = (*session)->clock().now_ns();
  const Status status = give_file(**session, options, file.get(), &run);
  (*session)->close(true);
  return finish(options, invocation, "link send", **session, &run, start, status);
}

}  // namespace

void add_link_receive(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "receive", "Take the device's stream into a file, until it ends or Ctrl-C",
      "Examples:\n"
      "  millrace link receive /dev/ttyACM0 -o samples.bin\n"
      "  millrace link receive /dev/ttyACM0 -o samples.bin --resume\n"
      "  millrace link receive pc:link -o test.bin --command 'source 1000000'\n"
      "After a crash, kill -9 or Ctrl-C --resume goes on without a hole, as long as the device "
      "has\n"
      "power and its memory holds what came meanwhile (FILE.link says where it was).\n"
      "Exit code 1 if the device reported lost bytes (a gap); they are not in the file.");
  add_link_port(command, &options->link);
  command.option("-o,--output", "FILE", "Where the bytes go", ValueKind::file,
                 [options](const std::string& value) {
                   options->file = value;
                   return Status();
                 });
  command.flag("--resume", "Go on with the session and the file of an earlier call",
               &options->resume);
  command.text("--command", "LINE", "Say this to the device first, on its text stream",
               ValueKind::text, &options->command);
  add_json_option(command, &options->outputs);
  command.action([options, &program] {
    if (options->file.empty()) {
      return fail(Error{ErrorCode::usage, "link receive: say where the bytes go: --output FILE"});
    }
    return receive(*options, program.invocation);
  });
}

void add_link_send(Command parent, const Program& program) {
  const auto options = std::make_shared<Options>();
  Command command = parent.add_command(
      "send", "Send a file to the device; done when its application has taken all",
      "Examples:\n"
      "  millrace link send /dev/ttyACM0 firmware.bin\n"
      "  millrace link send pc:link file --command sink\n"
      "Exit code 1 if the device says that bytes were wrong (`sink` compares them with its "
      "stream).");
  add_link_port(command, &options->link);
  command.positional("FILE", "What is sent", ValueKind::file, true, &options->file);
  command.text("--command", "LINE", "Say this to the device first, on its text stream",
               ValueKind::text, &options->command);
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return send(*options, program.invocation); });
}

}  // namespace millrace::cli
