// SPDX-License-Identifier: Apache-2.0
#include "cli/posix/run_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/interrupt.h"
#include "cli/print.h"

extern char** environ;

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

namespace {

constexpr size_t kMaxKept = size_t{64} * 1024;
constexpr size_t kLastLines = 8;

std::string end_of(const std::string& text) {
  size_t at = text.size();
  while (at > 0 && text[at - 1] == '\n') --at;
  const size_t end = at;
  for (size_t lines = 0; at > 0; --at) {
    if (text[at - 1] == '\n' && ++lines == kLastLines) break;
  }
  std::string out;
  for (size_t i = at; i < end;) {
    const size_t next = std::min(text.find('\n', i), end);
    out += "  " + printable(text.substr(i, next - i)) + "\n";
    i = next + 1;
  }
  return out;
}

}  // namespace

Status run_command(const std::string& what, const std::vector<std::string>& words,
                   std::string* last_lines) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) {
    return Error{ErrorCode::io, fmt::format("{}: {}", what, std::strerror(errno))};
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int wrong =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  if (wrong != 0) {
    ::close(pipe_ends[0]);
    return Error{ErrorCode::usage, fmt::format("{}: cannot run {}: {} (install it)", what, words[0],
                                               std::strerror(wrong))};
  }
  std::string kept;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(pipe_ends[0], buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      // A terminal tells the whole group, others this program alone.
      if (interrupted()) ::kill(child, SIGINT);
      continue;
    }
    if (got <= 0) break;
    kept.append(buffer, static_cast<size_t>(got));
    if (kept.size() > 2 * kMaxKept) kept.erase(0, kept.size() - kMaxKept);
  }
  ::close(pipe_ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (interrupted()) return Error{ErrorCode::interrupted, what + ": interrupted"};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Status();
  *last_lines = end_of(kept);
  return Error{ErrorCode::protocol,
               fmt::format("{} failed (the last lines of {} are above)", what, words[0])};
}

}  // namespace millrace::cli
