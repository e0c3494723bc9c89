// SPDX-License-Identifier: Apache-2.0
#include "cli/link_place.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>

#include "cli/output_file.h"
#include "cli/print.h"

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

namespace fs = std::filesystem;

std::string receive_place_path(const std::string& file) { return file + ".link"; }
std::string send_place_path(const std::string& file) { return file + ".send.link"; }

Status store_place(const std::string& path, const StoredPlace& place) {
  return write_output(
      path, fmt::format("millrace-link 2\nsession {}\nboot {}\ngap_bytes {}\ncomplete {}\n"
                        "file_size {}\nfile_time {}\n",
                        place.link.session, place.link.boot_id, place.gap_bytes,
                        place.complete ? 1 : 0, place.file_size, place.file_time));
}

bool store_first_place(const std::string& path, const StoredPlace& place) {
  const Status stored = store_place(path, place);
  if (!stored) {
    print(stderr, "millrace: {} (so --resume will not be possible)\n",
          host::printable(stored.error().message));
  }
  return stored.ok();
}

Result<StoredPlace> load_place(const std::string& path) {
  std::ifstream in(path);
  if (!in) {
    return Error{ErrorCode::usage,
                 path + ": not there, nothing to resume (leave out --resume to start anew)"};
  }
  StoredPlace place;
  std::string magic, key;
  uint32_t version = 0;
  int seen = 0;
  in >> magic >> version;
  const auto number = [&](const char* name, auto* value) {
    if (in >> key >> *value && key == name) ++seen;
  };
  number("session", &place.link.session);
  number("boot", &place.link.boot_id);
  number("gap_bytes", &place.gap_bytes);
  number("complete", &place.complete);
  number("file_size", &place.file_size);
  number("file_time", &place.file_time);
  if (magic != "millrace-link" || version != 2 || seen != 6) {
    return Error{ErrorCode::usage,
                 path +
                     ": not written by this version of the program (delete it and leave out "
                     "--resume)"};
  }
  return place;
}

void remove_place(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
}

bool has_place(const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  return status.type() == fs::file_type::regular || status.type() == fs::file_type::not_found;
}

bool look_at_file(const std::string& file, StoredPlace* place) {
  std::error_code error;
  place->file_size = fs::file_size(file, error);
  if (error) return false;
  place->file_time = fs::last_write_time(file, error).time_since_epoch().count();
  return !error;
}

}  // namespace millrace::cli
