// SPDX-License-Identifier: Apache-2.0
// The device knows how much came in order, so a call that was killed is gone on with where the
// device stands (link_place.h).
#include <fmt/core.h>

#include <cerrno>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/link_place.h"
#include "cli/link_transfer.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/terminal.h"
#include "cli/values.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::LinkItem;
using host::LinkItemKind;
using host::LinkSession;
using host::Result;
using host::Status;

namespace {

constexpr int64_t kWaitNs = 1'000'000;
constexpr int64_t kShownNs = 100'000'000;
constexpr int64_t kStandsNs = 5'000'000'000;
constexpr int64_t kVerdictNs = 2'000'000'000;
constexpr size_t kBlock = 65536;

// Not the file any more that `then` was noted of. What the kernel makes up as it is read (/proc)
// has no size to compare.
bool has_changed(const std::string& file, const StoredPlace& then) {
  StoredPlace now;
  if (!look_at_file(file, &now)) return false;
  return now.file_size != then.file_size ||
         (then.file_size != 0 && now.file_time != then.file_time);
}

// `noted`: of a regular file, before the first byte was read; else null.
Status give_file(LinkSession& session, const LinkTransfer& options, std::FILE* file,
                 const StoredPlace* noted, LinkRun* run) {
  std::vector<uint8_t> block(kBlock);
  size_t at = 0;
  size_t size = 0;
  bool file_ended = false;
  bool ended = false;
  DeviceLines lines;
  ProgressBar bar;
  // What a sink found may come behind the acknowledgement of the last byte.
  const bool is_judged = options.command.rfind("sink", 0) == 0;
  int64_t drained_ns = 0;
  int64_t shown_ns = 0;
  uint64_t progress_bytes = 0;
  int64_t progress_ns = session.clock().now_ns();
  bool said = false;
  while (true) {
    const int64_t now = session.clock().now_ns();
    if (ended && session.drained(0)) {
      if (drained_ns == 0) drained_ns = now;
      if (!is_judged || run->wrong_bytes || now - drained_ns > kVerdictNs) return {};
    }
    while (!file_ended || at < size) {
      if (at == size) {
        at = 0;
        size = std::fread(block.data(), 1, block.size(), file);
        if (size == 0 && std::ferror(file) != 0) return file_error("read", options.file);
        file_ended = size == 0;
        // The device is not told of an end: what it has may be half of one file, half of another.
        if (file_ended && noted != nullptr && has_changed(options.file, *noted)) {
          return Error{ErrorCode::io, options.file +
                                          ": changed by another program while it was sent (wait "
                                          "until it is whole, then send it again)"};
        }
        continue;
      }
      const size_t taken = session.write(0, {block.data() + at, size - at});
      at += taken;
      run->bytes += taken;
      if (taken == 0) break;
    }
    if (file_ended && !ended) ended = session.end(0);
    if (run->bytes != progress_bytes || session.drained(0)) {
      progress_bytes = run->bytes;
      progress_ns = now;
    }
    const int64_t stands_ns = now - progress_ns;
    if (options.idle_ms != 0 && stands_ns > int64_t{options.idle_ms} * 1'000'000) {
      return Error{ErrorCode::timeout,
                   fmt::format("{}: the device has taken nothing for {} (wait longer with "
                               "--idle-ms)",
                               options.link.port, duration(static_cast<double>(stands_ns)))};
    }
    if (!said && stands_ns > kStandsNs) {
      said = true;
      bar.clear();
      print(stderr,
            "millrace: {}: the device has taken nothing for {}; waiting (Ctrl-C ends, --resume "
            "goes on)\n",
            options.link.port, duration(static_cast<double>(stands_ns)));
    }
    if (Status status = session.wait(now + kWaitNs); !status) return status;
    if (Status status = take_text(session, options, &lines, run); !status) return status;
    // What an echoing device returns is not wanted here, but must not fill its memory.
    for (LinkItem item = session.peek(0); item.kind != LinkItemKind::nothing;
         item = session.peek(0)) {
      session.consume(0, item.data.size());
    }
    if (now - shown_ns < kShownNs) continue;
    shown_ns = now;
    host::RunProgress progress;
    progress.bytes = run->bytes;
    bar.show(progress);
  }
}

Result<StoredPlace> place_to_resume(const LinkTransfer& options) {
  Result<StoredPlace> place = load_place(send_place_path(options.file));
  if (!place) return place;
  StoredPlace now;
  if (!look_at_file(options.file, &now) || has_changed(options.file, *place)) {
    return Error{ErrorCode::usage,
                 options.file +
                     ": has changed since the call that is to be gone on with (leave "
                     "out --resume to send it anew)"};
  }
  return place;
}

// To where the device wants to go on.
Status go_on_at(std::FILE* file, uint64_t offset, const LinkTransfer& options, uint64_t file_size) {
  std::vector<uint8_t> block(kBlock);
  if (offset > file_size) {
    return Error{
        ErrorCode::protocol,
        fmt::format("{}: the device has {} of this session, {} has only {} (leave out --resume "
                    "to start anew)",
                    options.link.port, plural(offset, "byte"), options.file, grouped(file_size))};
  }
  // Read, not sought: fseek() takes a long, of 32 bits on some systems.
  while (offset > 0) {
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(offset, block.size()));
    if (std::fread(block.data(), 1, wanted, file) != wanted) {
      return file_error("read", options.file);
    }
    offset -= wanted;
  }
  return {};
}

