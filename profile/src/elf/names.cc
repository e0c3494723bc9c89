// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "millrace/profile/elf_index.h"

namespace millrace::profile {
namespace {

// Longer mangled names are shown as they are: the demangler's work is not bounded by their length.
constexpr size_t kMaxMangledBytes = 1024;
constexpr size_t kMaxReadableBytes = 4096;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string readable_name(const std::string& symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > kMaxMangledBytes) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || !text) return symbol;
  std::string out(text.get());
  return out.size() > kMaxReadableBytes ? symbol : out;
}

std::string without_parameters(const std::string& readable) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)", kCall = "operator()";
  size_t at = 0;
  for (;;) {
    at = readable.find('(', at);
    if (at == std::string::npos) return readable;
    if (readable.compare(at, kAnonymous.size(), kAnonymous) == 0) {
      at += kAnonymous.size();
    } else if (at + 2 >= kCall.size() &&
               readable.compare(at + 2 - kCall.size(), kCall.size(), kCall) == 0) {
      at += 2;
    } else {
      return readable.substr(0, at);
    }
  }
}

std::string base_name_of_clone(const std::string& symbol) {
  std::string out = symbol;
  for (;;) {
    const size_t dot = out.rfind('.');
    if (dot == std::string::npos || dot == 0) return out;
    const std::string_view suffix = std::string_view(out).substr(dot + 1);
    const bool is_clone = is_number(suffix) || suffix == "part" || suffix == "constprop" ||
                          suffix == "isra" || suffix == "cold" || suffix == "lto_priv" ||
                          suffix == "localalias" || suffix == "ipa" || suffix == "llvm";
    if (!is_clone) return out;
    out.resize(dot);
  }
}

}  // namespace millrace::profile
