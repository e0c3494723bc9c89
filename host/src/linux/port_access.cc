// SPDX-License-Identifier: Apache-2.0
#include "linux/port_access.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace millrace::host {
namespace {

constexpr size_t kDatabaseBuffer = 65536;

std::string user_name(uid_t uid) {
  std::vector<char> buffer(kDatabaseBuffer);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : fmt::format("{}", uid);
}

}  // namespace

PortAccess access_to(const std::string& path) {
  PortAccess access;
  struct stat node {};
  if (::stat(path.c_str(), &node) != 0) return access;
  access.exists = true;
  access.allowed = ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
  access.mode = node.st_mode & 07777;
  access.owner = user_name(node.st_uid);
  access.user = user_name(::geteuid());

  std::vector<char> buffer(kDatabaseBuffer);
  group entry{};
  group* found = nullptr;
  ::getgrgid_r(node.st_gid, &entry, buffer.data(), buffer.size(), &found);
  access.group = found != nullptr ? found->gr_name : fmt::format("{}", node.st_gid);
  if (found != nullptr) {
    for (char** member = found->gr_mem; *member != nullptr; ++member) {
      access.user_in_group = access.user_in_group || access.user == *member;
    }
  }
  std::vector<gid_t> groups(1024);
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(count < 0 ? 0 : static_cast<size_t>(count));
  access.session_in_group = ::getegid() == node.st_gid ||
                            std::find(groups.begin(), groups.end(), node.st_gid) != groups.end();
  return access;
}

std::string access_remedy(const PortAccess& access, const std::string& path) {
  if (access.allowed || !access.exists) return "";
  const bool group_may = (access.mode & 0060) == 0060;
  // Group root is no way in: nobody should be told to join it.
  if (!group_may || access.group == "root" || access.session_in_group) {
    return fmt::format(
        "{} is {}:{} with mode {:03o}: allow it with `sudo chmod a+rw {}` until the next replug, "
        "or "
        "by a udev rule with MODE=\"0666\"",
        path, access.owner, access.group, access.mode, path);
  }
  if (access.user_in_group) {
    return fmt::format(
        "{} is in group {} already, but this session began before that: log out and in again",
        access.user, access.group);
  }
  return fmt::format(
      "add yourself to group {} with `sudo usermod -aG {} {}`, then log out and in again",
      access.group, access.group, access.user);
}

}  // namespace millrace::host
