// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <csignal>

namespace millrace::cli {

namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

void on_signal(int) { flag.store(true); }

}  // namespace

void catch_interrupt() {
  // No SA_RESTART: what waits in a system call looks at the flag at once.
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  const bool nohup = ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (!nohup) ::sigaction(SIGHUP, &action, nullptr);
}

const std::atomic<bool>& interrupted() { return flag; }

}  // namespace millrace::cli