int send(const LinkTransfer& options, const Invocation& invocation) {
  if (const Status s = check_outputs(options.outputs); !s) return fail_output(s.error());
  StoredPlace place;
  const bool is_regular = has_place(options.file) && look_at_file(options.file, &place);
  const File file = open_file(options.file, "rb");
  if (file == nullptr) return fail(file_error("open", options.file));
  // A folder can be opened and not read.
  const int first = std::fgetc(file.get());
  if (first == EOF && std::ferror(file.get()) != 0) return fail(file_error("read", options.file));
  if (first != EOF) std::ungetc(first, file.get());
  std::optional<host::LinkPlace> resume;
  if (options.resume) {
    const Result<StoredPlace> loaded = place_to_resume(options);
    if (!loaded) return fail(loaded.error());
    resume = loaded->link;
  }
  Result<std::unique_ptr<host::Endpoint>> endpoint =
      host::make_endpoint(options.link.port, endpoint_schemes());
  if (!endpoint) return fail(endpoint.error());
  Result<std::unique_ptr<LinkSession>> session = open_session(**endpoint, options, resume);
  if (!session) return fail(session.error());
  const std::string place_path = send_place_path(options.file);
  place.link = (*session)->place();
  bool keeps_place = is_regular;
  if (keeps_place && !options.resume) {
    keeps_place = store_first_place(place_path, place);
  }
  if (!options.resume && !options.command.empty()) say_line(**session, options.command);
  LinkRun run = begin_run("out", **session);
  const int64_t start = (*session)->clock().now_ns();
  Status status;
  if (options.resume) {
    const uint64_t offset = (*session)->write_offset(0);
    status = go_on_at(file.get(), offset, options, place.file_size);
    if (status) print(stderr, "millrace: the device has {}\n", plural(offset, "byte"));
  }
  if (status)
    status = give_file(**session, options, file.get(), is_regular ? &place : nullptr, &run);
  const bool over = status || status.error().code == ErrorCode::protocol;
  (*session)->close(over);
  if (over && keeps_place) remove_place(place_path);
  return finish_run(options, invocation, "link send", **session, &run, start, status,
                    report_file(options.outputs));
}

}  // namespace

void add_link_send(Command parent, const Program& program) {
  const auto options = std::make_shared<LinkTransfer>();
  Command command = parent.add_command(
      "send", "Send a file to the device; done when its application has taken all",
      "Examples:\n"
      "  millrace link send /dev/ttyACM0 firmware.bin\n"
      "  millrace link send /dev/ttyACM0 firmware.bin --resume\n"
      "  millrace link send pc:link file --command sink\n"
      "After a crash, kill -9 or Ctrl-C --resume sends the rest, as long as the device has power\n"
      "(FILE.send.link says which session it was).\n"
      "Exit code 1 if the device says that bytes were wrong (`sink` compares them with its "
      "stream).");
  add_link_port(command, &options->link);
  command.positional("FILE", "What is sent", ValueKind::file, true, &options->file);
  command.flag("--resume", "Go on with the session of an earlier call for the same file",
               &options->resume);
  command.text("--command", "LINE", "Say this to the device first, on its text stream",
               ValueKind::text, &options->command);
  command.option("--idle-ms", "MS", "Fail when the device takes nothing for so long; 0: wait (0)",
                 ValueKind::text, number_into(&options->idle_ms, Scale::count, 0, 86'400'000));
  add_json_option(command, &options->outputs);
  command.action([options, &program] { return send(*options, program.invocation); });
}

}  // namespace millrace::cli
