// SPDX-License-Identifier: Apache-2.0
// A folder that one process works in.
#pragma once

#include <string>

#include "millrace/host/result.h"

namespace millrace::cli {

// Held until the end of the object, or of the process however it ends.
class WorkFolder {
 public:
  WorkFolder() = default;
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  // Makes the folder if it is not there. Errors: usage: it is none, cannot be made or written, or
  // another process works in it. `option`: for sentences.
  host::Status open(const std::string& option, const std::string& path);
  const std::string& path() const { return path_; }  // absolute

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace millrace::cli
