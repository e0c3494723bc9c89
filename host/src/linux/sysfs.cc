// SPDX-License-Identifier: Apache-2.0
#include "linux/sysfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <memory>

#include "linux/file_descriptor.h"
#include "millrace/host/text.h"

namespace millrace::host {
namespace {

constexpr size_t kLineLimit = 256;
constexpr size_t kTextLimit = 65536;
constexpr size_t kEntryLimit = 65536;

std::string real_path(const std::string& path) {
  std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  return resolved ? resolved.get() : "";
}

std::optional<std::string> read_up_to(const std::string& path, size_t limit) {
  // O_NONBLOCK: a FIFO in a recorded tree must not hang the program.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text(limit, '\0');
  size_t size = 0;
  while (size < limit) {
    const ssize_t got = ::read(file.get(), text.data() + size, limit - size);
    if (got < 0) return {};
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

std::string path_of_name(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return name;
  const std::string device = "/dev/" + name;
  const bool is_here = ::access(device.c_str(), F_OK) != 0 && ::access(name.c_str(), F_OK) == 0;
  return is_here ? "./" + name : device;
}

std::string base_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

SysTree::SysTree(std::string root) : root_(std::move(root)) {
  if (!root_.empty()) {
    const std::string real = real_path(root_);
    if (!real.empty()) root_ = real;
  }
  if (root_ == "/") root_.clear();
}

std::string SysTree::resolve(const std::string& path) const {
  const std::string real = real_path(root_ + path);
  if (real.size() < root_.size() || real.compare(0, root_.size(), root_) != 0) return "";
  if (real.size() > root_.size() && real[root_.size()] != '/') return "";
  return real.substr(root_.size());
}

std::string SysTree::line(const std::string& path) const {
  const std::string inside = resolve(path);
  if (inside.empty()) return "";
  std::optional<std::string> text = read_up_to(root_ + inside, kLineLimit);
  if (!text) return "";
  text->resize(std::min(text->size(), text->find('\n')));
  while (!text->empty() && (text->back() == ' ' || text->back() == '\0')) text->pop_back();
  return printable(*text);
}

std::optional<std::string> SysTree::text(const std::string& path) const {
  const std::string inside = resolve(path);
  if (inside.empty()) return {};
  return read_up_to(root_ + inside, kTextLimit);
}

std::optional<long> SysTree::number(const std::string& path, int base) const {
  const std::string text = line(path);
  if (text.empty()) return {};
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, base);
  if (end == text.c_str() || value == LONG_MAX || value == LONG_MIN) return {};
  return value;
}

std::vector<std::string> SysTree::entries(const std::string& path) const {
  std::vector<std::string> names;
  const std::string inside = resolve(path);
  if (inside.empty()) return names;
  std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir((root_ + inside).c_str()), ::closedir);
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != ".." && names.size() < kEntryLimit) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string SysTree::link_text(const std::string& path) const {
  std::array<char, 4096> text{};
  const ssize_t size = ::readlink((root_ + path).c_str(), text.data(), text.size());
  return size < 0 ? "" : std::string(text.data(), static_cast<size_t>(size));
}

std::string SysTree::link_name(const std::string& path) const {
  return printable(base_name(link_text(path)));
}

}  // namespace millrace::host
