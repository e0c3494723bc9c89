// SPDX-License-Identifier: Apache-2.0
// What `link receive` and `link send` share.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "cli/invocation.h"
#include "cli/link_report.h"
#include "cli/link_text.h"
#include "cli/outputs.h"
#include "millrace/host/link_session.h"

namespace millrace::cli {

struct LinkTransfer {
  LinkPort link;
  OutputOptions outputs;
  std::string file;
  std::string command;
  uint32_t idle_ms = 0;  // fail when nothing came, or was taken, for so long; 0: wait
  bool resume = false;
};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
File open_file(const std::string& path, const char* mode);

// `what` of `path` failed with errno. Errors: usage (it cannot be right), no_space, io.
host::Error file_error(const std::string& what, const std::string& path);

// Ctrl-C ends its waits from now on.
host::Result<std::unique_ptr<host::LinkSession>> open_session(
    host::Endpoint& endpoint, const LinkTransfer& options,
    const std::optional<host::LinkPlace>& resume);

LinkRun begin_run(const char* direction, host::LinkSession& session);

// Passes on what the device says. An error if it does not take the command.
host::Status take_text(host::LinkSession& session, const LinkTransfer& options, DeviceLines* lines,
                       LinkRun* run);

// Report and document; the exit code. `report`: where the report for people goes.
int finish_run(const LinkTransfer& options, const Invocation& invocation, const char* name,
               host::LinkSession& session, LinkRun* run, int64_t start_ns,
               const host::Status& status, std::FILE* report);

}  // namespace millrace::cli
