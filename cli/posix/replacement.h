// SPDX-License-Identifier: Apache-2.0
// A file that takes the place of another one, or of none, when it is whole. Until then it stands
// beside it under a name of its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

namespace millrace::cli {

class Replacement {
 public:
  // hidden: .millrace-XXXXXX, for files that are written at once. part: PATH.part, for files that
  // grow, so that people find what there is.
  enum class Name { hidden, part };

  Replacement() = default;
  // What was not put in its place and not kept goes.
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // A symbolic link stays one: the file at its end is replaced. `mode`: of the new file; empty: as
  // the umask says. 0 or errno; ELOOP: the links lead in a circle.
  int open(const std::string& path, Name name, std::optional<mode_t> mode);
  bool is_open() const { return !now_.empty(); }
  // The descriptor, once; the caller closes it.
  int release() { return std::exchange(fd_, -1); }
  // The name it has until then.
  const std::string& name() const { return now_; }
  // After everything is written and closed. 0 or errno.
  int put_in_place();
  // It stays under the name it has.
  void keep() { now_.clear(); }

 private:
  std::string target_, now_;
  int fd_ = -1;
};

}  // namespace millrace::cli
