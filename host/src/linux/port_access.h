// SPDX-License-Identifier: Apache-2.0
// Who may open a port, and what a user who may not has to do.
#pragma once

#include <sys/types.h>

#include <string>

namespace millrace::host {

struct PortAccess {
  bool exists = false;
  bool allowed = false;  // this process may read and write it
  std::string owner;     // user and group name, or the number
  std::string group;
  mode_t mode = 0;
  std::string user;               // who asks
  bool user_in_group = false;     // by the group database
  bool session_in_group = false;  // by this process's groups; differs until the next login
};

// Looks at `path` (live system).
PortAccess access_to(const std::string& path);

// `add yourself to group dialout with ``sudo usermod -aG dialout ann``, then log out and in again`;
// empty when access is allowed.
std::string access_remedy(const PortAccess& access, const std::string& path);

}  // namespace millrace::host
