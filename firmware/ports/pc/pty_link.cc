// SPDX-License-Identifier: Apache-2.0
#include "firmware/ports/pc/pty_link.h"

#include <sys/stat.h>
#include <unistd.h>

namespace millrace::firmware {

std::string link_target(const std::string& path) {
  char text[4096];
  const ssize_t size = readlink(path.c_str(), text, sizeof(text));
  return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
}

std::string pty_link_problem(const std::string& path, const std::string& terminal) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return "";
  if (!S_ISLNK(status.st_mode)) return "is there and is no symbolic link (choose another name)";
  const std::string target = link_target(path);
  if (target == terminal) return "";
  if (target.rfind("/dev/pts/", 0) != 0) {
    return "leads to " + target + ", which is no terminal (choose another name)";
  }
  if (access(target.c_str(), F_OK) != 0) return "";
  return "leads to " + target +
         ", which is in use (end the device that made it, or choose another name)";
}

}  // namespace millrace::firmware
