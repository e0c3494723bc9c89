// SPDX-License-Identifier: Apache-2.0
#include "cli/pair_csv.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "cli/print.h"
#include "cli/turnaround_report.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

Status PairCsv::open(const std::string& path) {
  path_ = path;
  if (path == "-") {
    file_ = stdout;
  } else {
    owned_.reset(std::fopen(path.c_str(), "wb"));
    file_ = owned_.get();
    if (file_ == nullptr) {
      return Error{ErrorCode::io, fmt::format("--csv: open {}: {} (choose another file)",
                                              printable(path), std::strerror(errno))};
    }
  }
  const std::string head =
      "device,out_endpoint,in_endpoint,paired_by,out_submit_ns,out_end_ns,in_submit_ns,"
      "in_end_ns,turnaround_ns\n";
  if (std::fwrite(head.data(), 1, head.size(), file_) != head.size()) error_ = errno;
  return Status();
}

void PairCsv::write(const capture::Pair& pair) {
  if (file_ == nullptr || error_ != 0) return;
  char line[160];
  const auto end = fmt::format_to_n(line, sizeof line, "{}.{},{},{},{},{},{},{},{},{}\n",
                                    capture::bus_of(pair.device), capture::address_of(pair.device),
                                    pair.out_endpoint & 0x0f, pair.in_endpoint & 0x0f,
                                    capture::name_of(pair.by), pair.out_submit_ns, pair.out_end_ns,
                                    pair.in_submit_ns, pair.in_end_ns, pair.turnaround_ns());
  if (std::fwrite(line, 1, end.size, file_) != end.size) error_ = errno;
}

Status PairCsv::close() {
  if (file_ == nullptr) return Status();
  const bool is_closed = owned_ == nullptr || std::fclose(owned_.release()) == 0;
  if ((!is_closed || std::fflush(file_ == stdout ? stdout : nullptr) != 0) && error_ == 0) {
    error_ = errno;
  }
  file_ = nullptr;
  if (error_ == 0) return Status();
  return Error{ErrorCode::no_space, fmt::format("--csv: write {}: {} (free some space)",
                                                printable(path_), std::strerror(error_))};
}

}  // namespace millrace::cli
