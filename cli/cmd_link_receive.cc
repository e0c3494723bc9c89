// SPDX-License-Identifier: Apache-2.0
// A byte is in the file before the device may forget it (link_place.h).
#include <fmt/core.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/link_place.h"
#include "cli/link_transfer.h"
#include "cli/output_file.h"
#include "cli/pc_endpoint.h"
#include "cli/print.h"
#include "cli/standard_files.h"
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

constexpr int64_t kWaitNs = 100'000'000;
// What a command asks for begins at once; a stream that nobody asked for may take its time.
constexpr int64_t kCommandNs = 10'000'000'000;

File open_unbuffered(const std::string& path, const char* mode) {
  File file = open_file(path, mode);
  if (file != nullptr) std::setvbuf(file.get(), nullptr, _IONBF, 0);
  return file;
}

class Receiver {
 public:
  // `is_regular`: FILE is one, so it keeps what it has until the stream begins, nobody else may
  // change it then, and FILE.link is written when something changes. Resumed, it has `before`
  // bytes.
  Receiver(LinkSession& session, const LinkTransfer& options, File* file, StoredPlace* place,
           bool is_regular, uint64_t before, LinkRun* run)
      : session_(session),
        options_(options),
        file_(*file),
        place_(*place),
        is_regular_(is_regular),
        before_(before),
        run_(*run) {}

  Status run() {
    if (options_.resume) {
      has_begun_ = true;
      keep_place();
    }
    int64_t shown_ns = 0;
    last_ns_ = session_.clock().now_ns();
    while (true) {
      const int64_t now = session_.clock().now_ns();
      if (Status status = check_silence(now); !status) return status;
      if (Status status = session_.wait(now + kWaitNs); !status) return status;
      if (Status status = take_text(session_, options_, &lines_, &run_); !status) return status;
      for (LinkItem item = session_.peek(0); item.kind != LinkItemKind::nothing;
           item = session_.peek(0)) {
        last_ns_ = now;
        anything_came_ = true;
        if (Status status = begin(); !status) return status;
        if (Status status = take(item); !status) return status;
        if (item.kind == LinkItemKind::end) return check_file();
      }
      if (now - shown_ns < kWaitNs) continue;
      shown_ns = now;
      if (Status status = check_file(); !status) return status;
      host::RunProgress progress;
      progress.bytes = run_.bytes;
      bar_.show(progress);
    }
  }

 private:
  void keep_place() {
    keeps_place_ = is_regular_ && store_first_place(receive_place_path(options_.file), place_);
  }

  // A device that refuses the command, or says nothing, costs nobody an older recording. In this
  // order, so that FILE.link never stands beside what was in FILE before.
  Status begin() {
    if (has_begun_) return {};
    has_begun_ = true;
    if (is_regular_) {
      file_ = open_unbuffered(options_.file, "wb");
      if (file_ == nullptr) return file_error("open", options_.file);
    }
    keep_place();
    return {};
  }

  Status store() const {
    return keeps_place_ ? store_place(receive_place_path(options_.file), place_) : Status();
  }

  Status take(const LinkItem& item) {
    switch (item.kind) {
      case LinkItemKind::nothing:
        break;
      case LinkItemKind::data:
        if (std::fwrite(item.data.data(), 1, item.data.size(), file_.get()) != item.data.size()) {
          return file_error("write", options_.file);
        }
        run_.bytes += item.data.size();
        break;
      case LinkItemKind::gap:
        place_.gap_bytes += item.gap_bytes;
        if (Status status = store(); !status) return status;
        bar_.clear();
        print(stderr, "millrace: {}: gap of {} at offset {} (samples {} to {})\n",
              options_.link.port, plural(item.gap_bytes, "byte"), grouped(item.offset),
              grouped(item.first_unit), grouped(item.last_unit));
        break;
      case LinkItemKind::end:
        place_.complete = true;
        if (Status status = store(); !status) return status;
        break;
    }
    session_.consume(0, item.data.size());
    return {};
  }

  // Bytes that went into a file which has no name any more are lost.
  Status check_file() const {
    std::error_code error;
    if (!is_regular_ || !has_begun_ ||
        std::filesystem::file_size(options_.file, error) == before_ + run_.bytes) {
      return {};
    }
    return Error{ErrorCode::io,
                 options_.file +
                     ": deleted, replaced or changed by another program while it was written "
                     "(receive it again)"};
  }

  Status check_silence(int64_t now) const {
    const bool asked = !options_.command.empty() && !options_.resume && !anything_came_;
    const int64_t limit = options_.idle_ms != 0 ? int64_t{options_.idle_ms} * 1'000'000
                          : asked               ? kCommandNs
                                                : INT64_MAX;
    if (now - last_ns_ <= limit) return {};
    std::string text = fmt::format("{}: nothing came on the data stream for {}", options_.link.port,
                                   duration(static_cast<double>(limit)));
    if (asked) text += fmt::format(" after the command `{}`", options_.command);
    if (asked && !run_.device_says.empty()) {
      text += fmt::format(", the device said: {}", run_.device_says.back());
    }
    return Error{ErrorCode::timeout, text + " (wait longer with --idle-ms)"};
  }

  LinkSession& session_;
  const LinkTransfer& options_;
  File& file_;
  StoredPlace& place_;
  bool is_regular_;
  bool has_begun_ = false;
  bool keeps_place_ = false;
  uint64_t before_;
  LinkRun& run_;
  ProgressBar bar_;
  DeviceLines lines_;
  int64_t last_ns_ = 0;
  bool anything_came_ = false;
};

