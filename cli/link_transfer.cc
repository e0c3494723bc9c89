// SPDX-License-Identifier: Apache-2.0
#include "cli/link_transfer.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/result_json.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::LinkSession;
using host::Result;
using host::Status;

namespace {

constexpr size_t kLinesKept = 16;

}  // namespace

File open_file(const std::string& path, const char* mode) {
  return File(std::fopen(path.c_str(), mode), &std::fclose);
}

Error file_error(const std::string& what, const std::string& path) {
  const int number = errno;
  const std::string start = fmt::format("{} {}: ", what, path);
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::usage, start + "there is no such file or folder (check the name)"};
    case EISDIR:
      return {ErrorCode::usage, start + "this is a folder (give a file)"};
    case EACCES:
    case EPERM:
    case EROFS:
      return {ErrorCode::usage, start + "permission denied (choose a file you may use)"};
    case EFBIG:
      return {ErrorCode::no_space,
              start +
                  "a file may not be larger here (allow more with `ulimit -f`, or choose another "
                  "file system; then go on with --resume)"};
    case ENOSPC:
      return {ErrorCode::no_space, start + "no space left (free some, then go on with --resume)"};
    default:
      return {ErrorCode::io, start + std::strerror(number) + " (choose another place)"};
  }
}

Result<std::unique_ptr<LinkSession>> open_session(host::Endpoint& endpoint,
                                                  const LinkTransfer& options,
                                                  const std::optional<host::LinkPlace>& resume) {
  host::LinkSettings settings = options.link.settings;
  catch_interrupt();
  settings.stop = &interrupted();
  settings.resume = resume;
  return LinkSession::open(endpoint, settings);
}

LinkRun begin_run(const char* direction, LinkSession& session) {
  LinkRun run;
  run.direction = direction;
  run.port = session.port();
  run.is_predicted = session.clock().is_virtual();
  return run;
}

Status take_text(LinkSession& session, const LinkTransfer& options, DeviceLines* lines,
                 LinkRun* run) {
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

int finish_run(const LinkTransfer& options, const Invocation& invocation, const char* name,
               LinkSession& session, LinkRun* run, int64_t start_ns, const Status& status,
               std::FILE* report) {
  run->seconds = static_cast<double>(session.clock().now_ns() - start_ns) / 1e9;
  run->statistics = session.statistics();
  if (!status) run->error = status.error().message;
  print(report, "{}", link_report(*run));
  Json document = result_document(name, invocation);
  document["port_name"] = options.link.port;
  document["failed"] = run->failed();
  document["runs"] = Json::array({to_json(*run)});
  int code = status ? kOk : fail(status.error());
  if (run->failed()) code = worse(code, kFailed);
  const Status written = write_outputs(options.outputs, document);
  return written ? code : worse(code, fail_output(written.error()));
}

}  // namespace millrace::cli
