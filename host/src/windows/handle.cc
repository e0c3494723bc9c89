// SPDX-License-Identifier: Apache-2.0
#include "windows/handle.h"

#include <fmt/core.h>

#include <array>

namespace millrace::host {

std::string to_utf8(const std::wstring& text) {
  if (text.empty()) return "";
  const int length = static_cast<int>(text.size());
  const int size =
      ::WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<size_t>(size > 0 ? size : 0), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), length, out.data(), size, nullptr, nullptr);
  return out;
}

std::wstring to_wide(const std::string& text) {
  if (text.empty()) return L"";
  const int length = static_cast<int>(text.size());
  const int size = ::MultiByteToWideChar(CP_UTF8, 0, text.data(), length, nullptr, 0);
  std::wstring out(static_cast<size_t>(size > 0 ? size : 0), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, text.data(), length, out.data(), size);
  return out;
}

std::string windows_error(DWORD code) {
  std::array<wchar_t, 512> text{};
  const DWORD size =
      ::FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, code, 0,
                       text.data(), static_cast<DWORD>(text.size()), nullptr);
  std::wstring trimmed(text.data(), size);
  while (!trimmed.empty() && (trimmed.back() <= L' ' || trimmed.back() == L'.')) trimmed.pop_back();
  return trimmed.empty() ? fmt::format("error {}", code)
                         : fmt::format("{} (error {})", to_utf8(trimmed), code);
}

}  // namespace millrace::host
