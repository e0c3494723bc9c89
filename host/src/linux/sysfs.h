// SPDX-License-Identifier: Apache-2.0
// Reading /sys, /proc and /run under a root, live or recorded. Nothing here trusts the tree: files
// are read up to a limit, links may not lead out of the root, strings are made printable.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace millrace::host {

class SysTree {
 public:
  // `root` is put before every path; "" is the live system.
  explicit SysTree(std::string root);

  // `path` below the root with all symlinks resolved, again without the root; empty when it does
  // not exist, is a cycle or leads out of the root.
  std::string resolve(const std::string& path) const;
  bool exists(const std::string& path) const { return !resolve(path).empty(); }
  // The first line of a file, at most 256 bytes, printable, without blanks at the end; empty when
  // there is none.
  std::string line(const std::string& path) const;
  // Up to 64 KiB of a file as it is; nullopt when it cannot be read.
  std::optional<std::string> text(const std::string& path) const;
  // The number in a file; nullopt when there is none.
  std::optional<long> number(const std::string& path, int base = 10) const;
  // Names in a directory, sorted, at most 65,536.
  std::vector<std::string> entries(const std::string& path) const;
  // The last part of where a symlink leads (`driver` -> `cdc_acm`); empty when it is none.
  std::string link_name(const std::string& path) const;
  // What the symlink says, as text; empty when it is none.
  std::string link_text(const std::string& path) const;
  // `path` on the real file system.
  std::string real(const std::string& path) const { return root_ + path; }
  bool live() const { return root_.empty(); }

 private:
  std::string root_;
};

// A port as people write it: `ttyACM0` is /dev/ttyACM0, or else what stands under that name here.
std::string path_of_name(const std::string& name);
// The part after the last `/`.
std::string base_name(const std::string& path);
// The part before the last `/`; empty at the top.
std::string parent_of(const std::string& path);

}  // namespace millrace::host
