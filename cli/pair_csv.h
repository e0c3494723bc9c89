// SPDX-License-Identifier: Apache-2.0
// Every pair of a capture as a line of CSV, written as it is found: captures have millions.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "millrace/capture/turnaround.h"
#include "millrace/host/result.h"

namespace millrace::cli {

class PairCsv {
 public:
  // "-" is stdout. Errors: io.
  host::Status open(const std::string& path);
  void write(const capture::Pair& pair);
  // The first failure of all writes. Nothing if it was not opened.
  host::Status close();

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> owned_{nullptr, &std::fclose};
  std::FILE* file_ = nullptr;
  int error_ = 0;
};

}  // namespace millrace::cli