Result<StoredPlace> place_to_resume(const LinkTransfer& options) {
  if (!has_place(options.file)) {
    return Error{ErrorCode::usage,
                 options.file +
                     ": no regular file, so there is nothing to go on with (leave out "
                     "--resume)"};
  }
  Result<StoredPlace> place = load_place(receive_place_path(options.file));
  if (!place || place->complete) return place;
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(options.file, error);
  if (error) {
    return Error{ErrorCode::usage,
                 options.file +
                     ": not there, its bytes would be missing (leave out --resume to "
                     "start anew)"};
  }
  place->link.taken[0] = size + place->gap_bytes;
  return place;
}

int receive(const LinkTransfer& options, const Invocation& invocation) {
  if (const Status s = check_outputs(options.outputs); !s) return fail_output(s.error());
  const bool to_stdout = options.file == "-";
  if (to_stdout && (options.resume || report_file(options.outputs) != stdout)) {
    return fail(Error{ErrorCode::usage,
                      "link receive: --output - leaves stdout for nothing else and has nothing to "
                      "resume (give a file)"});
  }
  const std::string place_path = receive_place_path(options.file);
  StoredPlace place;
  std::optional<host::LinkPlace> resume;
  if (options.resume) {
    Result<StoredPlace> loaded = place_to_resume(options);
    if (!loaded) return fail(loaded.error());
    if (loaded->complete) {
      remove_place(place_path);
      print(report_file(options.outputs), "{}: complete, nothing is missing\n",
            host::printable(options.file));
      return kOk;
    }
    place = *loaded;
    resume = place.link;
  }
  Result<std::unique_ptr<host::Endpoint>> endpoint =
      host::make_endpoint(options.link.port, endpoint_schemes());
  if (!endpoint) return fail(endpoint.error());
  if (to_stdout) make_stdout_binary();
  std::error_code no_matter;
  if (!to_stdout && std::filesystem::is_fifo(options.file, no_matter)) {
    if (const Status s = check_output(options.file); !s) return fail_output(s.error());
  }
  // Whether it can be written; what is in it stays.
  File file =
      to_stdout ? File(stdout, [](std::FILE*) { return 0; }) : open_unbuffered(options.file, "ab");
  if (file == nullptr) return fail(file_error("open", options.file));
  Result<std::unique_ptr<LinkSession>> session = open_session(**endpoint, options, resume);
  if (!session) return fail(session.error());
  place.link = (*session)->place();
  if (to_stdout) std::setvbuf(stdout, nullptr, _IONBF, 0);
  const bool is_regular = !to_stdout && has_place(options.file);
  if (is_regular && !options.resume)
    remove_place(place_path);  // its session has ended with this one
  if (!options.resume && !options.command.empty()) say_line(**session, options.command);
  LinkRun run = begin_run("in", **session);
  run.device_buffer_bytes = (*session)->device_buffer_bytes(0);
  const int64_t start = (*session)->clock().now_ns();
  const uint64_t before = options.resume ? place.link.taken[0] - place.gap_bytes : 0;
  const Status status = Receiver(**session, options, &file, &place, is_regular, before, &run).run();
  // Interrupted, the session stays: --resume goes on. Where the device did not take the command, or
  // breaks the protocol, there is nothing to go on with.
  const bool over = status || status.error().code == ErrorCode::protocol ||
                    (status.error().code == ErrorCode::timeout && run.bytes == 0);
  (*session)->close(over);
  if (over && is_regular) remove_place(place_path);
  return finish_run(options, invocation, "link receive", **session, &run, start, status,
                    to_stdout ? stderr : report_file(options.outputs));
}

}  // namespace

void add_link_receive(Command parent, const Program& program) {
  const auto options = std::make_shared<LinkTransfer>();
  Command command = parent.add_command(
      "receive", "Take the device's stream into a file, until it ends or Ctrl-C",
      "Examples:\n"
      "  millrace link receive /dev/ttyACM0 -o samples.bin\n"
      "  millrace link receive /dev/ttyACM0 -o samples.bin --resume\n"
      "  millrace link receive pc:link -o test.bin --command 'source 1000000'\n"
      "After a crash, kill -9, a full disk or Ctrl-C --resume goes on without a hole, as long as\n"
      "the device has power and its memory holds what came meanwhile (FILE.link says where it "
      "was).\n"
      "Exit code 1 if the device reported lost bytes (a gap); they are not in the file.");
  add_link_port(command, &options->link);
  command.option("-o,--output", "FILE", "Where the bytes go; - is stdout", ValueKind::output,
                 [options](const std::string& value) {
                   options->file = value;
                   return Status();
                 });
  command.flag("--resume", "Go on with the session and the file of an earlier call",
               &options->resume);
  command.text("--command", "LINE", "Say this to the device first, on its text stream",
               ValueKind::text, &options->command);
  command.option("--idle-ms", "MS",
                 "Fail when nothing came for so long; 0: wait, but 10 s for what a command asks "
                 "for (0)",
                 ValueKind::text, number_into(&options->idle_ms, Scale::count, 0, 86'400'000));
  add_json_option(command, &options->outputs);
  command.action([options, &program] {
    if (options->file.empty()) {
      return fail(Error{ErrorCode::usage, "link receive: say where the bytes go: --output FILE"});
    }
    return receive(*options, program.invocation);
  });
}

}  // namespace millrace::cli
