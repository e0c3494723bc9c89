// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <fmt/core.h>
#include <io.h>
#include <windows.h>

#include <cstdio>

namespace millrace::cli {

using host::Error;
using host::ErrorCode;
using host::Status;

namespace {

Error failure(const std::string& path, DWORD number) {
  const std::string start = fmt::format("write {}: ", path);
  switch (number) {
    case ERROR_PATH_NOT_FOUND:
    case ERROR_FILE_NOT_FOUND:
    case ERROR_INVALID_NAME:
      return {ErrorCode::not_found, start + "there is no such folder (create it first)"};
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
      return {ErrorCode::permission,
              start + "permission denied or in use (close it, or write elsewhere)"};
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return {ErrorCode::no_space,
              start + "no space left (free some, or write elsewhere); an older file is untouched"};
    default:
      return {ErrorCode::io, start + fmt::format("Windows error {}", number)};
  }
}

// 0, or the system's error.
DWORD write_all(HANDLE file, const std::string& content) {
  size_t done = 0;
  while (done < content.size()) {
    DWORD n = 0;
    const DWORD want = static_cast<DWORD>(std::min<size_t>(content.size() - done, 1 << 20));
    if (!WriteFile(file, content.data() + done, want, &n, nullptr)) return GetLastError();
    done += n;
  }
  return 0;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

Status write_output(const std::string& path, const std::string& content) {
  if (path == "-") {
    const DWORD number = write_all(GetStdHandle(STD_OUTPUT_HANDLE), content);
    if (number != 0) return failure("stdout", number);
    return {};
  }
  const Status allowed = check_output(path);
  if (!allowed) return allowed;
  const std::string temporary = fmt::format("{}.{}.tmp", path, GetCurrentProcessId());
  HANDLE file = CreateFileA(temporary.c_str(), GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS,
                            FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return failure(path, GetLastError());
  DWORD number = write_all(file, content);
  if (number == 0 && !FlushFileBuffers(file)) number = GetLastError();
  CloseHandle(file);
  if (number == 0 && !MoveFileExA(temporary.c_str(), path.c_str(),
                                  MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
    number = GetLastError();
  }
  if (number == 0) return {};
  DeleteFileA(temporary.c_str());
  return failure(path, number);
}

Status check_output(const std::string& path) {
  if (path == "-") return {};
  const DWORD self = GetFileAttributesA(path.c_str());
  if (self != INVALID_FILE_ATTRIBUTES && (self & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    return Error{ErrorCode::usage,
                 fmt::format("write {}: this is a folder (give a file name)", path)};
  }
  const DWORD folder = GetFileAttributesA(folder_of(path).c_str());
  if (folder == INVALID_FILE_ATTRIBUTES || (folder & FILE_ATTRIBUTE_DIRECTORY) == 0) {
    return failure(path, ERROR_PATH_NOT_FOUND);
  }
  return {};
}

bool same_output(const std::string& a, const std::string& b) {
  const auto full = [](const std::string& path) {
    char text[4096] = {};
    const DWORD size = GetFullPathNameA(path.c_str(), sizeof text, text, nullptr);
    return size == 0 || size >= sizeof text ? path : std::string(text, size);
  };
  return lstrcmpiA(full(a).c_str(), full(b).c_str()) == 0;
}

}  // namespace millrace::cli
